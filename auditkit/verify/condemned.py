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
from auditkit.verify.scores import joined, similarity

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

    A contained copy keeps a share `contained.kept` of the shorter text's letters in order, so the longest common
    subsequence, which takes microseconds, bounds what partial_ratio takes milliseconds to find in long texts.
    """
    if candidates.is_empty():
        return np.zeros(0, np.bool_)
    unit, text = candidates["unit"].to_numpy(), candidates["text"].to_numpy()
    items, rules = prepared.items, prepared.rules
    unspaced = items.are_unspaced[text]
    rows = [tokens.canonical(u) for u in unit]
    theirs = [items.canonicals[t] for t in text]
    ratio = similarity(joined(rows, unspaced), joined(theirs, unspaced))
    by_word = similarity([" ".join(sorted(row.split())) for row in rows], [prepared.sorted_texts[t] for t in text])
    is_near = (ratio >= min(rules.near.ratio, rules.near.common_ratio) - _SLACK) | (
        by_word >= rules.near.token_sort - _SLACK
    )
    windows = [tokens.slice(u, a, b) for u, a, b in candidates.select("unit", "first", "last").iter_rows()]
    kept = _common_letters(windows, theirs)
    return is_near | (kept >= min(rules.contained.kept, 1.0) - _SLACK) | _is_stretch(candidates, tokens, prepared)


def _common_letters(left: list[str], right: list[str]) -> NDArray[np.float64]:
    """Return the length of the longest common subsequence as a share of the shorter text."""
    distance = process.cpdist(left, right, scorer=Indel.distance, dtype=np.int64)
    sizes = np.array([(len(a), len(b)) for a, b in zip(left, right, strict=True)], np.int64).reshape(-1, 2)
    shares: NDArray[np.float64] = (sizes.sum(axis=1) - distance) / 2 / np.maximum(sizes.min(axis=1), 1)
    return shares


def _is_stretch(candidates: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> NDArray[np.bool_]:
    theirs, rule = prepared.items.tokens, prepared.rules.contained
    pairs = np.ascontiguousarray(candidates.select("unit", "text", "first", "last").to_numpy())
    length = longest_runs(tokens.hashes, tokens.offsets, theirs.hashes, theirs.offsets, pairs)[:, 0]
    is_long: NDArray[np.bool_] = length >= rule.stretch_tokens
    return is_long & (length >= (rule.part_tokens - _SLACK) * theirs.lengths[pairs[:, 1]])
