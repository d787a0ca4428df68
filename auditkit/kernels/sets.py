"""Sets of tokens on scratch memory: a table of open addressing that a new stamp empties at no cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf


@kernel
def make_set(n_tokens: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return scratch for sets of up to `n_tokens` tokens: slots, and the stamp of the set that each slot belongs to.

    Shapes: uint64 [n_slots] and int64 [n_slots], a power of two. Stamps in use are above 0.
    """
    n_slots = 16
    while n_slots < 2 * n_tokens:
        n_slots *= 2
    return np.empty(n_slots, np.uint64), np.zeros(n_slots, np.int64)


@leaf
def _slot(token: Any, slots: NDArray[np.uint64], stamps: NDArray[np.int64], stamp: int) -> Any:
    """Return the slot that holds a token, or the free one where it would stand."""
    mask = np.uint64(len(slots) - 1)
    at = token & mask
    while stamps[at] == stamp and slots[at] != token:
        at = (at + np.uint64(1)) & mask
    return at


@leaf
def add_token(token: Any, slots: NDArray[np.uint64], stamps: NDArray[np.int64], stamp: int) -> bool:
    """Put a token into the set of this stamp; return whether it is new there."""
    at = _slot(token, slots, stamps, stamp)
    is_new = bool(stamps[at] != stamp)
    slots[at], stamps[at] = token, stamp
    return is_new


@leaf
def has_token(token: Any, slots: NDArray[np.uint64], stamps: NDArray[np.int64], stamp: int) -> bool:
    """Return whether the set of this stamp holds a token."""
    return bool(stamps[_slot(token, slots, stamps, stamp)] == stamp)


@leaf
def longest_text(offsets: NDArray[np.int64], first: int, last: int) -> int:
    """Return the most tokens that one of the texts [first, last) has."""
    longest = 0
    for text in range(first, last):
        longest = max(longest, offsets[text + 1] - offsets[text])
    return longest
