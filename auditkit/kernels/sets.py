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


@kernel
def count_distinct(tokens: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of distinct tokens a row. Shape [n_rows]."""
    n_rows = len(offsets) - 1
    result = np.zeros(n_rows, np.int64)
    slots, stamps = make_set(longest_text(offsets, 0, n_rows))
    for row in range(n_rows):
        for i in range(offsets[row], offsets[row + 1]):
            result[row] += add_token(tokens[i], slots, stamps, row + 1)
    return result


@kernel
def distinct_tokens(
    tokens: NDArray[np.uint64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the tokens of each text without repetitions, and where each text starts among them."""
    n_texts = len(offsets) - 1
    kept, starts = np.empty(len(tokens), np.uint64), np.zeros(n_texts + 1, np.int64)
    slots, stamps = make_set(longest_text(offsets, 0, n_texts))
    n = 0
    for text in range(n_texts):
        for i in range(offsets[text], offsets[text + 1]):
            if add_token(tokens[i], slots, stamps, text + 1):
                kept[n] = tokens[i]
                n += 1
        starts[text + 1] = n
    return kept[:n].copy(), starts


@kernel
def set_overlaps(
    row_tokens: NDArray[np.uint64],
    row_offsets: NDArray[np.int64],
    item_tokens: NDArray[np.uint64],
    item_offsets: NDArray[np.int64],
    pairs: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return shared and united distinct tokens of (row, item) pairs: int64 of shape [n_pairs, 2]."""
    result = np.zeros((len(pairs), 2), np.int64)
    row_slots, row_stamps = make_set(longest_text(row_offsets, 0, len(row_offsets) - 1))
    item_slots, item_stamps = make_set(longest_text(item_offsets, 0, len(item_offsets) - 1))
    for i in range(len(pairs)):
        row, item, stamp = pairs[i, 0], pairs[i, 1], i + 1
        for t in range(row_offsets[row], row_offsets[row + 1]):
            result[i, 1] += add_token(row_tokens[t], row_slots, row_stamps, stamp)
        for t in range(item_offsets[item], item_offsets[item + 1]):
            if add_token(item_tokens[t], item_slots, item_stamps, stamp):
                is_shared = has_token(item_tokens[t], row_slots, row_stamps, stamp)
                result[i, 0] += is_shared
                result[i, 1] += not is_shared
    return result


# ---------------------------------------------------------------- sets that grow


@leaf
def keep_new(keys: NDArray[np.uint64], slots: NDArray[np.uint64]) -> int:
    """Put keys into a set of open addressing and return how many of them were not there.

    Args:
        keys: as good as random; 0 counts as 1.
        slots: of a power of two; 0 marks a free one, and at least one stays free.
    """
    n_new, mask = 0, np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        key = max(keys[i], np.uint64(1))
        at = key & mask
        while slots[at] != np.uint64(0) and slots[at] != key:
            at = (at + np.uint64(1)) & mask
        n_new += slots[at] != key
        slots[at] = key
    return n_new
