"""Each rule at, just below and just above its threshold; and each threshold decides something."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import lexical
import numpy as np
import pytest

from auditkit.detect.protocol import candidates
from auditkit.verify.decide import Decision, Pair, are_settled, decisions
from auditkit.verify.items import PreparedItems, prepare
from auditkit.verify.rules import Rules, default_rules
from auditkit.verify.windows import Windows

ITEMS = lexical.items_of(["a b c d"])
PAIR = Pair(
    n_item=20, n_row=20, n_characters=100, is_unspaced=False, is_equal=False, holds_item=False, is_held=False,
    run=0, lacks_only_common=False, ratio=0.0, token_sort=0.0, partial=0.0, kept=1.0,
)  # fmt: skip


def prepared(rules: Rules) -> PreparedItems:
    return prepare(ITEMS, rules)


DEFAULT = prepared(default_rules())


def outcome(decision: Decision | None) -> tuple[str, str] | None:
    """Return rule and verdict."""
    return None if decision is None else (decision.rule, decision.verdict)


def decided(
    given: dict[str, Any], using: PreparedItems = DEFAULT, tiers: frozenset[str] = lexical.LEXICAL
) -> Decision | None:
    """Return the strongest decision of a pair."""
    return next(iter(decisions(replace(PAIR, **given), using, tiers)), None)


@dataclass(frozen=True)
class Case:
    """A rule, a pair that just reaches it, the same pair just below it, and what comes of either."""

    rule: str  # "section.name"
    measured: str  # the field of Pair that the rule looks at
    at: float
    below: float
    rest: dict[str, Any]
    reached: tuple[str, str]
    missed: tuple[str, str] | None
    tier: str


SHORT = {"n_item": 4, "n_row": 4}
HOLDS = {"holds_item": True, "n_row": 60, "partial": 1.0}
UNSPACED = {**HOLDS, "is_unspaced": True, "n_characters": 10}

BAD, ASK = "contaminated", "review"
CASES = [
    Case("near.ratio", "ratio", 0.90, 0.8999, {}, ("near.ratio", BAD), ("near.review_ratio", ASK), "near"),
    Case("near.token_sort", "token_sort", 0.90, 0.8999, {}, ("near.token_sort", BAD),
         ("near.review_ratio", ASK), "near"),
    Case("near.common_ratio", "ratio", 0.85, 0.8499, {"lacks_only_common": True}, ("near.common_ratio", BAD),
         ("near.review_ratio", ASK), "near"),
    Case("near.review_ratio", "ratio", 0.82, 0.8199, {}, ("near.review_ratio", ASK), None, "near"),
    Case("near.review_ratio", "token_sort", 0.82, 0.8199, {}, ("near.review_ratio", ASK), None, "near"),
    Case("near.min_tokens", "n_row", 5, 4, {"ratio": 0.95}, ("near.ratio", BAD),
         ("near.short_ratio", ASK), "near"),
    Case("near.min_tokens", "n_item", 5, 4, {"ratio": 0.95}, ("near.ratio", BAD),
         ("near.short_ratio", ASK), "near"),
    Case("near.short_ratio", "ratio", 0.90, 0.8999, SHORT, ("near.short_ratio", ASK), None, "near"),
    Case("contained.min_tokens", "n_item", 5, 4, HOLDS, ("contained.whole", BAD),
         ("contained.min_tokens", ASK), "contained"),
    Case("contained.min_characters", "n_characters", 25, 24, HOLDS, ("contained.whole", BAD),
         ("contained.min_characters", ASK), "contained"),
    Case("contained.min_unspaced", "n_item", 10, 9, UNSPACED, ("contained.whole", BAD),
         ("contained.min_unspaced", ASK), "contained"),
    Case("contained.ratio", "partial", 0.90, 0.8999, {"n_row": 60}, ("contained.ratio", BAD),
         ("contained.review_ratio", ASK), "contained"),
    Case("contained.kept", "kept", 0.90, 0.8999, {"n_row": 60, "partial": 0.90}, ("contained.ratio", BAD),
         ("contained.review_ratio", ASK), "contained"),
    Case("contained.review_ratio", "partial", 0.86, 0.8599, {"n_row": 60}, ("contained.review_ratio", ASK), None,
         "contained"),
    Case("contained.part_tokens", "n_row", 12, 11, {"partial": 1.0}, ("contained.part_tokens", BAD),
         ("contained.review_part_tokens", ASK), "contained"),
    Case("contained.part_min_tokens", "n_row", 6, 5, {"n_item": 8, "partial": 1.0},
         ("contained.part_tokens", BAD), None, "contained"),
    Case("contained.review_part_tokens", "n_row", 8, 7, {"partial": 0.90}, ("contained.review_part_tokens", ASK), None,
         "contained"),
    Case("contained.review_part_tokens", "n_row", 8, 7, {"is_held": True}, ("contained.review_part_tokens", ASK), None,
         "contained"),
    Case("contained.stretch_tokens", "run", 13, 12, {"n_row": 99}, ("contained.stretch_tokens", BAD),
         ("contained.review_stretch_tokens", ASK), "contained"),
    Case("contained.stretch_tokens", "run", 13, 12, {"n_row": 999, "n_item": 300}, ("contained.stretch_tokens", ASK),
         None, "contained"),
    Case("contained.review_stretch_tokens", "run", 8, 7, {"n_row": 99, "n_item": 11},
         ("contained.review_stretch_tokens", ASK), None, "contained"),
]  # fmt: skip
each = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule} by {case.measured}")


@each
def test_a_threshold_is_reached_at_equality_and_not_below(case: Case) -> None:
    reached = decided({**case.rest, case.measured: case.at})
    assert reached is not None
    assert outcome(reached) == case.reached
    assert reached.tier == case.tier
    assert outcome(decided({**case.rest, case.measured: case.below})) == case.missed


def moved(case: Case, value: float) -> PreparedItems:
    section, name = case.rule.split(".")
    kind = type(getattr(getattr(default_rules(), section), name))
    return prepared(lexical.rules_with(**{section: {name: kind(round(value, 6))}}))


@each
def test_no_threshold_is_ignored(case: Case) -> None:
    is_share = case.rule.endswith("part_tokens")
    step = 1 / 20 if is_share else case.at - case.below
    threshold = getattr(getattr(default_rules(), case.rule.split(".")[0]), case.rule.split(".")[1])
    at, below = {**case.rest, case.measured: case.at}, {**case.rest, case.measured: case.below}
    assert outcome(decided(at, moved(case, threshold + step))) != case.reached
    assert outcome(decided(below, moved(case, threshold - step))) == case.reached


def test_every_rule_of_the_sections_contained_and_near_has_a_case() -> None:
    rules = default_rules().as_dict()
    names = {f"{section}.{name}" for section in ("contained", "near") for name in rules[section]}
    # What words and numbers are to an item is not decided here: test_verify_matches.py, test_verify_direction.py.
    assert names - {case.rule for case in CASES} == {
        "near.common_share",
        "near.numbers_condemn",
        "near.turned_condemns",
    }


@pytest.mark.parametrize(("run", "verdict"), [(15, "contaminated"), (14, "review")])
def test_a_stretch_condemns_from_its_share_of_the_item(run: int, verdict: str) -> None:
    found = decided({"run": run, "n_item": 25, "n_row": 200})
    assert outcome(found) == ("contained.stretch_tokens", verdict)
    assert found is not None
    assert found.is_partial


@pytest.mark.parametrize(("condemns", "verdict"), [(True, "contaminated"), (False, "review")])
def test_equality_condemns_whatever_the_length(condemns: bool, verdict: str) -> None:
    rules = prepared(lexical.rules_with(exact={"condemns": condemns}))
    for n in (1, 20):
        found = decided({"is_equal": True, "n_item": n, "n_row": n, "n_characters": 1}, rules)
        assert outcome(found) == ("exact", verdict)


def test_the_strongest_tier_decides() -> None:
    everything = {
        "is_equal": True, "holds_item": True, "ratio": 1.0, "token_sort": 1.0, "partial": 1.0, "run": 20,
        "lacks_only_common": True,
    }  # fmt: skip
    order = []
    for drop in (
        {},
        {"is_equal": False},
        {"holds_item": False},
        {"ratio": 0, "token_sort": 0},
        {"partial": 0},
        {"run": 0},
    ):
        everything |= drop
        found = decided(everything)
        order.append(found and found.rule)
    assert order == ["exact", "contained.whole", "near.ratio", "contained.ratio", "contained.stretch_tokens", None]


def test_a_condemning_rule_stands_before_a_stronger_tiers_review() -> None:
    assert outcome(decided({"holds_item": True, "n_item": 5, "n_row": 6, "n_characters": 20, "ratio": 0.95})) == (
        "near.ratio",
        "contaminated",
    )


@pytest.mark.parametrize(
    ("tiers", "rule"),
    [
        ({"exact"}, "exact"),
        ({"contained", "near"}, "near.ratio"),
        ({"near"}, "near.ratio"),
        ({"contained"}, "contained.ratio"),
        ({"paraphrase"}, None),
    ],
)
def test_only_tiers_that_run_decide(tiers: set[str], rule: str | None) -> None:
    equal = {"is_equal": True, "holds_item": True, "ratio": 1.0, "token_sort": 1.0, "partial": 1.0}
    found = decided(equal, tiers=frozenset(tiers))
    assert (found and found.rule) == rule


def test_parts_are_partial_and_whole_items_are_not() -> None:
    kinds = {
        "whole": {"holds_item": True, "partial": 1.0, "n_row": 60},
        "edited": {"partial": 0.95, "n_row": 60},
        "near": {"ratio": 0.95},
        "part": {"partial": 1.0, "n_row": 12},
    }
    found = {name: decided(given) for name, given in kinds.items()}
    assert {name: decision and decision.is_partial for name, decision in found.items()} == {
        "whole": False,
        "edited": False,
        "near": False,
        "part": True,
    }


@pytest.mark.parametrize(
    ("item", "row", "expected"),
    [
        ("cat", "Cat!", True),  # equal, of any length
        ("how to make a sturdy shelf", "so: how to make a sturdy shelf?", True),
        ("how to make a shelf fast", "so: how to make a shelf fast?", False),  # 24 characters
        ("remarkably elaborate sentences exist", "so remarkably elaborate sentences exist", False),  # 4 tokens
        ("今日は東京へ行きましょうか", "ええと今日は東京へ行きましょうか", True),
        ("今日は東京へ行く", "ええと今日は東京へ行く", False),  # 8 characters of a script without spaces
        ("how to make a sturdy shelf", "so: how to make a sturdy cupboard", False),
    ],
)
def test_equal_rows_and_whole_items_of_enough_length_are_settled(item: str, row: str, expected: bool) -> None:
    items, rows = lexical.items_of([item]), lexical.rows_of([row])
    everywhere = candidates("all", *(np.array([i]) for i in (0, 0, 0)), rows.tokens.lengths)
    windows = Windows.of(everywhere, rows.tokens, prepare(items, default_rules()))
    assert are_settled(windows, lexical.LEXICAL).tolist() == [expected]
    assert are_settled(windows, frozenset(["near"])).tolist() == [False]
