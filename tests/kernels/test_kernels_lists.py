"""Arrays used as lists behave like lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.kernels.lists import as_rows, grown, sort_first

values = st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)), max_size=200)


@pytest.mark.parametrize(("n_wanted", "length"), [(5, 8), (8, 8), (9, 9)])
def test_an_array_grows_to_twice_its_length_or_as_wanted(n_wanted: int, length: int) -> None:
    found = grown(np.array([5, 6, 7, 8], np.int32), 3, n_wanted)
    assert len(found) == length
    assert found.dtype == np.int32
    assert found[:3].tolist() == [5, 6, 7]


@given(values, st.data())
def test_the_first_values_are_sorted_and_the_others_left(many: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(0, len(many)))
    array = np.array(many, np.int64)
    sort_first(array, n)
    assert array.tolist() == sorted(many[:n]) + many[n:]


def test_rows_of_a_flat_array() -> None:
    assert as_rows(np.arange(9), 2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert as_rows(np.arange(9), 0, 3).shape == (0, 3)
