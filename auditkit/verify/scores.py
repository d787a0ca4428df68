"""How alike rows and items are, many pairs at a time: rapidfuzz on canonical texts, without the GIL.

Most candidates reach no rule. Each measure first gives up, by an upper bound, the pairs that cannot reach the least
threshold of any rule; the rest is measured exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

from auditkit.verify.align import align_tokens
from auditkit.verify.rules import Rules
from auditkit.verify.windows import Windows

#: Texts of more tokens are compared token by token inside longer rows.
LONG_TOKENS = 96

#: Rows this many times as long as the item (or as short) are not compared as a whole: they cannot reach any near rule.
WHOLE_ROW_FACTOR = 3

#: A bound this far below a threshold loses none: scores are rounded to nine decimals, and rapidfuzz 3.14 gives up some
#: pairs exactly at its cutoff (fuzz) or within 1e-7 above it (Indel.normalized_similarity).
SLACK = 1e-6


@dataclass(frozen=True)
class Scores:
    """Scores of n windows, 0 where not asked for and where no rule can be reached.

    Attributes:
        ratio, token_sort: similarity of row and item in [0, 1]: float64 [n].
        partial: similarity of the item and its best stretch of the window (or of the window and its best stretch of the
            item, whichever is shorter): float64 [n].
    """

    ratio: NDArray[np.float64]
    token_sort: NDArray[np.float64]
    partial: NDArray[np.float64]


def score(windows: Windows, at: NDArray[np.int64]) -> Scores:
    """Return the scores of the windows `at`."""
    rules = windows.prepared.rules
    ratio, token_sort = whole_rows(windows, at, least_near(rules))
    return Scores(ratio, token_sort, _partial(windows, at, least_partial(rules)))


def least_near(rules: Rules) -> float:
    """Return the ratio or token_sort from which some rule of whole rows is reached."""
    near = rules.near
    return min(near.ratio, near.token_sort, near.common_ratio, near.review_ratio, near.short_ratio)


def least_partial(rules: Rules) -> float:
    """Return the partial ratio from which some rule is reached."""
    return min(rules.contained.ratio, rules.contained.review_ratio)


# ---------------------------------------------------------------- whole rows


def whole_rows(
    windows: Windows, at: NDArray[np.int64], least: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ratio and token_sort of rows and items of the windows `at`: float64 [n] each, 0 below `least`.

    Two texts of a and b characters have at most ratio 2 min(a, b) / (a + b), in whatever order their words stand.
    """
    ratio, token_sort = np.zeros(len(windows)), np.zeros(len(windows))
    n_row, n_item = windows.n_row[at], windows.n_item[at]
    at = at[(n_row <= WHOLE_ROW_FACTOR * n_item) & (n_item <= WHOLE_ROW_FACTOR * n_row)]
    unspaced = windows.are_unspaced[at]
    # Texts of unspaced scripts are measured below, without their spaces.
    at = at[unspaced | _are_as_long(windows.row_letters(at), windows.prepared.n_characters[windows.text[at]], least)]
    rows, items, unspaced = windows.row_texts(at), windows.item_texts(at), windows.are_unspaced[at]
    mine, theirs = joined(rows, unspaced), joined(items, unspaced)
    close = _are_as_long(lengths(mine), lengths(theirs), least)
    ratio[at[close]] = _similarity_from(least, only(mine, close), only(theirs, close))
    # Sorting the single characters of an unspaced script would make all anagrams equal.
    close &= ~unspaced
    token_sort[at[close]] = _similarity_from(least, by_word(only(rows, close)), by_word(only(items, close)))
    return ratio, token_sort


def _are_as_long(a: NDArray[np.int64], b: NDArray[np.int64], least: float) -> NDArray[np.bool_]:
    """Return which texts of a and b characters can have this ratio."""
    result: NDArray[np.bool_] = 2 * np.minimum(a, b) >= (least - SLACK) * (a + b)
    return result


def joined(texts: list[str], is_unspaced: NDArray[np.bool_]) -> list[str]:
    """Return the texts; those of unspaced scripts without the spaces that a letter of another script brings in."""
    return [text.replace(" ", "") if yes else text for text, yes in zip(texts, is_unspaced.tolist(), strict=True)]


def by_word(texts: list[str]) -> list[str]:
    """Return the texts with their words in alphabetical order (rapidfuzz's token_sort of canonical texts)."""
    known = {text: " ".join(sorted(text.split())) for text in dict.fromkeys(texts)}
    return [known[text] for text in texts]


def _similarity_from(least: float, left: list[str], right: list[str]) -> NDArray[np.float64]:
    """Return the similarity of each pair, 0 for those below `least`, which are given up early."""
    cut = 100 * max(0.0, least - SLACK)
    is_reached = process.cpdist(left, right, scorer=fuzz.ratio, score_cutoff=cut, dtype=np.float64) >= cut
    result = np.zeros(len(left))
    result[is_reached] = similarity(only(left, is_reached), only(right, is_reached))
    return result


def similarity(left: list[str], right: list[str]) -> NDArray[np.float64]:
    """Return rapidfuzz's ratio / 100: 1 - Indel distance / summed length, of integers and so exact at a threshold."""
    distance = process.cpdist(left, right, scorer=Indel.distance, dtype=np.int64)
    total = lengths(left) + lengths(right)
    result: NDArray[np.float64] = np.round((total - distance) / np.maximum(total, 1), 9)
    return result


# ---------------------------------------------------------------- stretches


def _partial(windows: Windows, at: NDArray[np.int64], least: float) -> NDArray[np.float64]:
    """Return how like the shorter one and its best stretch of the longer one are: float64 [n], 0 below `least`.

    rapidfuzz's partial_ratio / 100 of the canonical texts; for texts of more than LONG_TOKENS, where its cost grows
    with the third power, the share of the shorter one's tokens that the other has in the same order.
    """
    partial = np.zeros(len(windows))
    n_window, n_item, shared = windows.n_window[at], windows.n_item[at], windows.shared[at]
    is_part = (n_window < n_item) & (4 * shared >= 3 * n_window) & (10 * shared >= 3 * n_item)
    at = at[(2 * shared >= n_item) | is_part]
    # A run as long as the shorter one is all of it, unchanged.
    is_whole = windows.runs[at, 0] == windows.n_shorter[at]
    partial[at[is_whole]] = 1.0
    at = at[~is_whole]
    is_long = windows.n_shorter[at] > LONG_TOKENS
    _score_long(windows, at[is_long], least, partial)
    _score_short(windows, at[~is_long], least, partial)
    return np.round(partial, 9)


def _score_long(windows: Windows, at: NDArray[np.int64], least: float, partial: NDArray[np.float64]) -> None:
    """Write the share of tokens in order; no more than the shared ones can stand in order."""
    at = at[windows.shared[at] >= (least - SLACK) * windows.n_shorter[at]]
    hashes, offsets = windows.tokens.hashes, windows.tokens.offsets
    for i in at.tolist():
        base = offsets[windows.unit[i]]
        window = hashes[base + windows.first[i] : base + windows.last[i]]
        partial[i] = align_tokens(window, windows.prepared.tokens(int(windows.text[i]))).share


def _score_short(windows: Windows, at: NDArray[np.int64], least: float, partial: NDArray[np.float64]) -> None:
    """Write partial_ratio, where the letters in order allow it.

    A stretch of l characters and a text of m have ratio 2 L / (l + m), with L letters in order. L is at most l, so
    ratio >= t needs L >= t m / (2 - t); and all of the longer text has at least the letters of its stretch.
    """
    at = at[have_in_order(windows, at, least / (2 - least))]
    cut = 100 * max(0.0, least - SLACK)
    scores = process.cpdist(
        windows.window_texts(at), windows.item_texts(at), scorer=fuzz.partial_ratio, score_cutoff=cut, dtype=np.float64
    )
    partial[at] = scores / 100


def have_in_order(windows: Windows, at: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Return which windows `at` have this share of the shorter text's letters in the same order: bool [n]."""
    letters, n_shorter = windows.letters_in_order(at)
    reached: NDArray[np.bool_] = letters >= (share - SLACK) * n_shorter
    return reached


def lengths(texts: list[str]) -> NDArray[np.int64]:
    """Return the characters of each text: int64 [n]."""
    return np.array([len(text) for text in texts], np.int64)


def only(texts: list[str], where: NDArray[np.bool_]) -> list[str]:
    """Return the texts for which `where` holds."""
    return list(compress(texts, where.tolist()))
