"""Which candidates are condemned, and nothing else of them: for joins of whole pools, where pairs are many."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Indel

from auditkit.kernels.seeds import longest_runs
from auditkit.text.normalise import Tokens
from auditkit.verify.items import PreparedItems
from auditkit.verify.matches import verify
from auditkit.verify.scores import LONG_TOKENS, joined

#: Scores are rounded to nine decimals; a cut this far below a threshold loses none.
_SLACK = 1e-9


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
    if candidates.is_empty():
        return np.zeros(0, np.bool_)
    likely = _may_be_near(candidates, tokens, prepared)
    for test in (_may_be_long, _may_be_contained, _may_be_stretch):
        open_ones = np.flatnonzero(~likely)
        likely[open_ones] = test(candidates[open_ones], tokens, prepared)
    return likely


def _may_be_near(candidates: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> NDArray[np.bool_]:
    unit, text = candidates["unit"].to_numpy(), candidates["text"].to_numpy()
    items, near = prepared.items, prepared.rules.near
    unspaced = items.are_unspaced[text]
    rows = {u: tokens.canonical(u) for u in set(unit.tolist())}
    by_word = {u: " ".join(sorted(row.split())) for u, row in rows.items()}
    left, right = joined([rows[u] for u in unit], unspaced), joined([items.canonicals[t] for t in text], unspaced)
    is_near = _reaches(left, right, min(near.ratio, near.common_ratio))
    rest = np.flatnonzero(~is_near)
    sorted_rows, sorted_items = [by_word[u] for u in unit[rest]], [prepared.sorted_texts[t] for t in text[rest]]
    is_near[rest] = _reaches(sorted_rows, sorted_items, near.token_sort)
    return is_near


def _reaches(left: list[str], right: list[str], threshold: float) -> NDArray[np.bool_]:
    """Return which pairs have at least this ratio; far ones are given up early."""
    cut = max(0.0, threshold - _SLACK)
    scores = process.cpdist(left, right, scorer=Indel.normalized_similarity, score_cutoff=cut, dtype=np.float64)
    reached: NDArray[np.bool_] = np.asarray(scores) >= cut
    return reached


def _may_be_long(candidates: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> NDArray[np.bool_]:
    """Return which pairs of long texts share half of their tokens: they are compared token by token, which is cheap."""
    n_window, n_item, shared = _sizes(candidates, prepared)
    return (np.minimum(n_window, n_item) > LONG_TOKENS) & (2 * shared >= np.minimum(n_window, n_item))


def _may_be_contained(candidates: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> NDArray[np.bool_]:
    n_window, n_item, shared = _sizes(candidates, prepared)
    at = np.flatnonzero((np.minimum(n_window, n_item) <= LONG_TOKENS) & (2 * shared >= np.minimum(n_window, n_item)))
    places = candidates[at].select("unit", "text", "first", "last").rows()
    left = [tokens.slice(unit, first, last) for unit, _, first, last in places]
    right = [prepared.items.canonicals[text] for _, text, _, _ in places]
    distance = process.cpdist(left, right, scorer=Indel.distance, dtype=np.int64)
    sizes = np.array([(len(a), len(b)) for a, b in zip(left, right, strict=True)], np.int64).reshape(-1, 2)
    letters = (sizes.sum(axis=1) - distance) / 2
    found = np.zeros(len(candidates), np.bool_)
    found[at] = letters >= (prepared.rules.contained.kept - _SLACK) * sizes.min(axis=1)
    return found


def _may_be_stretch(candidates: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> NDArray[np.bool_]:
    """Return which pairs share enough tokens for an unchanged stretch that condemns, and have one."""
    _, n_item, shared = _sizes(candidates, prepared)
    rule = prepared.rules.contained
    least = np.maximum(rule.stretch_tokens, (rule.part_tokens - _SLACK) * n_item)
    at = np.flatnonzero((shared >= least) & (n_item >= least))
    theirs = prepared.items.tokens
    pairs = np.ascontiguousarray(candidates[at].select("unit", "text", "first", "last").to_numpy())
    found = np.zeros(len(candidates), np.bool_)
    runs = longest_runs(tokens.hashes, tokens.offsets, theirs.hashes, theirs.offsets, pairs)
    found[at] = runs[:, 0] >= least[at]
    return found


def _sizes(
    candidates: pl.DataFrame, prepared: PreparedItems
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return tokens of the window, of the item, and shared by them (where not counted, as many as there can be)."""
    n_window = (candidates["last"] - candidates["first"]).to_numpy()
    n_item = prepared.items.tokens.lengths[candidates["text"].to_numpy()]
    return n_window, n_item, candidates["shared"].fill_null(1 << 40).to_numpy()
