"""An open-addressing hash table from 64-bit keys to 32-bit values: built once, read by every kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel

#: Marks a free slot. A key that hashes to it is moved to 1, on both sides alike.
FREE = np.uint64(0)


@kernel
def _slot_key(key: Any) -> Any:
    return key if key != FREE else np.uint64(1)


@kernel
def build_table(keys: NDArray[np.uint64], values: NDArray[np.int32]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return slots (keys, values) of a power-of-two size at most half full. Keys are distinct; values are >= 0."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    slots, stored = np.zeros(size, np.uint64), np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    for i in range(len(keys)):
        key = _slot_key(keys[i])
        at = key & mask
        while slots[at] != FREE:
            at = (at + np.uint64(1)) & mask
        slots[at], stored[at] = key, values[i]
    return slots, stored


@kernel
def find(slots: NDArray[np.uint64], stored: NDArray[np.int32], key: Any) -> Any:
    """Return the value stored for `key`, or -1."""
    mask = np.uint64(len(slots) - 1)
    wanted = _slot_key(key)
    at = wanted & mask
    while slots[at] != FREE:
        if slots[at] == wanted:
            return stored[at]
        at = (at + np.uint64(1)) & mask
    return np.int32(-1)


@kernel
def find_all(slots: NDArray[np.uint64], stored: NDArray[np.int32], keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the value of each key, or -1. Shape [n_keys]."""
    result = np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        result[i] = find(slots, stored, keys[i])
    return result
