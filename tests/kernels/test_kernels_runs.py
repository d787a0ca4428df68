"""The longest shared run equals a search of all pairs of places."""

from __future__ import annotations

import numpy as np
import oracles
from hypothesis import given
from hypothesis import strategies as st

from auditkit.kernels.runs import _run_of_all_pairs, _run_of_grams, longest_runs

small = st.lists(st.integers(0, 5), max_size=12)


@given(st.lists(small, min_size=1, max_size=3), st.lists(small, min_size=1, max_size=3), st.data())
def test_the_longest_run_equals_trying_all(rows: list[list[int]], items: list[list[int]], data: st.DataObject) -> None:
    row, item = data.draw(st.integers(0, len(rows) - 1)), data.draw(st.integers(0, len(items) - 1))
    first = data.draw(st.integers(0, len(rows[row])))
    last = data.draw(st.integers(first, len(rows[row])))
    flat = [
        (np.array([token for one in many for token in one], np.uint64), np.cumsum([0, *map(len, many)]))
        for many in (rows, items)
    ]
    found = longest_runs(*flat[0], *flat[1], np.array([[row, item, first, last]], np.int64))
    length, in_row, in_item = found[0].tolist()
    expected, at = oracles.longest_run(rows[row][first:last], items[item])
    assert length == expected
    if length:
        assert in_row == first + at
        assert items[item][in_item : in_item + length] == rows[row][in_row : in_row + length]


@given(st.lists(st.integers(0, 3), max_size=40), st.lists(st.integers(0, 3), max_size=40))
def test_runs_by_hashed_grams_equal_runs_by_all_pairs(left: list[int], right: list[int]) -> None:
    window, item = np.array(left, np.uint64), np.array(right, np.uint64)
    assert _run_of_grams(window, item) == _run_of_all_pairs(window, item)
