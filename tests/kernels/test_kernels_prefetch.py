"""A prefetch is a hint: it changes nothing, and no index is out of its bounds."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from auditkit.kernels.prefetch import prefetch


@numba.njit  # not cached: of a kernel from the cache there is no code to look at
def ask(array: object, index: int) -> None:
    prefetch(array, index)


@pytest.mark.parametrize("array", [np.arange(9), np.arange(12, dtype=np.uint64).reshape(6, 2), np.zeros(0, np.int32)])
@pytest.mark.parametrize("index", [0, 3, -1, 1 << 40])
def test_a_prefetch_changes_nothing(array: np.ndarray, index: int) -> None:
    before = array.copy()
    ask(array, index)
    assert np.array_equal(array, before)


def test_it_is_an_instruction_of_the_compiled_code() -> None:
    ask(np.arange(9), 0)
    assert "prefetch" in next(iter(ask.inspect_asm().values()))
