"""Rows against the seed index of a benchmark: which items may stand where in which row.

The index is a walk of growing grams in one hash table: an entry says which items start a seed there, and whether some
seed is longer. A row position is walked only as far as entries go on, so most positions cost one look-up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel
from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend
from auditkit.kernels.table import find

#: Added to diagonals so that they sort as unsigned numbers.
DIAGONAL_SHIFT = np.int64(1 << 31)


@kernel
def gather_hits(
    row: NDArray[np.uint64],
    slots: NDArray[np.uint64],
    stored: NDArray[np.int32],
    posting_starts: NDArray[np.int64],
    posting_texts: NDArray[np.int32],
    posting_positions: NDArray[np.int32],
    goes_on: NDArray[np.bool_],
    hits: NDArray[np.int64],
) -> tuple[int, NDArray[np.int64]]:
    """Return the number of seed hits of one row and the array that holds them, as text << 32 | diagonal."""
    n = 0
    for first in range(len(row)):
        value = EMPTY_SEQUENCE
        for last in range(first, len(row)):
            value = extend(value, row[last])
            entry = find(slots, stored, value)
            if entry < 0:
                break
            for p in range(posting_starts[entry], posting_starts[entry + 1]):
                if n == len(hits):
                    grown = np.empty(2 * n, np.int64)
                    grown[:n] = hits
                    hits = grown
                diagonal = first - posting_positions[p] + DIAGONAL_SHIFT
                hits[n] = (np.int64(posting_texts[p]) << 32) | diagonal
                n += 1
            if not goes_on[entry]:
                break
    return n, hits


@kernel
def shared_tokens(window: NDArray[np.uint64], item: NDArray[np.uint64]) -> int:
    """Return the size of the multiset intersection of a window and an item, whose tokens are sorted."""
    ordered = np.sort(window)
    shared, i, j = 0, 0, 0
    while i < len(ordered) and j < len(item):
        if ordered[i] == item[j]:
            shared += 1
            i += 1
            j += 1
        elif ordered[i] < item[j]:
            i += 1
        else:
            j += 1
    return shared


#: So many seeds of one item near one diagonal make a candidate of any window: a stretch of a long item.
STRETCH_SEEDS = 8

#: Items of more tokens share half of their words with many rows by chance.
LONG_ITEM = 64


@kernel
def is_candidate(shared: int, n_item: int, n_window: int, n_hits: int) -> bool:
    """Return whether a window shares enough: half of the item, a stretch of it, or most of a short row with it.

    Long texts share half of their words by chance, but not their seeds: of a copy with a fifth of its words changed
    more than half of the seeds are left, so one in sixteen is asked for.
    """
    if n_hits >= STRETCH_SEEDS:
        return True
    if n_item > LONG_ITEM and 16 * n_hits < n_item:
        return False
    if 2 * shared >= n_item:
        return True
    return n_window < n_item and 4 * shared >= 3 * n_window and 10 * shared >= 3 * n_item


@kernel
def scan_rows(
    tokens: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    slots: NDArray[np.uint64],
    stored: NDArray[np.int32],
    posting_starts: NDArray[np.int64],
    posting_texts: NDArray[np.int32],
    posting_positions: NDArray[np.int32],
    goes_on: NDArray[np.bool_],
    item_tokens: NDArray[np.uint64],
    item_offsets: NDArray[np.int64],
    first_row: int,
    last_row: int,
) -> NDArray[np.int64]:
    """Return candidates of rows [first_row, last_row): int64 of shape [n, 5].

    Columns: row, item text, first and last token of the window (half open), tokens shared with the item.
    `item_tokens` are sorted within each item text.
    """
    hits = np.empty(1024, np.int64)
    found = np.empty((256, 5), np.int64)
    n_found = 0
    for row in range(first_row, last_row):
        base = offsets[row]
        n_row = offsets[row + 1] - base
        n, hits = gather_hits(
            tokens[base : base + n_row], slots, stored, posting_starts, posting_texts, posting_positions, goes_on, hits
        )
        if n == 0:
            continue
        ordered = np.sort(hits[:n])
        at = 0
        while at < n:
            text = ordered[at] >> 32
            n_item = item_offsets[text + 1] - item_offsets[text]
            slack = max(4, n_item // 3)
            first_diagonal = (ordered[at] & 0xFFFFFFFF) - DIAGONAL_SHIFT
            last_diagonal = first_diagonal
            begin = at
            at += 1
            # Hits of one copy lie on near diagonals; a jump is another copy further on in the row.
            while at < n and ordered[at] >> 32 == text:
                diagonal = (ordered[at] & 0xFFFFFFFF) - DIAGONAL_SHIFT
                if diagonal - last_diagonal > slack:
                    break
                last_diagonal = diagonal
                at += 1
            low = max(0, first_diagonal - slack)
            high = min(n_row, last_diagonal + n_item + slack)
            shared = shared_tokens(
                tokens[base + low : base + high], item_tokens[item_offsets[text] : item_offsets[text + 1]]
            )
            if is_candidate(shared, n_item, high - low, at - begin):
                if n_found == len(found):
                    grown = np.empty((2 * n_found, 5), np.int64)
                    grown[:n_found] = found
                    found = grown
                found[n_found, 0], found[n_found, 1] = row, text
                found[n_found, 2], found[n_found, 3], found[n_found, 4] = low, high, shared
                n_found += 1
    return found[:n_found].copy()


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
