"""Signs of disguise, counted over all rows of a shard: which of them are worth a closer look (text/views/signs.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf
from auditkit.kernels.table import may_hold
from auditkit.kernels.utf8 import code_point

#: What a byte is: bits of the table that text/views/signs.py makes.
LETTER, LEET, ESCAPE, HIGH, WRAPPER, DIGIT, EMPHASIS = 1, 2, 4, 8, 16, 32, 64
#: What a code point is.
READABLE, STRICT, ASCII_LETTER, WORD_PART, MARK_POINT, COMPATIBLE, HIDDEN = 1, 2, 4, 8, 16, 32, 64

#: Columns of count_bytes, count_tokens, longest_runs and count_points.
N_LEET, N_ESCAPES, N_EMPHASIS, SEEN = 0, 1, 2, 3
N_ONE, N_PAIRS, LONGEST, FOREIGN_RUN = 0, 1, 2, 3
LETTER_RUN, PAIR_RUN = 0, 1
N_MIXED, N_WHOLE, N_FOREIGN, N_MARKS, N_COMPATIBLE, N_HIDDEN = 0, 1, 2, 3, 4, 5

#: Bytes of a token that is taken for a code: no word is so long, or so long with a digit in it. One base64 token in a
#: hundred of LONG letters has no digit.
MIXED, LONG = 16, 28

_ZERO, _NINE, _A, _F, _X, _Z = 48, 57, 97, 102, 120, 122


@kernel
def count_bytes(data: NDArray[np.uint8], offsets: NDArray[np.int64], kinds: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return, per row of text as read, N_LEET, N_ESCAPES, N_EMPHASIS and SEEN: int32 [n, 4].

    N_LEET counts leet signs right before a letter and digits right behind one, N_ESCAPES the bytes that begin an
    escape, N_EMPHASIS marks of emphasis right behind a letter; SEEN has the bits of all bytes together.
    """
    counts = np.empty((len(offsets) - 1, 4), np.int32)
    for row in range(len(counts)):
        leet, escapes, emphasis, seen, before = 0, 0, 0, np.uint8(0), np.uint8(0)
        for at in range(np.uintp(offsets[row]), np.uintp(offsets[row + 1])):
            kind = kinds[data[at]]
            leet += ((before >> 1) & kind & 1) + (before & (kind >> 5) & 1)
            emphasis += before & (kind >> 6) & 1
            escapes += (kind >> 2) & 1
            seen |= kind
            before = kind
        counts[row, N_LEET], counts[row, N_ESCAPES] = leet, escapes
        counts[row, N_EMPHASIS], counts[row, SEEN] = emphasis, seen
    return counts


@kernel
def count_tokens(
    text: NDArray[np.uint8],
    text_offsets: NDArray[np.int64],
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    foreign: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """Return, per row of canonical text, N_ONE, N_PAIRS, LONGEST and FOREIGN_RUN: int64 [n, 4].

    N_ONE counts tokens of one character (two bytes at most), N_PAIRS those that may be a byte in hexadecimal digits
    (4a, x4a, 0x4a), LONGEST is the bytes of the longest token of at least MIXED with a digit or
    of LONG without, 0 where there is none. FOREIGN_RUN is the highest sum of a stretch of tokens
    where one that the filter `foreign` may hold counts 1, any other -1 (Page's CUSUM, 1954).
    """
    counts = np.empty((len(offsets) - 1, 4), np.int64)
    for row in range(len(counts)):
        base = np.uintp(text_offsets[row])
        ones, pairs, longest, foreigners, most = 0, 0, np.int64(0), 0, 0
        for token in range(np.uintp(offsets[row]), np.uintp(offsets[row + 1])):
            start = np.uintp(starts[token])
            length = np.int64(np.uintp(ends[token]) - start)
            first = text[base + start]
            ones += (length == 1) | ((length == 2) & (first >= 0xC0))
            # Digits of ASCII text begin with a digit, so that words of two letters are not counted.
            pairs += (
                ((length == 2) & (first <= _NINE))
                | ((length == 3) & (first == _X))
                | ((length == 4) & (first == _ZERO))
            )
            if length > longest and (length >= LONG or (length >= MIXED and _has_digit(text, base + start, length))):
                longest = length
            if may_hold(foreign, hashes[token]):
                foreigners += 1
                most = max(most, foreigners)
            elif foreigners > 0:
                foreigners -= 1
        counts[row, N_ONE], counts[row, N_PAIRS] = ones, pairs
        counts[row, LONGEST], counts[row, FOREIGN_RUN] = longest, most
    return counts


@kernel
def longest_runs(
    text: NDArray[np.uint8],
    text_offsets: NDArray[np.int64],
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return, for the rows `rows`, the longest run of one-letter tokens and that of bytes in hexadecimal digits.

    Symbols and digits between one-letter tokens do not end their run. Shape int64 [len(rows), 2].
    """
    runs = np.zeros((len(rows), 2), np.int64)
    for i in range(len(rows)):
        letters, pairs = 0, 0
        for token in range(offsets[rows[i]], offsets[rows[i] + 1]):
            at, length = text_offsets[rows[i]] + starts[token], np.int64(ends[token]) - np.int64(starts[token])
            first = text[at]
            is_letter = (length == 1 and _A <= first <= _Z) or (length == 2 and first >= 0xC0)
            letters = letters + 1 if is_letter else letters if length == 1 else 0
            pairs = pairs + 1 if _is_code(text, at, length) else 0
            runs[i, LETTER_RUN], runs[i, PAIR_RUN] = max(runs[i, LETTER_RUN], letters), max(runs[i, PAIR_RUN], pairs)
    return runs


@leaf
def _is_code(text: NDArray[np.uint8], at: Any, length: Any) -> Any:
    """Return whether a token is a byte in hexadecimal digits: 4a, x4a or 0x4a."""
    is_bare = length == 2
    is_marked = (length == 3 and text[at] == _X) or (length == 4 and text[at] == _ZERO and text[at + 1] == _X)
    return (is_bare or is_marked) and _is_hex(text[at + length - 2]) and _is_hex(text[at + length - 1])


@leaf
def _has_digit(text: NDArray[np.uint8], at: Any, length: Any) -> Any:
    found = False
    for i in range(at, at + np.uintp(length)):
        found |= _ZERO <= text[i] <= _NINE
    return found


@leaf
def _is_hex(byte: Any) -> Any:
    return (_ZERO <= byte <= _NINE) or (_A <= byte <= _F)


@kernel
def count_points(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], rows: NDArray[np.int64], kinds: NDArray[np.uint8]
) -> NDArray[np.int32]:
    """Return, for the rows `rows` of text as read, N_MIXED to N_HIDDEN: int32 [len(rows), 6].

    N_MIXED counts words of ASCII letters and letters that look like others, N_WHOLE words of nothing but strict
    look-alikes (two or more), N_FOREIGN all words without an ASCII letter, N_MARKS marks on ASCII letters,
    N_COMPATIBLE other forms of ASCII letters and digits, N_HIDDEN ignorable characters right behind an ASCII letter.
    """
    counts = np.zeros((len(rows), 6), np.int32)
    for i in range(len(rows)):
        at, end = np.uintp(offsets[rows[i]]), np.uintp(offsets[rows[i] + 1])
        n_ascii, n_readable, n_strict, n_letters, before = 0, 0, 0, 0, np.int64(0)
        while at <= end:
            # One step beyond the end closes the last word.
            kind, width = np.int64(0), np.uintp(1)
            if at < end:
                point, width = code_point(data, at)
                kind = np.int64(kinds[point])
            at += width
            if kind & (WORD_PART | ASCII_LETTER | READABLE):
                n_letters += 1
                n_ascii += (kind & ASCII_LETTER) != 0
                n_readable += (kind & READABLE) != 0
                n_strict += (kind & STRICT) != 0
            elif not kind & (MARK_POINT | HIDDEN):
                counts[i, N_MIXED] += n_ascii > 0 and n_readable > 0
                counts[i, N_WHOLE] += n_strict > 1 and n_strict == n_letters
                counts[i, N_FOREIGN] += n_letters > 1 and n_ascii == 0
                n_ascii, n_readable, n_strict, n_letters = 0, 0, 0, 0
            counts[i, N_COMPATIBLE] += (kind & COMPATIBLE) != 0
            counts[i, N_MARKS] += (kind & MARK_POINT) != 0 and (before & ASCII_LETTER) != 0
            counts[i, N_HIDDEN] += (kind & HIDDEN) != 0 and (before & ASCII_LETTER) != 0
            # Marks and hidden characters in a row all belong to the letter before them.
            before = before if kind & (MARK_POINT | HIDDEN) else kind
    return counts
