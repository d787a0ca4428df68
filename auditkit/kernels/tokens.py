"""Folded UTF-8 text -> canonical text and token hashes, over Arrow string buffers.

Two passes over the bytes: the first counts tokens and output bytes per row, the second writes into arrays of just that
size. A byte below 0x80 is its own code point, so ASCII text takes the short branch of one and the same code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel
from auditkit.kernels.hashing import FNV_OFFSET, FNV_PRIME, finish

#: Classes of code points (text/unicode.py makes the table).
SEPARATOR, WORD, SYMBOL, NO_SPACE, IGNORED, MARK = 0, 1, 2, 3, 4, 5


@kernel
def _code_point(data: NDArray[np.uint8], at: Any) -> tuple[Any, int]:
    """Return the code point at byte `at` of valid UTF-8, and its length in bytes."""
    first = np.int64(data[at])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return ((first & 0x1F) << 6) | (np.int64(data[at + 1]) & 0x3F), 2
    if first < 0xF0:
        return ((first & 0x0F) << 12) | ((np.int64(data[at + 1]) & 0x3F) << 6) | (np.int64(data[at + 2]) & 0x3F), 3
    high = ((first & 0x07) << 18) | ((np.int64(data[at + 1]) & 0x3F) << 12)
    return high | ((np.int64(data[at + 2]) & 0x3F) << 6) | (np.int64(data[at + 3]) & 0x3F), 4


@kernel
def count_tokens(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], classes: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, per row, the number of tokens and of canonical bytes. Two arrays of shape [n_rows]."""
    n_rows = len(offsets) - 1
    n_tokens, n_bytes = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64)
    for row in range(n_rows):
        tokens, size, in_word, last = 0, 0, False, np.int64(SEPARATOR)
        at, end = offsets[row], offsets[row + 1]
        while at < end:
            point, width = _code_point(data, at)
            kind = np.int64(classes[point])
            if kind == WORD or (kind == MARK and in_word):
                if not in_word:
                    size += 1 if tokens > 0 else 0
                    tokens += 1
                    in_word, last = True, kind
                size += width
            elif kind == SYMBOL or kind == NO_SPACE:
                size += width + (1 if tokens > 0 and not (kind == NO_SPACE and last == NO_SPACE) else 0)
                tokens += 1
                in_word, last = False, kind
            elif kind == SEPARATOR:
                in_word = False
            at += width
        n_tokens[row], n_bytes[row] = tokens, size
    return n_tokens, n_bytes


@kernel
def fill_tokens(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    classes: NDArray[np.uint8],
    token_offsets: NDArray[np.int64],
    text_offsets: NDArray[np.int64],
    text: NDArray[np.uint8],
    hashes: NDArray[np.uint64],
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    first_row: int,
    last_row: int,
) -> None:
    """Write canonical text, token hashes, and token bounds (bytes from the row's canonical start) of some rows.

    Tokens are joined by one space, except two neighbours of a script without spaces, which stand side by side.
    """
    for row in range(first_row, last_row):
        token, out, in_word, last = token_offsets[row] - 1, text_offsets[row], False, np.int64(SEPARATOR)
        base, first = out, token + 1
        value = FNV_OFFSET
        at, end = offsets[row], offsets[row + 1]
        while at < end:
            point, width = _code_point(data, at)
            kind = np.int64(classes[point])
            if kind == WORD or kind == SYMBOL or kind == NO_SPACE or (kind == MARK and in_word):
                is_new = not in_word or (kind != WORD and kind != MARK)
                if is_new:
                    if token >= first:
                        hashes[token] = finish(value)
                        ends[token] = out - base
                        if not (kind == NO_SPACE and last == NO_SPACE):
                            text[out] = 32
                            out += 1
                    token += 1
                    starts[token] = out - base
                    value = FNV_OFFSET
                    in_word, last = kind == WORD, kind
                for i in range(width):
                    byte = data[at + i]
                    if width == 1 and 65 <= byte <= 90:
                        byte = np.uint8(byte + 32)
                    text[out] = byte
                    out += 1
                    value = (value ^ np.uint64(byte)) * FNV_PRIME
            elif kind == SEPARATOR:
                in_word = False
            at += width
        if token >= first:
            hashes[token] = finish(value)
            ends[token] = out - base


@kernel
def are_ascii(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return per row whether all its bytes are below 0x80. Shape [n_rows]."""
    n_rows = len(offsets) - 1
    result = np.ones(n_rows, np.bool_)
    for row in range(n_rows):
        any_high = np.uint8(0)
        for at in range(offsets[row], offsets[row + 1]):
            any_high |= data[at]
        result[row] = any_high < 0x80
    return result


@kernel
def hash_bytes(data: NDArray[np.uint8]) -> Any:
    """Return token_hash of one token's UTF-8 bytes."""
    value = FNV_OFFSET
    for i in range(len(data)):
        value = (value ^ np.uint64(data[i])) * FNV_PRIME
    return finish(value)
