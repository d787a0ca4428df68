"""Case folding and compatibility normalisation: of a text by Python's Unicode tables, of many rows by a kernel.

`fold` is the rule. Nearly all code points fold by themselves, whatever stands beside them; rows of such code points are
folded by a table of them, without the GIL, and the others by the rule.
"""

from __future__ import annotations

import functools
import unicodedata

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels import folding as kernels
from auditkit.kernels.folding import (
    BY_CONTEXT,
    ENDS_IN_MARK,
    FIRST,
    INVISIBLE,
    NEEDS_CONTEXT,
    SECOND,
    STARTER,
    FoldTable,
)
from auditkit.kernels.tokens import IGNORED
from auditkit.text.unicode import ASSIGNED_END, classes, ignored_pattern

N_POINTS = 0x110000

#: Hangul composes by arithmetic, not by decompositions that are listed (Unicode 3.12): L + V, LV + T.
JAMO_FIRSTS, JAMO_SECONDS = range(0x1100, 0x1113), (range(0x1161, 0x1176), range(0x11A8, 0x11C3))
HANGUL = range(0xAC00, 0xD7A4)


def fold(text: str) -> str:
    """Return `text` without ignorable characters, in NFKC, case folded (Unicode 3.13, D146, toNFKC_Casefold)."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", ignored_pattern().sub("", text)).casefold()
    # Folding can undo composition, and NFKC can bring ignorables back (U+FFA0 becomes U+1160).
    return ignored_pattern().sub("", unicodedata.normalize("NFKC", text))


def fold_rows(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the folded UTF-8 of the rows `rows` of data[offsets[row]:offsets[row + 1]].

    Returns:
        Bytes, uint8 [n_bytes], and where each row starts in them, int64 [len(rows) + 1].
    """
    begins, ends = offsets[rows], offsets[rows + 1]
    if len(rows) == 0:  # a pool of ASCII does without the table
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    sizes = kernels.folded_sizes(data, begins, ends, fold_table())
    alone, together = np.flatnonzero(sizes != BY_CONTEXT), np.flatnonzero(sizes == BY_CONTEXT)
    texts = [fold(data[a:b].tobytes().decode()).encode() for a, b in zip(begins[together], ends[together], strict=True)]
    sizes[together] = [len(text) for text in texts]
    places = bounds_of(sizes)
    folded = np.empty(places[-1], np.uint8)
    kernels.fold_rows(data, begins[alone], ends[alone], fold_table(), folded, places[alone])
    for i, text in zip(together, texts, strict=True):
        folded[places[i] : places[i + 1]] = np.frombuffer(text, np.uint8)
    return folded, places


def bounds_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of some stretches of these sizes, put side by side, starts, and the end: int64 [n + 1]."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


@functools.lru_cache(maxsize=1)
def fold_table() -> FoldTable:
    """Return what each code point folds to by itself, and how it joins its neighbours. Made in less than 0.1 s."""
    special = _special()
    firsts, seconds = _compositions(special)
    joins, composes = np.full(N_POINTS, STARTER, np.uint8), np.zeros(N_POINTS, np.uint8)
    sizes, text = np.zeros(N_POINTS, np.uint32), bytearray()
    for char in sorted({*special, *firsts, *seconds}):
        point, folded, forms = ord(char), fold(char), _forms(char)
        joins[point] = _joins(char, forms, seconds)
        is_first = any(c in firsts for c in "".join(forms))
        composes[point] = (FIRST if is_first else 0) | (SECOND if char in seconds else 0)
        if folded != char:
            text += folded.encode()
            sizes[point] = len(folded.encode())
    composes[HANGUL.start : HANGUL.stop] = FIRST
    joins[classes() == IGNORED] = INVISIBLE
    starts = np.concatenate([np.zeros(1, np.uint32), np.cumsum(sizes, dtype=np.uint32)])
    return FoldTable(joins, composes, starts, np.frombuffer(bytes(text), np.uint8))


def _special() -> list[str]:
    """Return the characters that are marks, or that decomposition or case folding changes."""
    return [
        char
        for char in map(chr, range(ASSIGNED_END))
        if unicodedata.decomposition(char) or unicodedata.combining(char) or char.casefold() != char
    ]


def _compositions(special: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the characters that compose with one behind them, and those that compose with one before them."""
    pairs = [
        unicodedata.decomposition(char).split()
        for char in special
        # NFC undoes a character that is excluded from composition.
        if not unicodedata.decomposition(char).startswith("<") and unicodedata.normalize("NFC", char) == char
    ]
    listed = [(chr(int(pair[0], 16)), chr(int(pair[1], 16))) for pair in pairs if len(pair) == 2]
    firsts = {first for first, _ in listed} | {chr(point) for point in JAMO_FIRSTS}
    seconds = {second for _, second in listed} | {chr(point) for points in JAMO_SECONDS for point in points}
    return frozenset(firsts), frozenset(seconds)


def _forms(char: str) -> tuple[str, str]:
    """Return `char` as NFKC decomposes it before, and after, its case is folded."""
    folded = unicodedata.normalize("NFKC", char).casefold()
    return unicodedata.normalize("NFKD", char), unicodedata.normalize("NFKD", folded)


def _joins(char: str, forms: tuple[str, str], seconds: frozenset[str]) -> int:
    """Return how `char`, decomposed to `forms`, joins its neighbours."""
    if forms == (char, char):
        return unicodedata.combining(char)
    if any(form[0] in seconds or unicodedata.combining(form[0]) for form in forms):
        return NEEDS_CONTEXT
    return ENDS_IN_MARK if any(unicodedata.combining(form[-1]) for form in forms) else STARTER
