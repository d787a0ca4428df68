"""What each code point is to auditkit, by its Unicode category.

Letters, numbers and marks make words; symbols (emoji, currency, operators) are tokens of their own; punctuation,
separators and controls divide; format characters and other default-ignorable ones vanish. In scripts written without
spaces every character is a token, so that an item inside a longer row can be found.
"""

from __future__ import annotations

import functools
import re
import unicodedata

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.tokens import IGNORED, MARK, NO_SPACE, SEPARATOR, SYMBOL, WORD

#: Blocks of scripts without spaces between words, as half-open ranges of code points.
NO_SPACE_RANGES: tuple[tuple[int, int], ...] = (
    (0x0E00, 0x0E80),  # Thai
    (0x0E80, 0x0F00),  # Lao
    (0x1000, 0x10A0),  # Myanmar
    (0x1780, 0x1800),  # Khmer
    (0x19E0, 0x1A00),  # Khmer symbols
    (0xA9E0, 0xAA00),  # Myanmar extended B
    (0xAA60, 0xAA80),  # Myanmar extended A
    (0x2E80, 0x2FE0),  # Han radicals
    (0x3005, 0x3008),  # Han iteration marks
    (0x3021, 0x302A),  # Hangzhou numerals
    (0x3038, 0x303C),  # Han numerals and iteration marks
    (0x3040, 0x3130),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31C0),  # Bopomofo extended
    (0x31F0, 0x3200),  # Katakana phonetic extensions
    (0x3400, 0x4DC0),  # Han extension A
    (0x4E00, 0xA000),  # Han
    (0xF900, 0xFB00),  # Han compatibility
    (0x1B000, 0x1B170),  # Kana supplements
    (0x20000, 0x323B0),  # Han extensions B to H
)

#: Default-ignorable code points that are not format characters (category Cf).
EXTRA_IGNORED: tuple[int, ...] = (
    0x034F,
    0x115F,
    0x1160,
    0x17B4,
    0x17B5,
    0x180B,
    0x180C,
    0x180D,
    0x180F,
    0x3164,
    0xFFA0,
)
#: Variation selectors, and the code points that Unicode reserves as ignorable: a viewer shows nothing for them either.
IGNORED_RANGES: tuple[tuple[int, int], ...] = (
    (0x2065, 0x2066),
    (0xFE00, 0xFE10),
    (0xFFF0, 0xFFF9),
    (0xE0000, 0xE1000),
)

_BY_CATEGORY = {"L": WORD, "N": WORD, "M": MARK, "S": SYMBOL, "P": SEPARATOR, "Z": SEPARATOR}
#: Planes 4 to 13 are unassigned; above lie tags, variation selectors and private use.
ASSIGNED_END = 0x32400


def _class_of(point: int) -> int:
    category = unicodedata.category(chr(point))
    if category == "Cf":
        return IGNORED
    if category == "Cc":
        return SEPARATOR
    # Unassigned and private characters are kept as symbols: dropping them could make two different texts equal.
    return _BY_CATEGORY.get(category[0], SYMBOL)


@functools.lru_cache(maxsize=1)
def classes() -> NDArray[np.uint8]:
    """Return the class of every code point: uint8 of shape [0x110000]."""
    table = np.full(0x110000, SYMBOL, np.uint8)
    for first, end in ((0, ASSIGNED_END), (0xE0000, 0xE0200)):
        table[first:end] = [_class_of(point) for point in range(first, end)]
    for first, end in NO_SPACE_RANGES:
        block = table[first:end]
        block[(block == WORD) | (block == MARK)] = NO_SPACE
    table[list(EXTRA_IGNORED)] = IGNORED
    for first, end in IGNORED_RANGES:
        table[first:end] = IGNORED
    table.setflags(write=False)
    return table


@functools.lru_cache(maxsize=1)
def ignored_pattern() -> re.Pattern[str]:
    """Return the pattern of all characters that vanish before anything else is done."""
    points = np.flatnonzero(classes() == IGNORED)
    starts = points[np.flatnonzero(np.diff(points, prepend=-2) != 1)]
    ends = points[np.flatnonzero(np.diff(points, append=0x110002) != 1)]
    parts = (f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in zip(starts, ends, strict=True))
    return re.compile("[" + "".join(parts) + "]+")
