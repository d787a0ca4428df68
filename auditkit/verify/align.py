"""Where the shared text lies: token ranges of a pair, then characters of the texts as read."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from auditkit.text.spans import Placed
from auditkit.text.unicode import ignored_pattern
from auditkit.verify.decide import Decision


@dataclass(frozen=True)
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


def align(decision: Decision, window: list[str], window_text: str, first: int, item: list[str], item_text: str,
          n_row: int) -> Spans:  # fmt: skip
    """Return the token ranges that a decision rests on.

    Exact and near copies are whole rows. Inside longer rows the range is that of the best alignment of the item
    (rapidfuzz partial_ratio_alignment), widened to whole tokens; a row that is a part of the item is aligned in it.
    """
    whole_row, whole_item = (0, n_row), (0, len(item))
    if decision.tier in ("exact", "near"):
        return Spans(whole_row, whole_item)
    alignment = fuzz.partial_ratio_alignment(item_text, window_text)
    if alignment is None:
        return Spans(whole_row, whole_item)
    in_item = _tokens_between(item, item_text, alignment.src_start, alignment.src_end)
    in_window = _tokens_between(window, window_text, alignment.dest_start, alignment.dest_end)
    if decision.is_partial and n_row < len(item):
        return Spans(whole_row, in_item)
    return Spans((first + in_window[0], first + in_window[1]), in_item)


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


def _tokens_between(tokens: list[str], text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of tokens of which at least half lies in characters [start, end) of the canonical text."""
    middles, at = [], 0
    for token in tokens:
        at = text.index(token, at)
        middles.append(at + (len(token) - 1) / 2)
        at += len(token)
    first, last = bisect_left(middles, start), bisect_right(middles, end - 1)
    return (first, last) if last > first else (0, len(tokens))


def characters(placed: list[Placed], span: tuple[int, int]) -> tuple[int, int]:
    """Return the characters of the text as read that a token range covers."""
    if not placed:
        return 0, 0
    return placed[span[0]].start, placed[span[1] - 1].end


def view_of(text: str) -> str:
    """Return which normalisation a stretch of text needed: canonical, compatibility, invisible, or the last two."""
    if text.isascii():
        return "canonical"
    shown = ignored_pattern().sub("", text)
    is_invisible = len(shown) < len(text)
    is_compatible = unicodedata.normalize("NFKC", shown) != unicodedata.normalize("NFC", shown).replace("\u00a0", " ")
    parts = [name for name, yes in (("compatibility", is_compatible), ("invisible", is_invisible)) if yes]
    return "+".join(parts) or "canonical"


def numbers_differ(row: list[str], item: list[str]) -> bool:
    """Return whether some number of the item (a token with a digit) is missing from the row, counted with repeats."""
    return not _numbers(item) <= _numbers(row)


def _numbers(tokens: list[str]) -> Counter[str]:
    return Counter(token for token in tokens if any(char.isdigit() for char in token))
