"""Where the shared text of one pair lies: ranges of tokens; and which view of the text as read showed it."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from auditkit.text.unicode import ignored_pattern

#: Where tokens start and end in a canonical text, in characters: int64 [n_tokens] each.
Letters = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Spans:
    """Token ranges, half open: of the row (from its first token) and of the item."""

    row: tuple[int, int]
    item: tuple[int, int]


def stands_at(needle: NDArray[np.uint64], tokens: NDArray[np.uint64]) -> int:
    """Return the first place at which `needle` stands in `tokens` (hashes of both), or -1."""
    last = len(tokens) - len(needle)
    if len(needle) == 0 or last < 0:
        return -1
    starts = np.flatnonzero(tokens[: last + 1] == needle[0])
    return next((int(at) for at in starts if np.array_equal(tokens[at : at + len(needle)], needle)), -1)


def tokens_between(letters: Letters, start: int, end: int) -> tuple[int, int]:
    """Return the range of tokens of which at least half lies in characters [start, end), or all where none does."""
    middles = ((letters[0] + letters[1] - 1) / 2).tolist()
    first, last = bisect_left(middles, start), bisect_right(middles, end - 1)
    return (first, last) if last > first else (0, len(middles))


@dataclass(frozen=True)
class TokenAlignment:
    """The longest common subsequence of a window's and an item's tokens.

    Attributes:
        share: its length as a share of the shorter one.
        spans: from its first to its last token, in the window and in the item.
    """

    share: float
    spans: Spans


def align_tokens(window: NDArray[np.uint64], item: NDArray[np.uint64]) -> TokenAlignment:
    """Return the alignment of two long token sequences (rapidfuzz LCSseq, bit-parallel)."""
    left, right = window.tolist(), item.tolist()
    equal = [op for op in LCSseq.opcodes(left, right) if op.tag == "equal"]
    shorter = min(len(left), len(right))
    if not equal:
        return TokenAlignment(0.0, Spans((0, len(left)), (0, len(right))))
    length = sum(op.src_end - op.src_start for op in equal)
    first, last = equal[0], equal[-1]
    spans = Spans((first.src_start, last.src_end), (first.dest_start, last.dest_end))
    return TokenAlignment(length / shorter, spans)


def kept(item_text: str, window_text: str) -> float:
    """Return which share of the shorter text's characters its best stretch of the longer one has, in order.

    partial_ratio also compares with stretches cut short at either end, so that a shared beginning scores high: "how to
    make" against "how to make soup". What is kept of the shorter text tells the two apart.
    """
    alignment = fuzz.partial_ratio_alignment(item_text, window_text)
    shorter = min(len(item_text), len(window_text))
    if alignment is None or shorter == 0:
        return 0.0
    item = item_text[alignment.src_start : alignment.src_end]
    window = window_text[alignment.dest_start : alignment.dest_end]
    return float(LCSseq.similarity(item, window)) / shorter


def view_of(text: str) -> str:
    """Return which normalisation a stretch of text needed: canonical, compatibility, invisible, or the last two."""
    if text.isascii():
        return "canonical"
    shown = ignored_pattern().sub("", text)
    is_invisible = len(shown) < len(text)
    is_compatible = unicodedata.normalize("NFKC", shown) != unicodedata.normalize("NFC", shown).replace("\u00a0", " ")
    parts = [name for name, yes in (("compatibility", is_compatible), ("invisible", is_invisible)) if yes]
    return "+".join(parts) or "canonical"


def numbers_differ(row: NDArray[np.uint64], numbers: NDArray[np.uint64]) -> bool:
    """Return whether some number of an item is missing from the row, counted with repeats.

    Args:
        row: token hashes of the row.
        numbers: token hashes of the item's numbers.
    """
    wanted = Counter(numbers.tolist())
    return any(np.count_nonzero(row == number) < n for number, n in wanted.items())
