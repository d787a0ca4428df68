"""Which item texts share a band with a row, and which of them reach the threshold: the scan of the MinHash detector.

Bands propose; sizes, sketches and counted tokens of the two sets decide, so that only pairs that reach it are returned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf
from auditkit.kernels.lists import as_rows, grown, sort_first
from auditkit.kernels.minhash import sign, write_band_keys
from auditkit.kernels.overlap import SKETCH_WORDS, count_missing, sketch_set
from auditkit.kernels.prefetch import prefetch
from auditkit.kernels.sets import add_token, has_token, make_set
from auditkit.kernels.table import ask_for, find, may_hold, n_postings, posting_start


class MinHashArrays(NamedTuple):
    """The index of m item texts as the kernels read it.

    Attributes:
        table: band key -> entry (kernels/table.py).
        maybe: filter of its keys.
        postings: item texts, int32 [n_postings].
        item_tokens: distinct tokens of the item texts, uint64 [n_tokens].
        item_offsets: where each text starts in `item_tokens`, int64 [m + 1].
        item_sketches: uint64 [m, SKETCH_WORDS] (kernels/overlap.py).
        multipliers, increments: of the permutations in use, uint32 [n_bands * n_rows].
        n_bands: number of bands.
        fewest, most: distinct tokens with which a row can reach the threshold with any item.
        needed: shared tokens with which a pair reaches it, by the sum of the sizes of the two sets: int64 [n_sums].
    """

    table: NDArray[np.uint64]
    maybe: NDArray[np.uint64]
    postings: NDArray[np.int32]
    item_tokens: NDArray[np.uint64]
    item_offsets: NDArray[np.int64]
    item_sketches: NDArray[np.uint64]
    multipliers: NDArray[np.uint32]
    increments: NDArray[np.uint32]
    n_bands: int
    fewest: int
    most: int
    needed: NDArray[np.int64]


@leaf
def _collect_set(
    tokens: NDArray[np.uint64],
    first: int,
    last: int,
    most: int,
    slots: NDArray[np.uint64],
    stamps: NDArray[np.int64],
    stamp: int,
    members: NDArray[np.uint64],
) -> int:
    """Write the distinct tokens of tokens[first:last]; return their number, or most + 1 where there are more."""
    n = 0
    for i in range(first, last):
        if add_token(tokens[i], slots, stamps, stamp):
            members[n] = tokens[i]
            n += 1
            if n > most:
                break
    return n


@leaf
def _gather_texts(
    keys: NDArray[np.uint64],
    table: NDArray[np.uint64],
    maybe: NDArray[np.uint64],
    postings: NDArray[np.int32],
    texts: NDArray[np.int64],
) -> int:
    """Write the texts that have one of the keys, once for each, in any order; with more than len(texts), some lack.

    Returns:
        their number.
    """
    for key in keys:
        if may_hold(maybe, key):
            ask_for(table, key)
    n = 0
    for key in keys:
        entry = find(table, key) if may_hold(maybe, key) else np.int64(-1)
        if entry >= 0:
            start, count = posting_start(entry), n_postings(entry)
            if n + count <= len(texts):
                for p in range(count):
                    texts[n + p] = postings[start + p]
            n += count
    return n


@leaf
def _count_members(
    tokens: NDArray[np.uint64],
    first: int,
    last: int,
    slots: NDArray[np.uint64],
    stamps: NDArray[np.int64],
    stamp: int,
) -> int:
    """Return how many of tokens[first:last] the set of this stamp holds."""
    n = 0
    for i in range(first, last):
        n += has_token(tokens[i], slots, stamps, stamp)
    return n


@leaf
def _keep_close(
    texts: NDArray[np.int64],
    n: int,
    size: int,
    sketch: NDArray[np.uint64],
    item_offsets: NDArray[np.int64],
    item_sketches: NDArray[np.uint64],
    needed: NDArray[np.int64],
) -> int:
    """Move the texts whose size and sketch allow them to reach the threshold to the front; return their number."""
    for i in range(n):
        prefetch(item_offsets, texts[i])
        prefetch(item_sketches, texts[i])
    kept = 0
    for i in range(n):
        text = texts[i]
        n_item = item_offsets[text + 1] - item_offsets[text]
        # Most are told by their size alone, without a look at their sketch.
        if min(size, n_item) >= needed[size + n_item]:
            texts[kept] = text
            kept += n_item - count_missing(item_sketches, text, sketch, 0) >= needed[size + n_item]
    return kept


@leaf
def _add_pairs(
    row: int,
    size: int,
    texts: NDArray[np.int64],
    n: int,
    index: MinHashArrays,
    slots: NDArray[np.uint64],
    stamps: NDArray[np.int64],
    found: NDArray[np.int64],
    n_found: int,
) -> int:
    """Append the row, whose set has the stamp row + 1, with those of the n sorted texts that reach the threshold.

    Returns:
        the number of pairs so far.
    """
    _, _, _, item_tokens, item_offsets, _, _, _, _, _, _, needed = index
    for i in range(n):
        if i > 0 and texts[i] == texts[i - 1]:
            continue
        first, last = item_offsets[texts[i]], item_offsets[texts[i] + 1]
        if _count_members(item_tokens, first, last, slots, stamps, row + 1) >= needed[size + last - first]:
            found[2 * n_found], found[2 * n_found + 1] = row, texts[i]
            n_found += 1
    return n_found


class Scratch(NamedTuple):
    """Arrays that rows are scanned with, one after another.

    Attributes:
        slots, stamps: of the row's set (kernels/sets.py).
        members: its tokens, uint64.
        sketch: of it, uint64 [1, SKETCH_WORDS].
        signature, keys: of it, uint32 and uint64.
    """

    slots: NDArray[np.uint64]
    stamps: NDArray[np.int64]
    members: NDArray[np.uint64]
    sketch: NDArray[np.uint64]
    signature: NDArray[np.uint32]
    keys: NDArray[np.uint64]


@leaf
def _scan_on(
    tokens: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    index: MinHashArrays,
    row: int,
    last_row: int,
    scratch: Scratch,
    texts: NDArray[np.int64],
    found: NDArray[np.int64],
    n_found: int,
) -> tuple[int, int, int]:
    """Append the pairs of rows [row, last_row), as far as there is room.

    Returns:
        the first row that was not done, the number of pairs so far, and the texts of that row, for all of which `texts`
        and `found` must have room.
    """
    table, maybe, postings, _, item_offsets, item_sketches, multipliers, increments, n_bands, fewest, most, needed = (
        index
    )
    slots, stamps, members, sketch, signature, keys = scratch
    while row < last_row:
        size = _collect_set(tokens, offsets[row], offsets[row + 1], most, slots, stamps, row + 1, members)
        if fewest <= size <= most:
            sign(members, 0, size, multipliers, increments, signature)
            write_band_keys(signature, len(signature) // n_bands, keys)
            n = _gather_texts(keys, table, maybe, postings, texts)
            if n > len(texts) or 2 * (n_found + n) > len(found):
                return row, n_found, n
            sketch_set(members, 0, size, sketch, 0)
            n = _keep_close(texts, n, size, sketch, item_offsets, item_sketches, needed)
            sort_first(texts, n)
            n_found = _add_pairs(row, size, texts, n, index, slots, stamps, found, n_found)
        row += 1
    return row, n_found, 0


@kernel
def scan_sets(
    tokens: NDArray[np.uint64], offsets: NDArray[np.int64], index: MinHashArrays, first_row: int, last_row: int
) -> NDArray[np.int64]:
    """Return pairs of rows [first_row, last_row) and item texts that share a band and reach the threshold.

    Threads may scan with one index at once: all scratch is made here.

    Returns:
        int64 of shape [n, 2]: row and item text, sorted.
    """
    slots, stamps = make_set(index.most + 1)
    scratch = Scratch(
        slots,
        stamps,
        np.empty(index.most + 1, np.uint64),
        np.empty((1, SKETCH_WORDS), np.uint64),
        np.empty(len(index.multipliers), np.uint32),
        np.empty(index.n_bands, np.uint64),
    )
    texts, found, n_found, row = np.empty(256, np.int64), np.empty(4096, np.int64), 0, first_row
    while row < last_row:
        row, n_found, n_texts = _scan_on(tokens, offsets, index, row, last_row, scratch, texts, found, n_found)
        # The row is done again: its set must be new.
        stamps[:] = 0
        if n_texts > len(texts):
            texts = grown(texts, 0, n_texts)
        if 2 * (n_found + n_texts) > len(found):
            found = grown(found, 2 * n_found, 2 * (n_found + n_texts))
    return as_rows(found, n_found, 2)
