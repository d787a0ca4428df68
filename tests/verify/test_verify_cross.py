"""A cross-encoder's score beside the verifier's: who is scored, what it holds back, how matches are ordered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lexical
import numpy as np
import polars as pl

from auditkit import tables
from auditkit.text.cross_encode import Pairs, PairScores
from auditkit.verify.cross import CROSS, HELD, describe_cross_encoder, with_cross_scores
from auditkit.verify.error_rates import strength
from auditkit.verify.rules import default_rules

RULE = default_rules().paraphrase
ITEMS = ("how to bake bread", "how to train a dog", "how to wash a cat")
ROWS = ("bread: how is it baked?", "train my dog", "a wet cat", "bread: how is it baked?")


class Known:
    """A cross-encoder with given scores; pairs of more than 30 letters are cut."""

    digest, fingerprint = "sha256:0", "known"

    def __init__(self, *scores: float) -> None:
        self.scores, self.asked = scores, list[tuple[str, str]]()

    def describe(self) -> dict[str, Any]:
        return {"name": "known"}

    def score(self, pairs: Pairs) -> PairScores:
        self.asked = list(pairs)
        return PairScores(np.array(self.scores[: len(pairs)]), np.array([len(a + b) > 30 for a, b in pairs], np.bool_))


def scored(encoder: Known, *pairs: dict[str, Any]) -> pl.DataFrame:
    usual = {"unit": 0, "text": 0, "verdict": "contaminated", "rule": "paraphrase.condemns_meaning", "threshold": 0.9,
             "row_mean": None}  # fmt: skip
    schema = {"unit": pl.Int64, "text": pl.Int64, "row_mean": pl.Float64}
    ruled = pl.DataFrame([{**usual, **pair} for pair in pairs], schema_overrides=schema)
    return with_cross_scores(ruled, pl.Series(ROWS), lexical.items_of(list(ITEMS)), encoder, RULE)


def test_a_condemned_pair_below_the_threshold_is_held_back() -> None:
    encoder = Known(0.5, 0.4999, 0.1)
    found = scored(encoder, {}, {"unit": 1, "text": 1}, {"unit": 2, "text": 2, "verdict": "review", "rule": "r"})
    assert encoder.asked == [(ROWS[i], ITEMS[i]) for i in range(3)]
    assert found["cross_encoder"].to_list() == [0.5, 0.4999, 0.1]
    assert found.select("verdict", "rule", "threshold").rows() == [
        ("contaminated", "paraphrase.condemns_meaning", 0.9),
        ("review", HELD, RULE.cross_encoder),
        ("review", "r", 0.9),
    ]


def test_a_high_score_condemns_nothing() -> None:
    found = scored(Known(1.0), {"verdict": "review", "rule": "paraphrase.meaning"})
    assert found.select("verdict", "rule").rows() == [("review", "paraphrase.meaning")]


def test_equal_pairs_are_asked_once_and_possible_translations_not_at_all() -> None:
    encoder = Known(0.7, 0.2)
    open_pair = {"unit": 2, "text": 2, "verdict": "review", "rule": "paraphrase.margin", "row_mean": 0.8}
    found = scored(encoder, {}, open_pair, {"unit": 3}, {"unit": 1, "text": 1})
    assert encoder.asked == [(ROWS[0], ITEMS[0]), (ROWS[1], ITEMS[1])]
    assert found["cross_encoder"].to_list() == [0.7, None, 0.7, 0.2]
    assert found["is_cut"].to_list() == [True, None, True, False]
    assert found.drop(*CROSS).columns == ["unit", "text", "verdict", "rule", "threshold", "row_mean"]


def test_no_pair_is_no_question() -> None:
    encoder = Known()
    found = scored(encoder, {"row_mean": 0.5})
    assert (encoder.asked, found["cross_encoder"].to_list()) == ([], [None])


def test_the_report_counts_what_was_scored_cut_and_held() -> None:
    found = scored(Known(0.9, 0.1), {}, {"unit": 1, "text": 1}, {"unit": 2, "text": 2, "row_mean": 0.8})
    assert describe_cross_encoder(Known(), RULE, found) == {
        "name": "known", "threshold": RULE.cross_encoder, "n_pairs": 2, "n_truncated": 1, "n_held": 1,
    }  # fmt: skip


def test_matches_are_ordered_by_the_lesser_of_both_scores() -> None:
    def of(meaning: float | None, cross: float | None, margin: float | None = None) -> dict[str, Any]:
        usual = {"tier": "paraphrase", "verdict": "review", "ratio": 0.3, "cosine": 0.85}
        return dict.fromkeys(tables.MATCHES) | usual | {"meaning": meaning, "cross_encoder": cross, "margin": margin}

    matches: Sequence[dict[str, Any]] = [
        of(0.9, None), of(0.9, 0.4), of(0.3, 0.8), of(None, 0.6), of(None, None), of(None, None, 1.2)
    ]  # fmt: skip
    ordered = pl.DataFrame(matches, schema=tables.MATCHES).select(strength().alias("s"))["s"]
    assert ordered.to_list() == [0.9, 0.4, 0.3, 0.6, 0.85, 0.6]
