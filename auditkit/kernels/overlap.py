"""How many words two texts share: exactly, and an upper bound from sketches that costs a few instructions.

Words are numbered, the most frequent first. A sketch is a bit set of a text's words, where the second "the" counts as
another word than the first. Each bit of one text that another lacks stands for a word at least that the other does not
have, so what sketches allow is never less than what two texts share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf

#: 512 bits are one cache line; measured, 256 let twice as many pairs through.
SKETCH_WORDS = 8

#: The most frequent words, those that unrelated texts share, have a bit each (measured: a quarter of the bits is best).
N_COMMON = 16 * SKETCH_WORDS
N_SHARED = 64 * SKETCH_WORDS - N_COMMON

#: Moves the bits of repeated words away from those of the words.
REPEATED = 97


@leaf
def _bit(word: Any, occurrence: Any) -> Any:
    """Return the bit of the n-th occurrence of a word, counted from 1."""
    # Unsigned and of 32 bits, the remainder is a multiplication; no branch, which would be foretold wrongly.
    shared_bit = N_COMMON + np.int64(np.uint32(word + REPEATED * (occurrence - 1)) % np.uint32(N_SHARED))
    is_common = (word < N_COMMON) & (occurrence == 1)
    return np.int64(word) if is_common else shared_bit


@leaf
def sketch_words(
    words: NDArray[np.int32],
    first: int,
    last: int,
    counts: NDArray[np.int32],
    sketches: NDArray[np.uint64],
    text: int,
) -> None:
    """Write the sketch of words[first:last] into sketches[text].

    Args:
        words, first, last: a text.
        counts: scratch of one 0 a word number; all are 0 again afterwards.
        sketches: uint64 [n, SKETCH_WORDS].
        text: where to write.
    """
    for i in range(SKETCH_WORDS):
        sketches[text, i] = 0
    for i in range(first, last):
        counts[words[i]] += 1
        bit = _bit(words[i], counts[words[i]])
        sketches[text, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    for i in range(first, last):
        counts[words[i]] = 0


@kernel
def sketch_texts(words: NDArray[np.int32], offsets: NDArray[np.int64], n_words: int) -> NDArray[np.uint64]:
    """Return one sketch a text: uint64 of shape [n, SKETCH_WORDS]."""
    sketches = np.empty((len(offsets) - 1, SKETCH_WORDS), np.uint64)
    counts = np.zeros(n_words, np.int32)
    for text in range(len(sketches)):
        sketch_words(words, offsets[text], offsets[text + 1], counts, sketches, text)
    return sketches


@leaf
def sketch_set(tokens: NDArray[np.uint64], first: int, last: int, sketches: NDArray[np.uint64], text: int) -> None:
    """Write a sketch of the set of token hashes tokens[first:last] into sketches[text]: equal tokens have one bit."""
    for i in range(SKETCH_WORDS):
        sketches[text, i] = 0
    for i in range(first, last):
        bit = tokens[i] & np.uint64(64 * SKETCH_WORDS - 1)
        sketches[text, bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))


@kernel
def sketch_sets(tokens: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the sketch of each text's set of token hashes: uint64 of shape [n, SKETCH_WORDS]."""
    sketches = np.empty((len(offsets) - 1, SKETCH_WORDS), np.uint64)
    for text in range(len(sketches)):
        sketch_set(tokens, offsets[text], offsets[text + 1], sketches, text)
    return sketches


@leaf
def count_bits(word: Any) -> Any:
    """Return the number of set bits (Warren, Hacker's Delight, 5-1; compilers turn it into one instruction)."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@leaf
def count_missing(sketches: NDArray[np.uint64], text: Any, others: NDArray[np.uint64], other: Any) -> Any:
    """Return the number of bits of sketches[text] that others[other] lacks."""
    n = np.uint64(0)
    for i in range(SKETCH_WORDS):
        n += count_bits(sketches[text, i] & ~others[other, i])
    return np.int64(n)


@leaf
def count_shared(
    words: NDArray[np.int32],
    low: int,
    high: int,
    item_words: NDArray[np.int32],
    first: int,
    last: int,
    counts: NDArray[np.int32],
) -> int:
    """Return the size of the multiset intersection of words[low:high] and item_words[first:last].

    Args:
        words, low, high: a window of a row.
        item_words, first, last: an item.
        counts: scratch of one 0 a word number; all are 0 again afterwards.
    """
    for i in range(low, high):
        counts[words[i]] += 1
    shared = 0
    for i in range(first, last):
        is_left = counts[item_words[i]] > 0
        counts[item_words[i]] -= is_left
        shared += is_left
    for i in range(low, high):
        counts[words[i]] = 0
    return shared
