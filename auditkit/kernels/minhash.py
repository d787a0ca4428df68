"""MinHash signatures, bit for bit those of datasketch 2.0 (scheme "affine32"), the keys of LSH bands, and the scan.

A signature of a token set equals
    datasketch.MinHash(num_perm, seed, hashfunc=token_hash_32)
updated with its tokens, where token_hash_32 is the low half of kernels.hashing's token hash.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf
from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend
from auditkit.kernels.lists import as_rows, grown, sort_first
from auditkit.kernels.overlap import SKETCH_WORDS, count_missing, sketch_set
from auditkit.kernels.prefetch import prefetch
from auditkit.kernels.sets import add_token, has_token, longest_text, make_set
from auditkit.kernels.table import ask_for, find, may_hold, n_postings, posting_start

MAX_HASH = np.uint32(0xFFFFFFFF)


def permutations(n_permutations: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the multipliers and increments that datasketch draws for this seed (datasketch 2.0, affine32)."""
    generator = np.random.RandomState(seed)
    odd = generator.randint(0, 1 << 31, n_permutations, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return odd, generator.randint(0, 1 << 32, n_permutations, dtype=np.uint32)


@leaf
def _mixed(token: Any) -> Any:
    """Return the low half of a token hash as datasketch mixes it: MurmurHash3's 32-bit finalizer, once."""
    value = np.uint32(token & np.uint64(0xFFFFFFFF))
    value = np.uint32(value ^ (value >> np.uint32(16)))
    value = np.uint32(value * np.uint32(0x85EBCA6B))
    value = np.uint32(value ^ (value >> np.uint32(13)))
    value = np.uint32(value * np.uint32(0xC2B2AE35))
    return np.uint32(value ^ (value >> np.uint32(16)))


@leaf
def _sign(
    tokens: NDArray[np.uint64],
    first: int,
    last: int,
    multipliers: NDArray[np.uint32],
    increments: NDArray[np.uint32],
    signature: NDArray[np.uint32],
) -> None:
    """Write the signature of tokens[first:last]: uint32 [n_permutations]."""
    for p in range(len(multipliers)):
        signature[p] = MAX_HASH
    for t in range(first, last):
        value = _mixed(tokens[t])
        for p in range(len(multipliers)):
            permuted = np.uint32(multipliers[p] * value + increments[p])
            signature[p] = min(signature[p], permuted)


@kernel
def signatures(
    tokens: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    multipliers: NDArray[np.uint32],
    increments: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """Return the signatures of the token sets of `rows`: uint32 of shape [len(rows), n_permutations]."""
    result = np.empty((len(rows), len(multipliers)), np.uint32)
    for i in range(len(rows)):
        _sign(tokens, offsets[rows[i]], offsets[rows[i] + 1], multipliers, increments, result[i])
    return result


@leaf
def _write_band_keys(signature: NDArray[np.uint32], n_rows: int, keys: NDArray[np.uint64]) -> None:
    """Write one key a band, of its number and its n_rows values; the bands side by side, since each step waits."""
    for band in range(len(keys)):
        keys[band] = extend(EMPTY_SEQUENCE, np.uint64(band))
    for r in range(n_rows):
        for band in range(len(keys)):
            keys[band] = extend(keys[band], np.uint64(signature[band * n_rows + r]))


@kernel
def band_keys(values: NDArray[np.uint32], n_bands: int, n_rows: int) -> NDArray[np.uint64]:
    """Return one 64-bit key a band, of its signature values and its number: uint64 of shape [n, n_bands]."""
    result = np.empty((len(values), n_bands), np.uint64)
    for i in range(len(values)):
        _write_band_keys(values[i], n_rows, result[i])
    return result


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
            _sign(members, 0, size, multipliers, increments, signature)
            _write_band_keys(signature, len(signature) // n_bands, keys)
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
