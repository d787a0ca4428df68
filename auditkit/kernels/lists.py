"""Arrays used as lists: growing, sorting, and rows of a table in one flat array.

numpy's own ways of doing this take numba seconds to compile, these take a tenth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf


@kernel
def grown(array: Any, n: int, n_wanted: int) -> Any:
    """Return an array twice as long, or of n_wanted where that is longer, that begins with the first n values."""
    result = np.empty(max(2 * len(array), n_wanted), array.dtype)
    for i in range(n):
        result[i] = array[i]
    return result


@leaf
def sort_first(array: NDArray[np.int64], n: int) -> None:
    """Sort the first n values in place (Shell 1959, with the gaps of Knuth 1973: 1, 4, 13, 40, ...)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            value, at = array[i], i
            while at >= gap and array[at - gap] > value:
                array[at] = array[at - gap]
                at -= gap
            array[at] = value
        gap //= 3


@kernel
def as_rows(flat: NDArray[np.int64], n_rows: int, n_columns: int) -> NDArray[np.int64]:
    """Return the first rows of a flat array: int64 of shape [n_rows, n_columns]."""
    result = np.empty((n_rows, n_columns), np.int64)
    for row in range(n_rows):
        for column in range(n_columns):
            result[row, column] = flat[row * n_columns + column]
    return result
