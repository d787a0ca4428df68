"""How many letters two texts share in the same order: the longest common subsequence of ASCII texts, bit by bit.

Of 64 letters of one text at a time a word of bits says behind which of them the common subsequences grew; a letter of
the other text moves all of them by one addition (Hyyrö 2004, Bit-parallel LCS-length computation revisited, figure 3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf
from auditkit.kernels.overlap import count_bits

#: Instead of the number of letters, where a text is not ASCII.
NOT_ASCII = -1

ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
LETTERS = 128


@kernel
def letters_in_order(
    left: NDArray[np.uint8], left_bounds: NDArray[np.int64], right: NDArray[np.uint8], right_bounds: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the letters that pairs of texts share in the same order, or NOT_ASCII where one is not ASCII: int64 [n].

    Args:
        left, right: UTF-8.
        left_bounds, right_bounds: int64 of shape [n, 2]; pair i is left[a:b] and right[c:d].
    """
    result = np.empty(len(left_bounds), np.int64)
    n_words = 1 + max(_longest(left_bounds), _longest(right_bounds)) // 64
    places, states = np.zeros((n_words, LETTERS), np.uint64), np.empty(n_words, np.uint64)
    for i in range(len(result)):
        a, b = np.uintp(left_bounds[i, 0]), np.uintp(left_bounds[i, 1])
        c, d = np.uintp(right_bounds[i, 0]), np.uintp(right_bounds[i, 1])
        if not (_is_ascii(left, a, b) and _is_ascii(right, c, d)):
            result[i] = NOT_ASCII
        elif b - a <= d - c:
            result[i] = _in_order(left, a, b, right, c, d, places, states)
        else:
            result[i] = _in_order(right, c, d, left, a, b, places, states)
    return result


@kernel
def count_letters(data: NDArray[np.uint8], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the characters of each text data[a:b] of UTF-8: int64 [n]. `bounds` is int64 of shape [n, 2]."""
    result = np.zeros(len(bounds), np.int64)
    for i in range(len(bounds)):
        for at in range(np.uintp(bounds[i, 0]), np.uintp(bounds[i, 1])):
            result[i] += (data[at] & np.uint8(0xC0)) != np.uint8(0x80)
    return result


@leaf
def _longest(bounds: NDArray[np.int64]) -> int:
    longest = 0
    for i in range(len(bounds)):
        longest = max(longest, bounds[i, 1] - bounds[i, 0])
    return longest


@leaf
def _is_ascii(data: NDArray[np.uint8], first: Any, last: Any) -> Any:
    every = np.uint8(0)
    for at in range(first, last):
        every |= data[at]
    return every < LETTERS


@leaf
def _walk_word(longer: NDArray[np.uint8], c: Any, d: Any, places: NDArray[np.uint64]) -> Any:
    """Return the letters shared in order with a text of one word of bits."""
    state = ALL_BITS
    for at in range(c, d):
        moved = state & places[longer[at]]
        state = (state + moved) | (state - moved)
    return np.int64(count_bits(~state))


@leaf
def _walk_words(
    longer: NDArray[np.uint8], c: Any, d: Any, places: NDArray[np.uint64], states: NDArray[np.uint64]
) -> Any:
    """Return the letters shared in order with a text of several words of bits, the carry going from one to the next."""
    for w in range(len(states)):
        states[w] = ALL_BITS
    for at in range(c, d):
        carry, letter = np.uint64(0), longer[at]
        for w in range(len(states)):
            state = states[w]
            moved = state & places[w, letter]
            added = state + moved
            total = added + carry
            carry = np.uint64((added < state) | (total < added))
            states[w] = total | (state - moved)
    n = np.int64(0)
    for w in range(len(states)):
        n += np.int64(count_bits(~states[w]))
    return n


@leaf
def _in_order(
    shorter: NDArray[np.uint8],
    a: Any,
    b: Any,
    longer: NDArray[np.uint8],
    c: Any,
    d: Any,
    places: NDArray[np.uint64],
    states: NDArray[np.uint64],
) -> Any:
    """Return the longest common subsequence of shorter[a:b] and longer[c:d].

    `places` (zeros before and after) holds the places of each letter in the shorter text, `states` is scratch.
    """
    n_letters = np.int64(b - a)
    n_words = (n_letters + 63) // 64
    for i in range(n_letters):
        places[i >> 6, shorter[a + np.uintp(i)]] |= np.uint64(1) << np.uint64(i & 63)
    n = _walk_word(longer, c, d, places[0]) if n_words == 1 else _walk_words(longer, c, d, places, states[:n_words])
    for i in range(n_letters):
        places[i >> 6, shorter[a + np.uintp(i)]] = np.uint64(0)
    return n
