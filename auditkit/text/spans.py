"""Tokens of one text with their places in the text as read: slow, and only for texts that matched.

Normalisation is not letter by letter (e + combining acute is one letter), so the text is cut where it is safe to cut:
before a character that cannot join what stands before it. Each piece is folded alone and its place kept.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass

from auditkit.kernels import tokens as kernels
from auditkit.text.normalise import fold
from auditkit.text.unicode import classes

#: Words, and the symbols among ASCII characters; the rest divides.
_ASCII_TOKEN = re.compile(r"[0-9a-z]+|[$+<=>^`|~]")


@dataclass(frozen=True)
class Placed:
    """One token and the characters [start, end) of the text as read that it comes from."""

    token: str
    start: int
    end: int


@functools.lru_cache(maxsize=1)
def _joining() -> frozenset[str]:
    """Return the starters that compose with what stands before them (Hangul vowels and finals, some Indic signs)."""
    seconds = {chr(point) for point in range(0x1161, 0x1200)}
    for point in range(0x32400):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            seconds.add(chr(int(parts[1], 16)))
    return frozenset(seconds)


def _pieces(text: str) -> list[tuple[str, int, int]]:
    """Return (piece, start, end) for the safe cuts of `text`."""
    joining, table = _joining(), classes()
    starts = [
        i
        for i, char in enumerate(text)
        if i == 0
        or not (
            unicodedata.combining(char)
            or char in joining
            or table[ord(char)] == kernels.IGNORED
            # A compatibility character can decompose to a mark or a jamo that joins.
            or (folded := unicodedata.normalize("NFKD", char))[:1] in joining
            or (folded and unicodedata.combining(folded[0]))
        )
    ]
    ends = [*starts[1:], len(text)]
    return [(text[a:b], a, b) for a, b in zip(starts, ends, strict=True)]


def place(text: str) -> list[Placed]:
    """Return the tokens of `text` in order, each with its characters in the text as read."""
    if text.isascii():
        return [Placed(m.group(), m.start(), m.end()) for m in _ASCII_TOKEN.finditer(text.lower())]
    table, result, in_word = classes(), list[Placed](), False
    for piece, start, end in _pieces(text):
        for char in fold(piece):
            kind = int(table[ord(char)])
            if in_word and kind in (kernels.WORD, kernels.MARK):
                last = result[-1]
                result[-1] = Placed(last.token + char, last.start, end)
            elif kind in (kernels.WORD, kernels.SYMBOL, kernels.NO_SPACE):
                result.append(Placed(char, start, end))
                in_word = kind == kernels.WORD
            elif kind == kernels.SEPARATOR:
                in_word = False
    return result
