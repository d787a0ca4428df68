"""Text -> canonical text and token hashes, over Arrow string buffers.

ASCII text is taken as it is, other text is folded first (kernels/folding.py). Both go in two passes over the bytes: one
counts tokens and canonical bytes per row, the other writes into arrays of just that size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf
from auditkit.kernels.hashing import FNV_OFFSET, FNV_PRIME, finish
from auditkit.kernels.utf8 import ONE, ZERO, code_point

#: Classes of code points (text/unicode.py makes the table).
SEPARATOR, WORD, SYMBOL, NO_SPACE, IGNORED, MARK = 0, 1, 2, 3, 4, 5

SPACE = 32
LOWER = np.array([byte + 32 if 65 <= byte <= 90 else byte for byte in range(128)], np.uint8)


class TokenArrays(NamedTuple):
    """Where the kernels write the tokens of n rows: the arrays of text.normalise.Tokens, in its order."""

    text: NDArray[np.uint8]
    text_offsets: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    offsets: NDArray[np.int64]


@kernel
def count_ascii(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], classes: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return, per row, the number of tokens, that of canonical bytes, and whether the row is ASCII.

    Returns:
        Three arrays of shape [n_rows]; the numbers mean nothing where a row is not ASCII.
    """
    n_rows = len(offsets) - 1
    n_tokens, n_bytes, is_ascii = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.empty(n_rows, np.bool_)
    for row in range(n_rows):
        tokens, size, was_word, any_high = 0, 0, False, np.uint8(0)
        for at in range(np.uintp(offsets[row]), np.uintp(offsets[row + 1])):
            byte = data[at]
            kind = classes[byte]
            is_token, is_word = kind != SEPARATOR, kind == WORD
            # Without `and` there is no jump to predict, and the loop is compiled to vector instructions.
            tokens += is_token & (not (is_word & was_word))
            size += is_token
            was_word = is_word
            any_high |= byte
        n_tokens[row], n_bytes[row], is_ascii[row] = tokens, size + max(tokens - 1, 0), any_high < 0x80
    return n_tokens, n_bytes, is_ascii


@leaf
def fill_ascii(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    classes: NDArray[np.uint8],
    out: TokenArrays,
) -> None:
    """Write the tokens of the ASCII rows `rows` of data[offsets[row]:offsets[row + 1]] to `out`."""
    for row in rows:
        at, end = np.uintp(offsets[row]), np.uintp(offsets[row + 1])
        token, byte_at = np.uintp(out.offsets[row]), np.uintp(out.text_offsets[row])
        first, base = token, byte_at
        while at < end:
            kind = classes[data[at]]
            if kind == SEPARATOR:
                at += ONE
                continue
            if token > first:
                out.text[byte_at] = SPACE
                byte_at += ONE
            out.starts[token] = byte_at - base
            value, is_inside = FNV_OFFSET, True
            while is_inside:
                byte = LOWER[data[at]]
                out.text[byte_at] = byte
                value = (value ^ np.uint64(byte)) * FNV_PRIME
                at += ONE
                byte_at += ONE
                is_inside = bool(kind == WORD and at < end and classes[data[at]] == WORD)
            out.hashes[token] = finish(value)
            out.ends[token] = byte_at - base
            token += ONE


@leaf
def _next_token(data: NDArray[np.uint8], at: Any, end: Any, classes: NDArray[np.uint8]) -> tuple[Any, Any, Any]:
    """Return the bounds and the class of the first token in data[at:end]; the class is SEPARATOR if there is none."""
    while at < end:
        point, width = code_point(data, at)
        kind = classes[point]
        if kind == WORD:
            return at, _word_end(data, at + width, end, classes), kind
        if kind == SYMBOL or kind == NO_SPACE:
            return at, at + width, kind
        at += width
    return at, at, np.uint8(SEPARATOR)


@leaf
def _word_end(data: NDArray[np.uint8], at: Any, end: Any, classes: NDArray[np.uint8]) -> Any:
    while at < end:
        point, width = code_point(data, at)
        kind = classes[point]
        if kind != WORD and kind != MARK:
            return at
        at += width
    return at


@kernel
def count_tokens(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], classes: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, per row of folded text, the number of tokens and of canonical bytes. Two arrays of shape [n_rows]."""
    n_rows = len(offsets) - 1
    n_tokens, n_bytes = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    for row in range(n_rows):
        tokens, size, last = 0, ZERO, np.uint8(SEPARATOR)
        end = np.uintp(offsets[row + 1])
        start, stop, kind = _next_token(data, np.uintp(offsets[row]), end, classes)
        while kind != SEPARATOR:
            if tokens > 0 and not (kind == NO_SPACE and last == NO_SPACE):
                size += ONE
            size += stop - start
            tokens += 1
            last = kind
            start, stop, kind = _next_token(data, stop, end, classes)
        n_tokens[row], n_bytes[row] = tokens, size
    return n_tokens, n_bytes


@leaf
def fill_tokens(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    classes: NDArray[np.uint8],
    out: TokenArrays,
) -> None:
    """Write the tokens of folded text data[offsets[i]:offsets[i + 1]] to `out` as those of rows[i].

    Tokens are joined by one space, except two neighbours of a script without spaces, which stand side by side.
    """
    for i in range(len(rows)):
        row, last = rows[i], np.uint8(SEPARATOR)
        token, byte_at = np.uintp(out.offsets[row]), np.uintp(out.text_offsets[row])
        first, base = token, byte_at
        end = np.uintp(offsets[i + 1])
        start, stop, kind = _next_token(data, np.uintp(offsets[i]), end, classes)
        while kind != SEPARATOR:
            if token > first and not (kind == NO_SPACE and last == NO_SPACE):
                out.text[byte_at] = SPACE
                byte_at += ONE
            out.starts[token] = byte_at - base
            value = FNV_OFFSET
            for at in range(start, stop):
                out.text[byte_at] = data[at]
                byte_at += ONE
                value = (value ^ np.uint64(data[at])) * FNV_PRIME
            out.hashes[token] = finish(value)
            out.ends[token] = byte_at - base
            token += ONE
            last = kind
            start, stop, kind = _next_token(data, stop, end, classes)


@leaf
def hash_bytes(data: NDArray[np.uint8]) -> Any:
    """Return token_hash of one token's UTF-8 bytes."""
    value = FNV_OFFSET
    for i in range(len(data)):
        value = (value ^ np.uint64(data[i])) * FNV_PRIME
    return finish(value)
