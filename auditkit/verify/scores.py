"""Exact similarity of proposed pairs, many at a time: rapidfuzz on canonical texts, as integer distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

from auditkit.kernels.seeds import longest_runs
from auditkit.text.normalise import Tokens
from auditkit.verify.align import align_tokens
from auditkit.verify.items import PreparedItems

#: Texts of more tokens are compared token by token inside longer rows.
LONG_TOKENS = 96

#: Rows this many times as long as the item (or as short) are not compared as a whole: they cannot reach any near rule.
WHOLE_ROW_FACTOR = 3


@dataclass(frozen=True)
class Scores:
    """Scores of n candidates.

    Attributes:
        windows, rows: canonical text of the window, and of the whole row ("" where not compared as a whole).
        ratio, token_sort: similarity of row and item in [0, 1], 0 where not compared: float64 [n].
        partial: similarity of the item and its best stretch of the window (or of the window and its best stretch of the
            item, whichever is shorter), float64 [n].
        runs: longest shared run of tokens: length, first token in the row, first in the item: int64 [n, 3].
    """

    windows: list[str]
    rows: list[str]
    ratio: NDArray[np.float64]
    token_sort: NDArray[np.float64]
    partial: NDArray[np.float64]
    runs: NDArray[np.int64]


def score(candidates: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> Scores:
    """Return the scores of frame tables.CANDIDATES against the texts whose tokens are given."""
    unit, text = candidates["unit"].to_numpy(), candidates["text"].to_numpy()
    n_row, n_item = tokens.lengths[unit], prepared.items.tokens.lengths[text]
    whole = (n_row <= WHOLE_ROW_FACTOR * n_item) & (n_item <= WHOLE_ROW_FACTOR * n_row)
    windows = [tokens.slice(u, a, b) for u, a, b in candidates.select("unit", "first", "last").iter_rows()]
    rows = [tokens.canonical(u) if is_whole else "" for u, is_whole in zip(unit, whole, strict=True)]
    items = [prepared.items.canonicals[t] for t in text]
    is_unspaced = prepared.items.are_unspaced[text]
    # Sorting the single characters of an unspaced script would make all anagrams equal.
    sortable = whole & ~is_unspaced
    sorted_rows = [" ".join(sorted(row.split())) if yes else "" for row, yes in zip(rows, sortable, strict=True)]
    sorted_items = [prepared.sorted_texts[t] for t in text]
    partial = _partial(candidates, windows, items, n_item, tokens, prepared)
    return Scores(
        windows,
        rows,
        similarity(joined(rows, is_unspaced), joined(items, is_unspaced)) * whole,
        similarity(sorted_rows, sorted_items) * sortable,
        partial,
        _runs(candidates, tokens, prepared),
    )


def joined(texts: list[str], is_unspaced: NDArray[np.bool_]) -> list[str]:
    """Return the texts; those of unspaced scripts without the spaces that a letter of another script brings in."""
    return [text.replace(" ", "") if yes else text for text, yes in zip(texts, is_unspaced, strict=True)]


def _partial(
    candidates: pl.DataFrame,
    windows: list[str],
    items: list[str],
    n_item: NDArray[np.int64],
    tokens: Tokens,
    prepared: PreparedItems,
) -> NDArray[np.float64]:
    """Return how like the shorter one and its best stretch of the longer one are; 0 where no rule can be reached.

    rapidfuzz's partial_ratio / 100 of the canonical texts; for texts of more than LONG_TOKENS, where its cost grows
    with the third power, the share of the shorter one's tokens that the other has in the same order.
    """
    n_window = (candidates["last"] - candidates["first"]).to_numpy()
    shared = candidates["shared"].fill_null(1 << 40).to_numpy()
    is_part = (n_window < n_item) & (4 * shared >= 3 * n_window) & (10 * shared >= 3 * n_item)
    is_worth = (2 * shared >= n_item) | is_part
    is_long = is_worth & (np.minimum(n_item, n_window) > LONG_TOKENS)
    rules = prepared.rules.contained
    left = [text if yes else "" for text, yes in zip(windows, is_worth & ~is_long, strict=True)]
    cutoff = 100 * min(rules.ratio, rules.review_ratio)
    partial = process.cpdist(left, items, scorer=fuzz.partial_ratio, dtype=np.float64, score_cutoff=cutoff) / 100
    partial *= is_worth
    places = candidates.select("unit", "text", "first", "last").rows()
    for i in np.flatnonzero(is_long):
        unit, text, first, last = places[i]
        window = tokens.hashes[tokens.offsets[unit] + first : tokens.offsets[unit] + last]
        partial[i] = align_tokens(window, prepared.tokens(text)).share
    return np.round(partial, 9)


def _runs(candidates: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> NDArray[np.int64]:
    items = prepared.items.tokens
    pairs = candidates.select("unit", "text", "first", "last").to_numpy()
    return longest_runs(tokens.hashes, tokens.offsets, items.hashes, items.offsets, np.ascontiguousarray(pairs))


def similarity(left: list[str], right: list[str]) -> NDArray[np.float64]:
    """Return rapidfuzz's ratio / 100: 1 - Indel distance / summed length, of integers and so exact at a threshold."""
    if not left:
        return np.empty(0)
    distance = process.cpdist(left, right, scorer=Indel.distance, dtype=np.int64)
    total = np.array([len(a) + len(b) for a, b in zip(left, right, strict=True)])
    result: NDArray[np.float64] = np.round((total - distance) / np.maximum(total, 1), 9)
    return result
