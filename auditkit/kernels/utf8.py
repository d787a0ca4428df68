"""UTF-8 -> code points. Indexes are unsigned, so that numba does not look for negative ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import leaf

ZERO, ONE, TWO, THREE, FOUR = np.uintp(0), np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)


@leaf
def code_point(data: NDArray[np.uint8], at: Any) -> tuple[Any, Any]:
    """Return the code point at byte `at` of valid UTF-8, and its length in bytes, both uintp."""
    first = np.uint32(data[at])
    if first < 0x80:
        return np.uintp(first), ONE
    second = np.uint32(data[at + ONE]) & np.uint32(0x3F)
    if first < 0xE0:
        return np.uintp(((first & np.uint32(0x1F)) << np.uint32(6)) | second), TWO
    third = np.uint32(data[at + TWO]) & np.uint32(0x3F)
    if first < 0xF0:
        return np.uintp(((first & np.uint32(0x0F)) << np.uint32(12)) | (second << np.uint32(6)) | third), THREE
    fourth = np.uint32(data[at + THREE]) & np.uint32(0x3F)
    high = ((first & np.uint32(0x07)) << np.uint32(18)) | (second << np.uint32(12))
    return np.uintp(high | (third << np.uint32(6)) | fourth), FOUR
