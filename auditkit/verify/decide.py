"""Scores -> tier, verdict and the rule that decided, for one pair of a row and an item text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditkit.verify.items import PreparedItems, at_least
from auditkit.verify.windows import Windows


@dataclass(frozen=True, slots=True)
class Pair:
    """One candidate with its scores; lengths in tokens.

    Attributes:
        is_equal: row and item have the same tokens.
        holds_item: the item's tokens stand together in the window.
        is_held: the row's tokens stand together in the item.
        run: tokens of the longest stretch that window and item share unchanged.
        kept: share of the letters of the shorter one that the best stretch of the longer one keeps, in order; 0 where
            `partial` reaches no rule.
        lacks_only_common: every item token that the row lacks is common in the benchmarks; False where `ratio` alone
            decides.
    """

    n_item: int
    n_row: int
    n_characters: int
    is_unspaced: bool
    is_equal: bool
    holds_item: bool
    is_held: bool
    run: int
    lacks_only_common: bool
    ratio: float
    token_sort: float
    partial: float
    kept: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What a pair is.

    Attributes:
        tier, verdict: as in definitions.
        rule: the rule of rules.toml that decided; `threshold` the number it compared `score` with.
        kind: the rapidfuzz function behind `score`.
        is_partial: whether less than the whole item matched (such matches may be weakened by their frequency).
        is_stretch: whether it rests on the longest shared run alone.
    """

    tier: str
    verdict: str
    rule: str
    threshold: float
    score: float
    kind: str
    is_partial: bool
    is_stretch: bool = False


def are_settled(windows: Windows, tiers: frozenset[str]) -> NDArray[np.bool_]:
    """Return which windows are condemned whatever their letters: equal rows, and whole unchanged items. Bool [n].

    `decisions` puts these rules first, and neither numbers nor templates weaken them: nothing of the item is missing.
    """
    rules = windows.prepared.rules
    n_characters = windows.prepared.n_characters[windows.text]
    is_long = (windows.n_item >= rules.contained.min_tokens) & (n_characters >= rules.contained.min_characters)
    is_long = np.where(windows.are_unspaced, windows.n_item >= rules.contained.min_unspaced, is_long)
    are_exact = windows.are_equal & rules.exact.condemns & ("exact" in tiers)
    are_held = windows.hold_item & ~windows.are_equal & is_long & ("contained" in tiers)
    settled: NDArray[np.bool_] = are_exact | are_held
    return settled


def decisions(pair: Pair, prepared: PreparedItems, tiers: frozenset[str]) -> list[Decision]:
    """Return every decision that a pair reaches among the tiers that run: those that condemn first, strongest first."""
    rules = (_exact, _holds, _near, _contained, _stretch, _near_review, _contained_review, _stretch_review)
    reached = [found for rule in rules if (found := rule(pair, prepared)) is not None and found.tier in tiers]
    return sorted(reached, key=lambda decision: decision.verdict != "contaminated")


def _exact(pair: Pair, prepared: PreparedItems) -> Decision | None:
    if not pair.is_equal:
        return None
    verdict = "contaminated" if prepared.rules.exact.condemns else "review"
    return Decision("exact", verdict, "exact", 1.0, 1.0, "equality", False)


def _is_long_enough(pair: Pair, prepared: PreparedItems) -> bool:
    rule = prepared.rules.contained
    if pair.is_unspaced:
        return pair.n_item >= rule.min_unspaced
    return pair.n_item >= rule.min_tokens and pair.n_characters >= rule.min_characters


def _holds(pair: Pair, prepared: PreparedItems) -> Decision | None:
    """Decide a row that holds the whole item unchanged, with more around it."""
    if not pair.holds_item or pair.is_equal:
        return None
    if _is_long_enough(pair, prepared):
        return Decision("contained", "contaminated", "contained.whole", 1.0, 1.0, "partial_ratio", False)
    rule = prepared.rules.contained
    if pair.is_unspaced:
        name, least = "min_unspaced", rule.min_unspaced
    elif pair.n_item < rule.min_tokens:
        name, least = "min_tokens", rule.min_tokens
    else:
        name, least = "min_characters", rule.min_characters
    return Decision("contained", "review", f"contained.{name}", float(least), 1.0, "partial_ratio", False)


def _near(pair: Pair, prepared: PreparedItems) -> Decision | None:
    rule = prepared.rules.near
    if min(pair.n_item, pair.n_row) < rule.min_tokens:
        return None
    if pair.ratio >= rule.ratio:
        return Decision("near", "contaminated", "near.ratio", rule.ratio, pair.ratio, "ratio", False)
    if pair.token_sort >= rule.token_sort:
        return Decision(
            "near", "contaminated", "near.token_sort", rule.token_sort, pair.token_sort, "token_sort_ratio", False
        )
    if pair.ratio >= rule.common_ratio and pair.lacks_only_common:
        return Decision("near", "contaminated", "near.common_ratio", rule.common_ratio, pair.ratio, "ratio", False)
    return None


def _contained(pair: Pair, prepared: PreparedItems) -> Decision | None:
    """Decide edited copies inside a longer row, and rows that are a part of the item."""
    rule = prepared.rules.contained
    if pair.partial < rule.ratio or pair.kept < rule.kept:
        return None
    if pair.n_row >= pair.n_item:
        if not _is_long_enough(pair, prepared):
            return None
        return Decision(
            "contained", "contaminated", "contained.ratio", rule.ratio, pair.partial, "partial_ratio", False
        )
    if pair.n_row < rule.part_min_tokens or not at_least(pair.n_row, rule.part_tokens, pair.n_item):
        return None
    return Decision(
        "contained", "contaminated", "contained.part_tokens", rule.part_tokens, pair.partial, "partial_ratio", True
    )


def _stretch(pair: Pair, prepared: PreparedItems) -> Decision | None:
    """Decide a long row that holds most of a long item unchanged, its rest cut off or rewritten."""
    rule = prepared.rules.contained
    if pair.run < rule.stretch_tokens or not at_least(pair.run, rule.part_tokens, pair.n_item):
        return None
    share = pair.run / pair.n_item
    return Decision("contained", "contaminated", "contained.stretch_tokens", rule.part_tokens, share, "run", True, True)


def _stretch_review(pair: Pair, prepared: PreparedItems) -> Decision | None:
    rule = prepared.rules.contained
    is_most = pair.run >= rule.review_stretch_tokens and at_least(pair.run, rule.part_tokens, pair.n_item)
    if not is_most and pair.run < rule.stretch_tokens:
        return None
    share = pair.run / pair.n_item
    name = "review_stretch_tokens" if is_most else "stretch_tokens"
    return Decision("contained", "review", f"contained.{name}", rule.part_tokens, share, "run", True, True)


def _near_review(pair: Pair, prepared: PreparedItems) -> Decision | None:
    rule = prepared.rules.near
    best = max(pair.ratio, pair.token_sort)
    kind = "ratio" if pair.ratio >= pair.token_sort else "token_sort_ratio"
    is_short = min(pair.n_item, pair.n_row) < rule.min_tokens
    name, threshold = ("short_ratio", rule.short_ratio) if is_short else ("review_ratio", rule.review_ratio)
    if best < threshold:
        return None
    return Decision("near", "review", f"near.{name}", threshold, best, kind, False)


def _contained_review(pair: Pair, prepared: PreparedItems) -> Decision | None:
    rule = prepared.rules.contained
    if pair.n_row >= pair.n_item:
        if pair.partial < rule.review_ratio or not _is_long_enough(pair, prepared):
            return None
        return Decision(
            "contained", "review", "contained.review_ratio", rule.review_ratio, pair.partial, "partial_ratio", True
        )
    is_part = pair.n_row >= rule.part_min_tokens and at_least(pair.n_row, rule.review_part_tokens, pair.n_item)
    if not is_part or not (pair.is_held or pair.partial >= rule.ratio):
        return None
    return Decision(
        "contained",
        "review",
        "contained.review_part_tokens",
        rule.review_part_tokens,
        pair.partial,
        "partial_ratio",
        True,
    )
