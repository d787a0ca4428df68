"""Candidates and texts of one shard -> verified pairs with scores and places, still without pool-wide knowledge.

Rows of equal tokens are decided once. Equal rows and whole unchanged items are settled by their tokens; of the others,
bounds and scores computed in bulk leave the few that may reach a rule, and these are decided one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit import tables
from auditkit.records import TIERS
from auditkit.text.normalise import Tokens
from auditkit.verify.align import Spans
from auditkit.verify.candidate import Candidate, candidates_at, pair_of
from auditkit.verify.decide import Decision, are_settled, decisions
from auditkit.verify.items import PreparedItems
from auditkit.verify.records import DECIDED, completed
from auditkit.verify.scores import Scores, least_near, least_partial, score
from auditkit.verify.windows import Windows

#: Candidates of equal rows that look for the same item in the same place.
CASE = ["sequence", "text", "first", "last"]


@dataclass(frozen=True)
class Verified:
    """Verified pairs of a shard, and how many pairs shared a template only (dropped, and said so)."""

    pairs: pl.DataFrame
    n_template_only: int


def verify(
    candidates: pl.DataFrame, texts: pl.Series, tokens: Tokens, prepared: PreparedItems, tiers: frozenset[str]
) -> Verified:
    """Return the verified lexical pairs of a shard: frame VERIFIED. Safe to call from several threads at once.

    Args:
        candidates: frame of tables.CANDIDATES of the lexical detectors.
        texts: the texts of the shard, String.
        tokens: their tokens.
        prepared: the items.
        tiers: tiers that run; a pair counts for the strongest of them it reaches.
    """
    tables.check(candidates, tables.CANDIDATES, "verify")
    every = candidates.unique(["unit", "text", "first", "last"], keep="first", maintain_order=True)
    sequence = tokens.sequences[every["unit"].to_numpy()]
    every = every.with_columns(pl.Series("sequence", sequence, dtype=pl.UInt64))
    cases = every.unique(CASE, keep="first", maintain_order=True)
    found, is_template_only = _decide(Windows.of(cases, tokens, prepared), tiers)
    decided = _of_every_row(_decided(found), every, tokens)
    only_template = cases.filter(pl.Series(is_template_only, dtype=pl.Boolean)).filter(
        pl.col("text") < prepared.items.n_own
    )
    n_template_only = len(every.join(only_template, on=CASE, how="semi"))
    return Verified(completed(decided, texts, tokens, prepared), n_template_only)


#: What was decided of a row and an item text, one or more places.
Found = dict[tuple[int, int], list[tuple[Decision, Spans]]]


def _decide(windows: Windows, tiers: frozenset[str]) -> tuple[Found, NDArray[np.bool_]]:
    """Return what the windows are, by unit and text, and which of them share a template only: bool [n]."""
    settled = are_settled(windows, tiers)
    scores = score(windows, np.flatnonzero(~settled))
    at = np.flatnonzero(settled | _can_reach_a_rule(windows, scores))
    found: Found = {}
    is_template_only = np.zeros(len(windows), np.bool_)
    for i, here in zip(at.tolist(), candidates_at(windows, at), strict=True):
        reached = decisions(pair_of(here, i, scores), windows.prepared, tiers)
        stands = _settle(reached, here)
        is_template_only[i] = bool(reached) and stands is None
        if stands is not None:
            found.setdefault((here.unit, here.text), []).append(stands)
    return found, is_template_only


def _can_reach_a_rule(windows: Windows, scores: Scores) -> NDArray[np.bool_]:
    """Return which windows are worth the work of deciding: bool [n]."""
    rules = windows.prepared.rules
    near, contained = least_near(rules), rules.contained
    is_near = (scores.ratio >= near) | (scores.token_sort >= near)
    is_part = windows.n_row < windows.n_item
    is_contained = scores.partial >= np.where(is_part, contained.ratio, least_partial(rules))
    is_stretch = windows.runs[:, 0] >= min(contained.stretch_tokens, contained.review_stretch_tokens)
    result: NDArray[np.bool_] = is_near | is_contained | is_stretch
    return result


def _settle(reached: Sequence[Decision], here: Candidate) -> tuple[Decision, Spans] | None:
    """Return the first decision that templates, numbers and direction allow, or None where only a template is shared.

    A copy whose numbers differ is another question: review; so is one that is turned round.
    """
    templates, near = here.prepared.rules.templates, here.prepared.rules.near
    first: tuple[Decision, Spans] | None = None
    refused = ""
    for decision in reached:
        spans = here.spans(decision)
        if not here.holds_own(templates.payload, decision, spans):
            continue
        first = first or (decision, spans)
        if decision.verdict != "contaminated":
            break
        # What lies beside an unchanged stretch counts as well: a changed number may be what ended it.
        compared = Spans(here.window, (0, len(here.item_hashes))) if decision.is_stretch else spans
        if decision.tier != "exact" and not near.numbers_condemn and here.numbers_differ(compared):
            refused = refused or "near.numbers_condemn"
            continue
        if not near.turned_condemns and here.is_turned(decision, spans):
            refused = refused or "near.turned_condemns"
            continue
        if here.holds_own(templates.condemns, decision, spans):
            return decision, spans
        return replace(decision, verdict="review", rule="templates.condemns"), spans
    if first is None or first[0].verdict != "contaminated":
        return first
    return replace(first[0], verdict="review", rule=refused), first[1]


def _keep(options: list[tuple[Decision, Spans]]) -> Iterable[tuple[Decision, Spans]]:
    """Return the decisions of one pair that stand: one for a whole row, else one for every separate place."""
    order = {"contaminated": 0, "review": 1}
    ranked = sorted(options, key=lambda o: (order[o[0].verdict], TIERS.index(o[0].tier), -o[0].score, o[1].row))
    kept: list[tuple[Decision, Spans]] = []
    for decision, spans in ranked:
        if any(spans.row[0] < other.row[1] and other.row[0] < spans.row[1] for _, other in kept):
            continue
        kept.append((decision, spans))
    return kept


def _decided(found: Found) -> pl.DataFrame:
    """Return frame DECIDED of what was found."""
    records = [
        (unit, text, d.tier, d.verdict, d.rule, d.threshold, d.score, d.kind, None, None, *spans.row, *spans.item,
         d.is_partial)
        for (unit, text), options in found.items()
        for d, spans in _keep(options)
    ]  # fmt: skip
    return pl.DataFrame(records, schema=DECIDED, orient="row")


def _of_every_row(decided: pl.DataFrame, every: pl.DataFrame, tokens: Tokens) -> pl.DataFrame:
    """Return the decisions for every row of the same tokens for which the item was proposed, sorted by row and item."""
    sequence = pl.Series("sequence", tokens.sequences[decided["unit"].to_numpy()], dtype=pl.UInt64)
    proposed = every.select("unit", "sequence", "text").unique()
    joined = decided.drop("unit").with_columns(sequence).join(proposed, on=["sequence", "text"])
    return joined.select(DECIDED.keys()).sort("unit", "text", "row_first", "row_last")
