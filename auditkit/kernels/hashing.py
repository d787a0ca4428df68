"""The 64-bit hashes of tokens, grams and token sequences. They are written to disk, so they never change.

token_hash: FNV-1a (64 bit) over the token's UTF-8 bytes, finished by MurmurHash3's fmix64.
extend: one step from the hash of a sequence to that of the sequence with one more token.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf

FNV_OFFSET = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
MIX_A = np.uint64(0xFF51AFD7ED558CCD)
MIX_B = np.uint64(0xC4CEB9FE1A85EC53)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SHIFT_33 = np.uint64(33)
SHIFT_29 = np.uint64(29)
EMPTY_SEQUENCE = np.uint64(0x1F0D3804A5B8E9C1)


@leaf
def finish(value: Any) -> Any:
    """Return fmix64 of `value` (MurmurHash3 by Austin Appleby, public domain)."""
    value ^= value >> SHIFT_33
    value *= MIX_A
    value ^= value >> SHIFT_33
    value *= MIX_B
    value ^= value >> SHIFT_33
    return value


@leaf
def extend(sequence: Any, token: Any) -> Any:
    """Return the hash of a sequence and one more token; the order of tokens matters."""
    value = (sequence ^ (sequence >> SHIFT_29)) * GOLDEN + token
    value ^= value >> SHIFT_33
    return value * MIX_A


@kernel
def sequence_hashes(tokens: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return one hash a row: of tokens[offsets[i]:offsets[i + 1]] in their order. Shape [n_rows]."""
    n_rows = len(offsets) - 1
    result = np.empty(n_rows, np.uint64)
    for row in range(n_rows):
        value = EMPTY_SEQUENCE
        for i in range(offsets[row], offsets[row + 1]):
            value = extend(value, tokens[i])
        result[row] = finish(value)
    return result


@kernel
def extend_all(sequences: NDArray[np.uint64], tokens: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return extend(sequence, token) of each pair. Shape [n]."""
    result = np.empty(len(sequences), np.uint64)
    for i in range(len(sequences)):
        result[i] = extend(sequences[i], tokens[i])
    return result
