"""The longest run of tokens that a window of a row and an item share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel

#: Above this product of lengths the longest run is searched by hashed grams instead of all pairs of places.
ALL_PAIRS = 1 << 16
RUN_BASE = np.uint64(0x9E3779B97F4A7C15)


@kernel
def _run_of_all_pairs(window: NDArray[np.uint64], item: NDArray[np.uint64]) -> tuple[int, int, int]:
    """Return the longest shared run: length, start in the window, start in the item. Time: product of the lengths."""
    best, in_window, in_item = 0, 0, 0
    # lengths[j + 1] is the run that ends at this window token and item token j.
    lengths = np.zeros(len(item) + 1, np.int64)
    for i in range(len(window)):
        for j in range(len(item) - 1, -1, -1):
            if item[j] != window[i]:
                lengths[j + 1] = 0
                continue
            run = lengths[j] + 1
            lengths[j + 1] = run
            if run > best:
                best, in_window, in_item = run, i - run + 1, j - run + 1
    return best, in_window, in_item


@kernel
def _prefix_hashes(tokens: NDArray[np.uint64]) -> NDArray[np.uint64]:
    result = np.zeros(len(tokens) + 1, np.uint64)
    for i in range(len(tokens)):
        result[i + 1] = result[i] * RUN_BASE + tokens[i]
    return result


@kernel
def _grams(prefixes: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    power = np.uint64(1)
    for _ in range(size):
        power *= RUN_BASE
    n = len(prefixes) - size
    result = np.empty(n, np.uint64)
    for i in range(n):
        result[i] = prefixes[i + size] - prefixes[i] * power
    return result


@kernel
def _shared_gram(
    window: NDArray[np.uint64],
    item: NDArray[np.uint64],
    in_window: NDArray[np.uint64],
    in_item: NDArray[np.uint64],
    size: int,
) -> tuple[int, int]:
    """Return the first place in the window and the last in the item of a shared gram, or (-1, -1)."""
    grams = _grams(in_item, size)
    order = np.argsort(grams)
    ordered = grams[order]
    wanted = _grams(in_window, size)
    for i in range(len(wanted)):
        at = np.searchsorted(ordered, wanted[i])
        last = -1
        while at < len(ordered) and ordered[at] == wanted[i]:
            j = order[at]
            # Equal hashes are checked token by token.
            if j > last and np.array_equal(window[i : i + size], item[j : j + size]):
                last = j
            at += 1
        if last >= 0:
            return i, last
    return -1, -1


@kernel
def _run_of_grams(window: NDArray[np.uint64], item: NDArray[np.uint64]) -> tuple[int, int, int]:
    """Return the same as _run_of_all_pairs, by halving: where a run of some length is shared, shorter ones are too."""
    in_window, in_item = _prefix_hashes(window), _prefix_hashes(item)
    low, high = 0, min(len(window), len(item))
    best_window, best_item = 0, 0
    while low < high:
        size = (low + high + 1) // 2
        i, j = _shared_gram(window, item, in_window, in_item, size)
        if i >= 0:
            low, best_window, best_item = size, i, j
        else:
            high = size - 1
    return low, best_window, best_item


@kernel
def longest_runs(
    row_tokens: NDArray[np.uint64],
    row_offsets: NDArray[np.int64],
    item_tokens: NDArray[np.uint64],
    item_offsets: NDArray[np.int64],
    pairs: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the longest run of tokens that a window and an item share, of several the first in the row.

    Args:
        row_tokens, row_offsets: tokens of the rows.
        item_tokens, item_offsets: tokens of the item texts, in their order.
        pairs: int64 of shape [n, 4]: row, item text, first and last token of the window (half open).

    Returns:
        int64 of shape [n, 3]: length, first token in the row (from the row's start), first token in the item.
    """
    result = np.zeros((len(pairs), 3), np.int64)
    for p in range(len(pairs)):
        base, first = row_offsets[pairs[p, 0]], pairs[p, 2]
        window = row_tokens[base + first : base + pairs[p, 3]]
        item = item_tokens[item_offsets[pairs[p, 1]] : item_offsets[pairs[p, 1] + 1]]
        if len(window) * len(item) <= ALL_PAIRS:
            length, i, j = _run_of_all_pairs(window, item)
        else:
            length, i, j = _run_of_grams(window, item)
        if length > 0:
            result[p, 0], result[p, 1], result[p, 2] = length, first + i, j
    return result
