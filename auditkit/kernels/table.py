"""An open-addressing hash table from 64-bit keys to values, a filter before it, and entries of postings.

All are built once and read by every kernel. The filter answers most look-ups of keys that are not there; a key lies
beside its value, so that a look-up costs one cache line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf
from auditkit.kernels.prefetch import prefetch

#: Marks a free slot. A key that hashes to it is moved to 1, on both sides alike.
FREE = np.uint64(0)

LOW_HALF = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@leaf
def _slot_key(key: Any) -> Any:
    return key if key != FREE else np.uint64(1)


@leaf
def _first_slot(key: Any, n_slots: int) -> Any:
    """Return the slot from which a key is looked for: the high half of its bits, scaled to the number of slots."""
    return ((key >> HALF) * np.uint64(n_slots)) >> HALF


@leaf
def _next_slot(at: Any, n_slots: int) -> Any:
    return at + np.uint64(1) if at + np.uint64(1) < np.uint64(n_slots) else np.uint64(0)


@kernel
def build_table(keys: NDArray[np.uint64], values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return slots of key and value, two thirds of them taken: uint64 of shape [n_slots, 2].

    Keys are distinct; values are >= 0.
    """
    n_slots = 8 + len(keys) + (len(keys) + 1) // 2
    table = np.zeros((n_slots, 2), np.uint64)
    for i in range(len(keys)):
        key = _slot_key(keys[i])
        at = _first_slot(key, n_slots)
        while table[at, 0] != FREE:
            at = _next_slot(at, n_slots)
        table[at, 0], table[at, 1] = key, np.uint64(values[i])
    return table


@leaf
def find(table: NDArray[np.uint64], key: Any) -> Any:
    """Return the value stored for `key`, or -1."""
    wanted = _slot_key(key)
    at = _first_slot(wanted, len(table))
    while table[at, 0] != FREE:
        if table[at, 0] == wanted:
            return np.int64(table[at, 1])
        at = _next_slot(at, len(table))
    return np.int64(-1)


@leaf
def ask_for(table: NDArray[np.uint64], key: Any) -> None:
    """Ask for the memory that `find` will look at first."""
    prefetch(table, np.int64(_first_slot(_slot_key(key), len(table))))


@kernel
def find_all(table: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the value of each key, or -1. Shape [n_keys]."""
    result = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        result[i] = find(table, keys[i])
    return result


# ---------------------------------------------------------------- filter

#: Bits a key, at least, where nobody asks for more: of keys that are not there one in eight passes at the most.
BITS_A_KEY = 8
WORD_SHIFT, BIT_MASK = np.uint64(6), np.uint64(63)


@kernel
def build_filter(keys: NDArray[np.uint64], bits_a_key: int = BITS_A_KEY) -> NDArray[np.uint64]:
    """Return a bit set with one bit a key (a Bloom filter of one hash): uint64 of shape [a power of two]."""
    n_words = 1
    while 64 * n_words < bits_a_key * len(keys):
        n_words *= 2
    words = np.zeros(n_words, np.uint64)
    for i in range(len(keys)):
        words[(keys[i] >> WORD_SHIFT) & np.uint64(n_words - 1)] |= np.uint64(1) << (keys[i] & BIT_MASK)
    return words


@leaf
def may_hold(words: NDArray[np.uint64], key: Any) -> Any:
    """Return False where no key of the filter equals `key`."""
    word = words[(key >> WORD_SHIFT) & np.uint64(len(words) - 1)]
    return (word >> (key & BIT_MASK)) & np.uint64(1) != np.uint64(0)


# ---------------------------------------------------------------- postings

#: An entry is the first of its postings << 32 | their number << 1 | a mark.
COUNT_MASK = 0x7FFFFFFF


@kernel
def pack_entries(starts: NDArray[np.int64], is_marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return entries of postings starts[i] to starts[i + 1], to be kept in a table. Shape [n]."""
    entries = np.empty(len(is_marked), np.int64)
    for i in range(len(entries)):
        entries[i] = (starts[i] << 32) | ((starts[i + 1] - starts[i]) << 1) | np.int64(is_marked[i])
    return entries


@leaf
def posting_start(entry: Any) -> Any:
    """Return the first posting of an entry."""
    return entry >> 32


@leaf
def n_postings(entry: Any) -> Any:
    """Return the number of postings of an entry."""
    return (entry >> 1) & COUNT_MASK


@leaf
def is_marked(entry: Any) -> Any:
    """Return the mark of an entry, 0 or 1."""
    return entry & 1
