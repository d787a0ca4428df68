"""MinHash signatures, bit for bit those of datasketch 2.0 (scheme "affine32"), and the keys of LSH bands.

A signature of a token set equals
    datasketch.MinHash(num_perm, seed, hashfunc=token_hash_32)
updated with its tokens, where token_hash_32 is the low half of kernels.hashing's token hash.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel
from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend

MAX_HASH = np.uint32(0xFFFFFFFF)


def permutations(n_permutations: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the multipliers and increments that datasketch draws for this seed (datasketch 2.0, affine32)."""
    generator = np.random.RandomState(seed)
    odd = generator.randint(0, 1 << 31, n_permutations, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return odd, generator.randint(0, 1 << 32, n_permutations, dtype=np.uint32)


@kernel
def signatures(
    tokens: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    multipliers: NDArray[np.uint32],
    increments: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """Return the signatures of the token sets of `rows`: uint32 of shape [len(rows), n_permutations]."""
    n_permutations = len(multipliers)
    result = np.full((len(rows), n_permutations), MAX_HASH, np.uint32)
    for i in range(len(rows)):
        row = rows[i]
        for t in range(offsets[row], offsets[row + 1]):
            value = np.uint32(tokens[t] & np.uint64(0xFFFFFFFF))
            # datasketch mixes the input once with MurmurHash3's 32-bit finalizer.
            value = np.uint32(value ^ (value >> np.uint32(16)))
            value = np.uint32(value * np.uint32(0x85EBCA6B))
            value = np.uint32(value ^ (value >> np.uint32(13)))
            value = np.uint32(value * np.uint32(0xC2B2AE35))
            value = np.uint32(value ^ (value >> np.uint32(16)))
            for p in range(n_permutations):
                permuted = np.uint32(multipliers[p] * value + increments[p])
                if permuted < result[i, p]:
                    result[i, p] = permuted
    return result


@kernel
def band_keys(values: NDArray[np.uint32], n_bands: int, n_rows: int) -> NDArray[np.uint64]:
    """Return one 64-bit key a band, of its signature values and its number: uint64 of shape [n, n_bands]."""
    result = np.empty((len(values), n_bands), np.uint64)
    for i in range(len(values)):
        for band in range(n_bands):
            key = extend(EMPTY_SEQUENCE, np.uint64(band))
            for r in range(n_rows):
                key = extend(key, np.uint64(values[i, band * n_rows + r]))
            result[i, band] = key
    return result


@kernel
def count_distinct(tokens: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of distinct tokens a row. Shape [n_rows]."""
    n_rows = len(offsets) - 1
    result = np.zeros(n_rows, np.int64)
    for row in range(n_rows):
        ordered = np.sort(tokens[offsets[row] : offsets[row + 1]])
        for i in range(len(ordered)):
            if i == 0 or ordered[i] != ordered[i - 1]:
                result[row] += 1
    return result


@kernel
def set_overlaps(
    row_tokens: NDArray[np.uint64],
    row_offsets: NDArray[np.int64],
    item_tokens: NDArray[np.uint64],
    item_offsets: NDArray[np.int64],
    pairs: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return shared and united distinct tokens of (row, item) pairs: int64 of shape [n_pairs, 2].

    Pairs are grouped by row, so that a row is sorted once.
    """
    result = np.zeros((len(pairs), 2), np.int64)
    last_row = -1
    row = np.empty(0, np.uint64)
    for i in range(len(pairs)):
        if pairs[i, 0] != last_row:
            last_row = pairs[i, 0]
            row = np.unique(row_tokens[row_offsets[last_row] : row_offsets[last_row + 1]])
        item = np.unique(item_tokens[item_offsets[pairs[i, 1]] : item_offsets[pairs[i, 1] + 1]])
        shared, a, b = 0, 0, 0
        while a < len(row) and b < len(item):
            if row[a] == item[b]:
                shared += 1
                a += 1
                b += 1
            elif row[a] < item[b]:
                a += 1
            else:
                b += 1
        result[i, 0], result[i, 1] = shared, len(row) + len(item) - shared
    return result
