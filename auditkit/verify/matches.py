"""Candidates and texts of one shard -> verified pairs with scores and places, still without pool-wide knowledge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit import tables
from auditkit.records import TIERS
from auditkit.text.normalise import Tokens
from auditkit.text.spans import Placed, place
from auditkit.verify.align import Spans, align, characters, kept, numbers_differ, stands_at, view_of
from auditkit.verify.decide import Decision, Pair, decide
from auditkit.verify.items import PreparedItems, at_least, shingle_size, shingles
from auditkit.verify.scores import Scores, score

#: A verified pair: positions of the row text and of the distinct item text in their frames, and the scores.
VERIFIED: tables.Schema = {
    "unit": pl.Int64(),
    "text": pl.Int64(),
    "tier": pl.String(),
    "verdict": pl.String(),
    "rule": pl.String(),
    "threshold": pl.Float64(),
    "containment": pl.Float64(),
    "row_containment": pl.Float64(),
    "jaccard": pl.Float64(),
    "ratio": pl.Float64(),
    "ratio_kind": pl.String(),
    "cosine": pl.Float64(),
    "encoder": pl.String(),
    "row_start": pl.Int64(),
    "row_end": pl.Int64(),
    "item_first": pl.Int64(),  # tokens of the item, half open; its characters differ from part to part
    "item_last": pl.Int64(),
    "view": pl.String(),
    "numbers_differ": pl.Boolean(),
    "is_partial": pl.Boolean(),
    "row_sequence": pl.UInt64(),  # hash of the row's tokens: rows of equal text count once in frequencies
}


@dataclass(frozen=True)
class ShardRows:
    """The texts of a shard and their tokens, with the places of tokens found on demand."""

    texts: pl.Series
    tokens: Tokens
    _placed: dict[int, list[Placed]] = field(default_factory=dict)
    _shingles: dict[tuple[int, int], NDArray[np.uint64]] = field(default_factory=dict)

    def placed(self, unit: int) -> list[Placed]:
        """Return the tokens of one text with their characters."""
        if unit not in self._placed:
            self._placed[unit] = place(self.texts[unit])
        return self._placed[unit]

    def hashes(self, unit: int) -> NDArray[np.uint64]:
        """Return the token hashes of one text."""
        return self.tokens.hashes[self.tokens.offsets[unit] : self.tokens.offsets[unit + 1]]

    def shingles(self, unit: int, size: int) -> NDArray[np.uint64]:
        """Return the distinct shingles of one text."""
        key = (unit, size)
        if key not in self._shingles:
            self._shingles[key] = shingles(self.hashes(unit), size)
        return self._shingles[key]


@dataclass(frozen=True)
class Verified:
    """Verified pairs of a shard, and how many pairs shared a template only (dropped, and said so)."""

    pairs: pl.DataFrame
    n_template_only: int


def verify(
    candidates: pl.DataFrame, texts: pl.Series, tokens: Tokens, prepared: PreparedItems, tiers: frozenset[str]
) -> Verified:
    """Return the verified lexical pairs of a shard.

    Args:
        candidates: frame of tables.CANDIDATES of the lexical detectors.
        texts: the texts of the shard, String.
        tokens: their tokens.
        prepared: the items.
        tiers: tiers that run; a pair counts for the strongest of them it reaches.
    """
    tables.check(candidates, tables.CANDIDATES, "verify")
    rows = ShardRows(texts, tokens)
    candidates = candidates.unique(["unit", "text", "first", "last"], keep="first", maintain_order=True)
    scores = score(candidates, tokens, prepared)
    worth = _worth_deciding(candidates, scores, tokens, prepared)
    found: dict[tuple[int, int], list[tuple[Decision, Spans]]] = {}
    n_template_only = 0
    windows = candidates.select("unit", "text", "first", "last").rows()
    for i in worth:
        unit, text, first, last = windows[i]
        pair = _pair(unit, text, (first, last), scores, i, rows, prepared)
        decision = decide(pair, prepared, tiers)
        if decision is None:
            continue
        if decision.is_stretch:
            length, in_row, in_item = scores.runs[i].tolist()
            spans = Spans((in_row, in_row + length), (in_item, in_item + length))
        else:
            spans = _align(decision, scores.windows[i], unit, text, (first, last), rows, prepared)
        if _is_template_only(decision, spans, unit, text, rows, prepared):
            n_template_only += 1
            continue
        found.setdefault((unit, text), []).append((decision, spans))
    records = [
        _record(unit, text, decision, spans, rows, prepared)
        for (unit, text), options in sorted(found.items())
        for decision, spans in _keep(options)
    ]
    return Verified(pl.DataFrame(records, schema=VERIFIED, orient="row"), n_template_only)


def _worth_deciding(
    candidates: pl.DataFrame, scores: Scores, tokens: Tokens, prepared: PreparedItems
) -> NDArray[np.int64]:
    """Return the candidates that can reach some rule: a cheap cut before the pairwise work."""
    near, contained = prepared.rules.near, prepared.rules.contained
    whole = min(near.review_ratio, near.short_ratio, near.common_ratio, near.ratio)
    n_row = tokens.lengths[candidates["unit"].to_numpy()]
    n_item = prepared.items.tokens.lengths[candidates["text"].to_numpy()]
    is_near = (scores.ratio >= whole) | (scores.token_sort >= min(near.review_ratio, near.short_ratio, near.token_sort))
    is_held = scores.partial >= np.where(n_row < n_item, contained.ratio, min(contained.ratio, contained.review_ratio))
    is_stretch = scores.runs[:, 0] >= min(contained.stretch_tokens, contained.review_stretch_tokens)
    return np.flatnonzero(is_near | is_held | is_stretch)


def _pair(
    unit: int, text: int, at: tuple[int, int], scores: Scores, i: int, rows: ShardRows, prepared: PreparedItems
) -> Pair:
    items = prepared.items
    item, row, window = items.canonicals[text], scores.rows[i], scores.windows[i]
    mine, theirs = rows.hashes(unit), prepared.tokens(text)
    n_item, n_row = int(items.tokens.lengths[text]), int(rows.tokens.lengths[unit])
    return Pair(
        text=text,
        n_item=n_item,
        n_row=n_row,
        n_characters=len(item),
        is_unspaced=bool(items.are_unspaced[text]),
        is_equal=n_item == n_row and row == item,
        # Searching the letters first is cheap, but "art" stands in "start" too.
        holds_item=item in window and stands_at(theirs, mine[slice(*at)]) >= 0,
        run=int(scores.runs[i, 0]),
        is_held=n_row < n_item and window in item and stands_at(mine, theirs) >= 0,
        lacks_only_common=_lacks_only_common(mine, theirs, prepared),
        ratio=float(scores.ratio[i]),
        token_sort=float(scores.token_sort[i]),
        partial=float(scores.partial[i]),
        kept=kept(item, window) if scores.partial[i] >= prepared.rules.contained.ratio else 0.0,
    )


def _lacks_only_common(row: NDArray[np.uint64], item: NDArray[np.uint64], prepared: PreparedItems) -> bool:
    return all(token in prepared.common for token in np.setdiff1d(item, row).tolist())


def _align(
    decision: Decision,
    window_text: str,
    unit: int,
    text: int,
    window: tuple[int, int],
    rows: ShardRows,
    prepared: PreparedItems,
) -> Spans:
    item_text = prepared.items.canonicals[text]
    mine, theirs = rows.hashes(unit), prepared.tokens(text)
    n_row, n_item = len(mine), len(theirs)
    if decision.tier in ("exact", "near"):
        return Spans((0, n_row), (0, n_item))
    if (at := stands_at(theirs, mine[slice(*window)])) >= 0:
        return Spans((window[0] + at, window[0] + at + n_item), (0, n_item))
    if (at := stands_at(mine, theirs)) >= 0:
        return Spans((0, n_row), (at, at + n_row))
    words = [placed.token for placed in rows.placed(unit)[window[0] : window[1]]]
    item = prepared.items.tokens.words(text)
    return align(decision, words, window_text, window[0], item, item_text, n_row)


def _is_template_only(
    decision: Decision, spans: Spans, unit: int, text: int, rows: ShardRows, prepared: PreparedItems
) -> bool:
    """Return whether the pair shares what many items share, and too little of what is the item's own."""
    mask = prepared.template_mask(text)[spans.item[0] : spans.item[1]]
    if decision.tier == "exact" or not mask.any() or prepared.template_mask(text).all():
        return False
    own = prepared.tokens(text)[spans.item[0] : spans.item[1]][~mask]
    shared = int(np.isin(own, rows.hashes(unit)[spans.row[0] : spans.row[1]]).sum())
    return len(own) == 0 or not at_least(shared, prepared.rules.templates.payload, len(own))


def _keep(options: list[tuple[Decision, Spans]]) -> Iterable[tuple[Decision, Spans]]:
    """Return the decisions of one pair that stand: one for a whole row, else one for every separate place."""
    order = {"contaminated": 0, "review": 1}
    ranked = sorted(options, key=lambda o: (order[o[0].verdict], TIERS.index(o[0].tier), -o[0].score, o[1].row))
    kept: list[tuple[Decision, Spans]] = []
    for decision, spans in ranked:
        if any(spans.row[0] < other.row[1] and other.row[0] < spans.row[1] for _, other in kept):
            continue
        kept.append((decision, spans))
    return sorted(kept, key=lambda o: o[1].row)


def overlap(unit: int, text: int, rows: ShardRows, prepared: PreparedItems) -> dict[str, float]:
    """Return containment, row_containment and jaccard of a row and an item text, over shingle_size tokens."""
    size = shingle_size(int(prepared.items.tokens.lengths[text]))
    mine, theirs = rows.shingles(unit, size), shingles(prepared.tokens(text), size)
    shared = len(np.intersect1d(mine, theirs, assume_unique=True))
    return {
        "containment": shared / len(theirs),
        "row_containment": shared / len(mine),
        "jaccard": shared / (len(mine) + len(theirs) - shared),
    }


def _record(
    unit: int, text: int, decision: Decision, spans: Spans, rows: ShardRows, prepared: PreparedItems
) -> dict[str, Any]:
    placed = rows.placed(unit)
    start, end = characters(placed, spans.row)
    item_tokens = prepared.items.tokens.words(text)
    differ = numbers_differ([p.token for p in placed[spans.row[0] : spans.row[1]]], item_tokens[slice(*spans.item)])
    is_other_question = differ and decision.tier != "exact" and not prepared.rules.near.numbers_condemn
    return {
        "unit": unit,
        "text": text,
        "tier": decision.tier,
        "verdict": "review" if is_other_question else decision.verdict,
        "rule": "near.numbers_condemn" if is_other_question and decision.verdict == "contaminated" else decision.rule,
        "threshold": decision.threshold,
        **overlap(unit, text, rows, prepared),
        "ratio": decision.score,
        "ratio_kind": decision.kind,
        "cosine": None,
        "encoder": None,
        "row_start": start,
        "row_end": end,
        "item_first": spans.item[0],
        "item_last": spans.item[1],
        "view": view_of(rows.texts[unit][start:end]),
        "numbers_differ": differ,
        "is_partial": decision.is_partial,
        "row_sequence": int(rows.tokens.sequences[unit]),
    }
