"""q-values: hand-computed, against a slow oracle, and what --fdr does to verdicts."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit import tables
from auditkit.verify.error_rates import accidents, are_siblings, estimate, hold, hold_like, q_of

SCORES = st.lists(st.sampled_from([0.5, 0.8, 0.85, 0.9, 0.95, 1.0, 2.9, 3.0]), max_size=12)
NO_CONTEXT = pl.DataFrame(schema={"benchmark": pl.String, "item": pl.Int64, "part": pl.String})


ROWS = count()


def match(ratio: float, verdict: str = "contaminated", tier: str = "near", **changes: Any) -> dict[str, Any]:
    """Return a match in a row of its own, where none is named."""
    usual = {
        "pool": "p",
        "row": next(ROWS),
        "benchmark": "b",
        "item": 0,
        "part": "text",
        "tier": tier,
        "verdict": verdict,
    }
    return {**dict.fromkeys(tables.MATCHES), **usual, "ratio": ratio, "rule": "r", "numbers_differ": False, **changes}


def frame(*matches: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(matches), schema=tables.MATCHES, orient="row")


def slow_q(strength: float, targets: list[float], decoys: list[float], scale: float, n_sets: int) -> float:
    """Return the smallest estimate among thresholds up to `strength`, one by one."""
    rates = []
    for threshold in {*targets, strength}:
        if threshold <= strength:
            n_decoys = sum(one >= threshold for one in decoys) / n_sets
            n_targets = max(1, sum(one >= threshold for one in targets))
            rates.append(min(1.0, scale * (1 + n_decoys) / n_targets))
    return min(rates)


def test_a_q_value_computed_by_hand() -> None:
    """Four targets, one decoy between: (1 + 0) / 2 above it, (1 + 1) / 4 at the lowest threshold."""
    targets, decoys = np.array([1.0, 0.9, 0.8, 0.7]), np.array([0.85])
    assert q_of(targets, targets, decoys, 1.0, 1).tolist() == [0.5, 0.5, 0.5, 0.5]
    assert q_of(targets, targets, np.array([0.85, 0.75]), 1.0, 1).tolist() == [0.5, 0.5, 2 / 3, 0.75]
    assert q_of(targets, targets, np.array([]), 1.0, 1).tolist() == [0.25] * 4
    assert q_of(targets, targets, np.array([]), 0.1, 1).tolist() == [0.025] * 4


def test_several_sets_count_on_average() -> None:
    targets, decoys = np.array([1.0] * 10), np.array([1.0] * 4)
    assert q_of(targets, targets, decoys, 1.0, 4).tolist() == pytest.approx([0.2] * 10)


@given(SCORES, SCORES, st.sampled_from([0.5, 1.0, 3.0]), st.integers(1, 3))
def test_q_values_equal_the_slow_ones_and_fall_with_strength(
    targets: list[float], decoys: list[float], scale: float, n_sets: int
) -> None:
    found = q_of(np.array(targets), np.array(targets), np.array(decoys), scale, n_sets)
    assert found.tolist() == pytest.approx([slow_q(one, targets, decoys, scale, n_sets) for one in targets])
    ordered = found[np.argsort(np.array(targets), kind="stable")]
    assert (np.diff(ordered) <= 0).all()
    assert ((found > 0) & (found <= 1)).all()


def test_each_tier_and_encoder_has_its_own_estimate() -> None:
    ours = frame(
        *[match(1.0, tier="exact") for _ in range(4)],
        *[match(0.95) for _ in range(2)],
        match(0.4, "review", "paraphrase", cosine=0.9, encoder="minilm"),
        match(0.4, "review", "paraphrase", cosine=0.9, encoder="multilingual"),
    )
    theirs = frame(match(0.96), match(0.4, "review", "paraphrase", cosine=0.95, encoder="minilm"))
    found = estimate(ours, theirs, 0.5, 1)
    assert found.matches["q_value"].to_list() == [0.125] * 4 + [0.5, 0.5, 1.0, 0.5]
    assert [(tier.tier, tier.encoder, tier.fdr) for tier in found.tiers] == [
        ("exact", None, 0.125),
        ("near", None, 0.5),
        ("paraphrase", "minilm", None),
        ("paraphrase", "multilingual", None),
    ]
    assert found.tiers[2].fdr_reported == 1.0


def test_paraphrases_are_ordered_by_the_score_that_decided() -> None:
    close = {"verdict": "review", "tier": "paraphrase", "encoder": "multilingual", "cosine": 0.9}
    ours = frame(
        match(0.4, **close, meaning=0.8), match(0.4, **close, meaning=0.3), match(0.4, **close, margin=1.1),
        match(0.4, **close, margin=1.01),
    )  # fmt: skip
    theirs = frame(match(0.4, **close, meaning=0.5), match(0.4, **close, margin=1.05))
    found = estimate(ours, theirs, 0.1, 1)
    assert found.matches["q_value"].to_list() == pytest.approx([0.1] * 4)
    assert [tier.encoder for tier in found.tiers] == ["multilingual", "multilingual, translations"]
    strongest = estimate(ours, frame(match(0.4, **close, meaning=0.2)), 0.1, 1).matches["q_value"].to_list()
    assert strongest == pytest.approx([0.05, 0.05, 0.05, 0.05])


def test_review_matches_do_not_spoil_the_estimate_of_condemned_ones() -> None:
    ours = frame(*[match(0.91) for _ in range(10)], *[match(0.99, "review") for _ in range(10)])
    theirs = frame(*[match(0.99, "review") for _ in range(9)])
    found = estimate(ours, theirs, 1.0, 1)
    assert found.matches["q_value"].to_list() == [0.1] * 10 + [0.5] * 10
    assert (found.tiers[0].fdr, found.tiers[0].fdr_reported, found.tiers[0].least) == (0.1, 0.5, 0.1)


def test_twins_are_counted_apart() -> None:
    ours = frame(match(0.95), match(0.95, label_conflict=True), match(0.95, "review", numbers_differ=True),
                 match(1.0, tier="exact", label_conflict=True))  # fmt: skip
    near = {tier.tier: tier for tier in estimate(ours, frame(), 0.5, 1).tiers}
    assert (near["near"].n_matches, near["near"].n_twins, near["near"].n_contaminated) == (1, 2, 1)
    assert (near["exact"].n_matches, near["exact"].n_twins) == (1, 0)


def test_siblings_of_the_item_copied_are_counted_apart() -> None:
    """A row is a copy of one item: what it matches of the same benchmark less well is neither accident nor copy."""
    ours = frame(
        match(0.99, row=1, item=0), match(0.91, row=1, item=1), match(0.84, "review", row=1, item=2),
        match(0.91, row=2, item=1), match(0.91, row=1, item=1, benchmark="another"), match(0.99, row=1, item=5),
    )  # fmt: skip
    assert are_siblings(ours).to_list() == [False, True, True, False, False, False]
    (near,) = estimate(ours, frame(), 0.5, 1).tiers
    assert (near.n_matches, near.n_contaminated, near.n_siblings) == (4, 4, 2)
    assert estimate(ours, frame(), 0.5, 1).matches["q_value"].null_count() == 0


def test_without_a_match_there_is_no_rate() -> None:
    assert estimate(frame(), frame(), 1.0, 1).tiers == ()
    tier = estimate(frame(), frame(match(0.95)), 1.0, 1).tiers[0]
    assert (tier.fdr, tier.fdr_reported, tier.least, tier.n_decoy_contaminated) == (None, None, None, 1)


def test_a_decoy_beaten_by_its_own_item_in_a_condemned_row_is_no_accident() -> None:
    sources = pl.DataFrame({"benchmark": ["b", "b"], "item": [-1, -2], "source": [0, 1]})
    ours = frame(match(0.95, item=0, row=1), match(0.85, "review", item=1, row=2))
    theirs = frame(
        match(0.92, item=-1, row=1),  # weaker than its item's in that row: a copy of the item
        match(0.97, item=-1, row=1, row_start=5),  # stronger
        match(0.92, item=-1, row=3),  # its item is not in that row
        match(0.92, item=-2, row=1),  # another item is
        match(0.83, "review", item=-2, row=2),  # its item is for review only
    )
    assert accidents(theirs, ours, sources)["row"].to_list() == [1, 3, 1, 2]
    assert accidents(theirs, frame(), sources).equals(theirs)


def test_matches_above_the_rate_go_to_review_by_the_rule_fdr() -> None:
    ours = frame(match(0.99, q_value=0.01), match(0.95, q_value=0.02), match(0.9, "review", q_value=0.5))
    held = hold(ours, 0.01, NO_CONTEXT)
    assert held.select("verdict", "rule", "threshold").rows() == [
        ("contaminated", "r", None), ("review", "fdr", 0.01), ("review", "r", None)
    ]  # fmt: skip


def test_what_is_weaker_than_all_that_stood_is_held_in_another_pool_too() -> None:
    audited = frame(match(0.99, q_value=0.005), match(0.95, "review", q_value=0.02, rule="fdr"))
    other = frame(match(0.995), match(0.99), match(0.96), match(1.0, tier="exact"), match(0.9, "review"))
    held = hold_like(other, audited, 0.01)
    assert held["verdict"].to_list() == ["contaminated", "contaminated", "review", "review", "review"]
    assert held["rule"].to_list() == ["r", "r", "fdr", "fdr", "r"]


def test_a_context_does_not_condemn_when_its_question_no_longer_does() -> None:
    context = pl.DataFrame({"benchmark": ["b"], "item": [0], "part": ["context"]})
    ours = frame(match(0.95, q_value=0.5, row=1), match(1.0, part="context", q_value=0.001, row=1))
    assert hold(ours, 0.01, context)["verdict"].to_list() == ["review", "review"]
    assert hold(ours, 0.6, context)["verdict"].to_list() == ["contaminated", "contaminated"]
