"""Pairs that share a frame and not what it holds: the row puts other words where the item has its own."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.kernels.runs import longest_runs
from auditkit.text.normalise import Tokens
from auditkit.verify.candidate import MIN_OWN_TOKENS
from auditkit.verify.items import PreparedItems

#: Tokens of a row beside the matched span that are looked at, beyond the item's length.
_MARGIN = 4


def are_swapped(decided: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> pl.Series:
    """Return which pairs of frame DECIDED share a frame with other words in it: Boolean [n].

    The frame is the longest run of tokens that both share. Beside it the item has a stretch of which the row holds less
    than half, MIN_OWN_TOKENS or more are missing, and the row has other words there: it was not merely cut. Whole items
    and equal rows share more than a frame.
    """
    at = _asked(decided)
    pairs, theirs = _windows(decided[at], tokens, prepared), prepared.items.tokens
    runs = longest_runs(tokens.hashes, tokens.offsets, theirs.hashes, theirs.offsets, pairs)
    found = np.zeros(len(decided), np.bool_)
    for i in np.flatnonzero(theirs.lengths[pairs[:, 1]] - runs[:, 0] >= MIN_OWN_TOKENS).tolist():
        unit, text, first, last = pairs[i].tolist()
        length, in_row, in_item = runs[i].tolist()
        row = tokens.hashes[tokens.offsets[unit] + first : tokens.offsets[unit] + last]
        found[at[i]] = is_swapped(row, prepared.tokens(text), (length, in_row - first, in_item))
    return pl.Series("is_swapped", found)


def _asked(decided: pl.DataFrame) -> NDArray[np.int64]:
    """Return the pairs that may be such: lexical ones that do not hold the whole item by their rule."""
    is_whole = (pl.col("tier").is_in(["exact", "paraphrase"])) | (pl.col("ratio_kind") == "equality")
    is_whole |= pl.col("rule") == "contained.whole"
    return np.flatnonzero(decided.select((~is_whole).alias("is_asked"))["is_asked"].to_numpy())


def _windows(decided: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> NDArray[np.int64]:
    """Return unit, text, first and last token of the row around each matched span: int64 [n, 4]."""
    unit, text = decided["unit"].to_numpy(), decided["text"].to_numpy()
    reach = prepared.items.tokens.lengths[text] + _MARGIN
    first = np.maximum(decided["row_first"].to_numpy() - reach, 0)
    last = np.minimum(decided["row_last"].to_numpy() + reach, tokens.lengths[unit])
    return np.stack([unit, text, first, last], axis=1)


def is_swapped(row: NDArray[np.uint64], item: NDArray[np.uint64], run: tuple[int, int, int]) -> bool:
    """Return whether a row has other words than the item before or behind the frame they share.

    Args:
        row, item: token hashes.
        run: the frame: tokens, and where it starts in the row and in the item.
    """
    length, in_row, in_item = run
    before = _has_other(row[:in_row][::-1], item[:in_item][::-1])
    return before or _has_other(row[in_row + length :], item[in_item + length :])


def _has_other(row: NDArray[np.uint64], item: NDArray[np.uint64]) -> bool:
    """Return the same of one side, both arrays going outwards from the frame."""
    in_place = row[: len(item) + _MARGIN]
    missing = np.flatnonzero(~np.isin(item, in_place))
    if len(missing) < MIN_OWN_TOKENS:
        return False
    n_stretch = int(missing[-1] - missing[0]) + 1
    return 2 * len(missing) > n_stretch and 2 * len(in_place) >= len(missing)
