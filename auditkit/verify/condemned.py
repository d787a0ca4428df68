"""Which candidates are condemned, and nothing else of them: for joins of whole pools, where pairs are many."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.text.normalise import Tokens
from auditkit.verify.items import PreparedItems
from auditkit.verify.matches import verify
from auditkit.verify.scores import LONG_TOKENS, SLACK, have_in_order, whole_rows
from auditkit.verify.windows import Windows


def condemned(
    candidates: pl.DataFrame, texts: pl.Series, tokens: Tokens, prepared: PreparedItems, tiers: frozenset[str]
) -> pl.DataFrame:
    """Return the distinct pairs (`unit`, `text`) that `verify` gives the verdict contaminated, sorted.

    The arguments are those of `verify`. What only a whole pool can tell (how often a part recurs) is not asked.
    """
    likely = candidates.filter(pl.Series(can_condemn(candidates, tokens, prepared)))
    found = verify(likely, texts, tokens, prepared, tiers).pairs
    return found.filter(pl.col("verdict") == "contaminated").select("unit", "text").unique().sort("unit", "text")


def can_condemn(candidates: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> NDArray[np.bool_]:
    """Return which candidates can reach a rule that condemns: bool [n]. Cheap, and loses none.

    A near copy has its whole ratio. A contained copy keeps the share `contained.kept` of the shorter text's letters in
    order, so the longest common subsequence, which takes microseconds, bounds what takes partial_ratio milliseconds.
    """
    windows = Windows.of(candidates, tokens, prepared)
    likely = np.zeros(len(windows), np.bool_)
    for test in (_may_be_near, _may_be_long, _may_be_contained, _may_be_stretch):
        open_ones = np.flatnonzero(~likely)
        likely[open_ones] = test(windows.take(open_ones))
    return likely


def _may_be_near(windows: Windows) -> NDArray[np.bool_]:
    near = windows.prepared.rules.near
    least = min(near.ratio, near.common_ratio)
    ratio, token_sort = whole_rows(windows, np.arange(len(windows)), min(least, near.token_sort))
    reached: NDArray[np.bool_] = (ratio >= least) | (token_sort >= near.token_sort)
    return reached


def _may_be_long(windows: Windows) -> NDArray[np.bool_]:
    """Return which pairs of long texts share half of their tokens: they are compared token by token, which is cheap."""
    reached: NDArray[np.bool_] = (windows.n_shorter > LONG_TOKENS) & (2 * windows.shared >= windows.n_shorter)
    return reached


def _may_be_contained(windows: Windows) -> NDArray[np.bool_]:
    at = np.flatnonzero((windows.n_shorter <= LONG_TOKENS) & (2 * windows.shared >= windows.n_shorter))
    found = np.zeros(len(windows), np.bool_)
    found[at] = have_in_order(windows, at, windows.prepared.rules.contained.kept)
    return found


def _may_be_stretch(windows: Windows) -> NDArray[np.bool_]:
    """Return which pairs share an unchanged stretch that condemns."""
    rule = windows.prepared.rules.contained
    least = np.maximum(rule.stretch_tokens, (rule.part_tokens - SLACK) * windows.n_item)
    reached: NDArray[np.bool_] = windows.runs[:, 0] >= least
    return reached
