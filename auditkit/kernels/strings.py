"""One 64-bit hash for each string of an Arrow buffer. The hashes are written to disk, so they never change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel
from auditkit.kernels.hashing import FNV_OFFSET, FNV_PRIME, finish


@kernel
def hash_strings(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return FNV-1a (64 bit), finished by fmix64, of each data[offsets[i]:offsets[i + 1]]. Shape [n]."""
    result = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(result)):
        value = FNV_OFFSET
        for at in range(offsets[i], offsets[i + 1]):
            value = (value ^ np.uint64(data[at])) * FNV_PRIME
        result[i] = finish(value)
    return result
