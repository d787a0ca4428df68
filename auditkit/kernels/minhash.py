"""MinHash signatures, bit for bit those of datasketch 2.0 (scheme "affine32"), and the keys of LSH bands.

A signature of a token set equals
    datasketch.MinHash(num_perm, seed, hashfunc=token_hash_32)
updated with its tokens, where token_hash_32 is the low half of kernels.hashing's token hash.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf
from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend

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
def sign(
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
        sign(tokens, offsets[rows[i]], offsets[rows[i] + 1], multipliers, increments, result[i])
    return result


@leaf
def write_band_keys(signature: NDArray[np.uint32], n_rows: int, keys: NDArray[np.uint64]) -> None:
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
        write_band_keys(values[i], n_rows, result[i])
    return result
