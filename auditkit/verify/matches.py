"""Candidates and texts of one shard -> verified pairs with scores and places, still without pool-wide knowledge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit import tables
from auditkit.records import TIERS
from auditkit.text.normalise import Tokens
from auditkit.verify.align import Spans, align, align_tokens, characters, kept, stands_at, view_of
from auditkit.verify.decide import Decision, Pair, decisions
from auditkit.verify.items import PreparedItems, at_least
from auditkit.verify.scores import Scores, score
from auditkit.verify.shard import Candidate, ShardRows, overlap

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


#: Of an item with a template, at least so many tokens of its own (or all it has) are asked for.
MIN_OWN_TOKENS = 3


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
    found: dict[tuple[int, int], list[tuple[Decision, Spans]]] = {}
    n_template_only = 0
    windows = candidates.select("unit", "text", "first", "last").rows()
    for i in _worth_deciding(candidates, scores, tokens, prepared):
        unit, text, first, last = windows[i]
        here = Candidate(unit, text, (first, last), scores.windows[i], tuple(scores.runs[i].tolist()), rows, prepared)
        reached = [(one, _spans(one, here)) for one in decisions(_pair(here, scores, i), prepared, tiers)]
        own = [one for one in reached if _holds_own(prepared.rules.templates.payload, *one, here)]
        n_template_only += bool(reached) and not own
        if own:
            found.setdefault((unit, text), []).append(_settle(own, here))
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


def _pair(here: Candidate, scores: Scores, i: int) -> Pair:
    items, row, item, window = here.prepared.items, scores.rows[i], here.item_text, here.window_text
    mine, theirs = here.row_hashes, here.item_hashes
    return Pair(
        text=here.text,
        n_item=len(theirs),
        n_row=len(mine),
        n_characters=len(item),
        is_unspaced=bool(items.are_unspaced[here.text]),
        is_equal=len(theirs) == len(mine) and row == item,
        # Searching the letters first is cheap, but "art" stands in "start" too.
        holds_item=item in window and stands_at(theirs, mine[slice(*here.window)]) >= 0,
        is_held=len(mine) < len(theirs) and window in item and stands_at(mine, theirs) >= 0,
        run=here.run[0],
        lacks_only_common=all(token in here.prepared.common for token in np.setdiff1d(theirs, mine).tolist()),
        ratio=float(scores.ratio[i]),
        token_sort=float(scores.token_sort[i]),
        partial=float(scores.partial[i]),
        kept=_kept(here, float(scores.partial[i])),
    )


def _kept(here: Candidate, partial: float) -> float:
    """Return which share of the shorter text its best stretch of the longer one keeps; 0 where no rule asks."""
    if partial < here.prepared.rules.contained.ratio:
        return 0.0
    return partial if here.is_long else kept(here.item_text, here.window_text)


def _spans(decision: Decision, here: Candidate) -> Spans:
    """Return the token ranges that a decision rests on."""
    mine, theirs = here.row_hashes, here.item_hashes
    if decision.is_stretch:
        length, in_row, in_item = here.run
        return Spans((in_row, in_row + length), (in_item, in_item + length))
    if decision.tier in ("exact", "near"):
        return Spans((0, len(mine)), (0, len(theirs)))
    if (at := stands_at(theirs, mine[slice(*here.window)])) >= 0:
        return Spans((here.window[0] + at, here.window[0] + at + len(theirs)), (0, len(theirs)))
    if (at := stands_at(mine, theirs)) >= 0:
        return Spans((0, len(mine)), (at, at + len(mine)))
    if here.is_long:
        found = align_tokens(mine[slice(*here.window)], theirs).spans
        start = here.window[0]
        return Spans((start + found.row[0], start + found.row[1]), found.item)
    words, item = here.row_words(here.window), here.item_words((0, len(theirs)))
    return align(decision, words, here.window_text, here.window[0], item, here.item_text, len(mine))


def _settle(reached: list[tuple[Decision, Spans]], here: Candidate) -> tuple[Decision, Spans]:
    """Return the first decision that the numbers allow; a copy whose numbers differ is another question: review."""
    condemning = [one for one in reached if one[0].verdict == "contaminated"]
    if not condemning:
        return reached[0]
    for decision, spans in condemning:
        # What lies beside an unchanged stretch counts as well: a changed number may be what ended it.
        compared = Spans(here.window, (0, len(here.item_hashes))) if decision.is_stretch else spans
        is_allowed = decision.tier == "exact" or here.prepared.rules.near.numbers_condemn
        if not is_allowed and here.numbers_differ(compared):
            continue
        if _holds_own(here.prepared.rules.templates.condemns, decision, spans, here):
            return decision, spans
        return replace(decision, verdict="review", rule="templates.condemns"), spans
    decision, spans = condemning[0]
    return replace(decision, verdict="review", rule="near.numbers_condemn"), spans


def _holds_own(share: float, decision: Decision, spans: Spans, here: Candidate) -> bool:
    """Return whether the row holds that share of what is the item's own, beside the template that many items share.

    True for items without a template, for equal texts, and for items that are nothing but template.
    """
    mask = here.prepared.template_mask(here.text)
    if decision.tier == "exact" or not mask[slice(*spans.item)].any() or mask.all():
        return True
    # A row that is a part of the item can have no more than its part, though one word of that ("What ...") says
    # nothing; of every other row all that is the item's own is asked for.
    is_part = len(here.row_hashes) < len(mask) and not decision.is_stretch
    stretch = spans.item if is_part else (0, len(mask))
    own = here.item_hashes[slice(*stretch)][~mask[slice(*stretch)]]
    shared = int(np.isin(own, here.row_hashes[slice(*spans.row)]).sum())
    wanted = max(len(own), min(MIN_OWN_TOKENS, int((~mask).sum())))
    return len(own) > 0 and at_least(shared, share, wanted)


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


def _record(
    unit: int, text: int, decision: Decision, spans: Spans, rows: ShardRows, prepared: PreparedItems
) -> dict[str, Any]:
    placed = rows.placed(unit)
    start, end = characters(placed, spans.row)
    return {
        "unit": unit,
        "text": text,
        "tier": decision.tier,
        "verdict": decision.verdict,
        "rule": decision.rule,
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
        "numbers_differ": Candidate(unit, text, spans.row, "", (0, 0, 0), rows, prepared).numbers_differ(spans),
        "is_partial": decision.is_partial,
        "row_sequence": int(rows.tokens.sequences[unit]),
    }
