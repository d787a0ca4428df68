"""Metrics against scikit-learn, statsmodels and hand computation."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sklearn_metrics
from evaluate_support import invented, predictions, targets
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from auditkit.errors import InputError, UsageError
from auditkit.evaluate.cells import count_cells, is_nested, nested_note
from auditkit.evaluate.metrics import det_curves, metrics, value
from auditkit.evaluate.scoring import (
    calibration_error,
    det_points,
    modified_wilson,
    recall_at_fpr,
    rule_of_three,
    threshold_at_fpr,
    wilson,
)
from auditkit.evaluate.thresholds import best_f1, cheapest, operating_points
from auditkit.study_records.results import POINTS, Cells, Estimate, Threshold
from auditkit.tables import METRICS, check

NATIVE = (Threshold("arm", 1, "native", 0.5),)
scores = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5, 0.75, 0.9, 1.0])


def test_cells_are_counted() -> None:
    found = count_cells(targets([1, 1, 0, 0, 1, None], [1, 0, 1, 0, None, 1]))
    assert found == Cells(n=6, c1=1, c0=1, d10=1, d01=1, n_unknown=2)


def test_nested_policies_name_the_small_side_and_what_is_said_instead() -> None:
    nested = Cells(n=200, c1=50, c0=50, d10=3, d01=97, n_unknown=0)
    assert is_nested(nested)
    note = nested_note(nested, "harm", "block")
    assert "only 3 prompts that harm flags and block does not (D10)" in note
    assert "AUROC(D01 vs C0)" in note
    assert nested_note(Cells(200, 50, 50, 30, 70, 0)) == ""
    assert "neither side is large enough" in nested_note(Cells(100, 50, 50, 0, 0, 0))


def test_nested_sets_have_the_three_numbers_of_the_large_side() -> None:
    a, b = np.r_[np.ones(20), np.zeros(20), np.zeros(40)], np.r_[np.ones(20), np.zeros(20), np.ones(40)]
    score = np.random.default_rng(1).random(80)
    found = metrics(predictions(score), targets(a.astype(int), b.astype(int)), NATIVE)
    dx, c0, c1 = score[40:], score[20:40], score[:20]
    oracle = sklearn_metrics.roc_auc_score(np.r_[np.ones(40), np.zeros(20)], np.r_[dx, c0])
    assert value(found, "auroc_d01_c0") == pytest.approx(oracle)
    oracle = sklearn_metrics.roc_auc_score(np.r_[np.ones(20), np.zeros(40)], np.r_[c1, dx])
    assert value(found, "auroc_c1_d01") == pytest.approx(oracle)
    strict = np.sort(c0)[::-1][1]  # one of twenty may be flagged
    assert value(found, "flag_rate_d01_at_fpr") == pytest.approx((dx > strict).mean())
    assert value(found, "direction", point="native") is None
    assert value(found, "f01", point="native") == pytest.approx((dx >= 0.5).mean())
    assert "auroc_d10_c0" not in found["metric"]


@pytest.mark.parametrize("seed", range(3))
def test_metrics_equal_their_oracles(seed: int) -> None:
    a, b = invented(seed=seed)
    score = np.clip(np.random.default_rng(seed).normal(0.3 + 0.3 * a + 0.1 * b, 0.25), 0, 1)
    found = metrics(predictions(score), targets(a, b), NATIVE)
    check(found, METRICS, "test")
    flag, same, differ = score >= 0.5, a == b, a != b
    oracle = {
        "auroc_concordant": sklearn_metrics.roc_auc_score(a[same], score[same]),
        "agreement_auroc": sklearn_metrics.roc_auc_score(a[differ], score[differ]),
        "brier_a": sklearn_metrics.brier_score_loss(a, score),
        "brier_b": sklearn_metrics.brier_score_loss(b, score),
    }
    for name, expected in oracle.items():
        assert value(found, name) == pytest.approx(expected), name
    over_a = sklearn_metrics.confusion_matrix(a, flag)
    rates = {
        "flag_rate": flag.mean(),
        "f10": flag[(a == 1) & (b == 0)].mean(),
        "f01": flag[(a == 0) & (b == 1)].mean(),
        "agreement_a": (flag == a)[differ].mean(),
        "agreement_b": (flag == b)[differ].mean(),
        "acc_a": sklearn_metrics.accuracy_score(a, flag),
        "acc_b": sklearn_metrics.accuracy_score(b, flag),
        "acc_c": (flag == a)[same].mean(),
        "over_refusal_a": over_a[0, 1] / over_a[0].sum(),
        "miss_a": over_a[1, 0] / over_a[1].sum(),
        "miss_b": (~flag)[b == 1].mean(),
        "recall_c1": flag[same & (a == 1)].mean(),
        "fpr_c0": flag[same & (a == 0)].mean(),
    }
    for name, expected in rates.items():
        assert value(found, name, point="native") == pytest.approx(expected), name
    f10, f01 = rates["f10"], rates["f01"]
    assert value(found, "direction", point="native") == pytest.approx(f10 - f01)
    assert value(found, "strictness", point="native") == pytest.approx((f10 + f01) / 2)
    row = found.filter(metric="acc_a", point="native", part="all").row(0, named=True)
    low, high = proportion_confint(int((flag == a).sum()), len(a), method="wilson")
    assert (row["low"], row["high"], row["n"]) == (pytest.approx(low), pytest.approx(high), len(a))


def test_intervals_of_direction_and_strictness_hold_their_values() -> None:
    a, b = invented()
    score = np.random.default_rng(3).random(len(a))
    found = metrics(predictions(score), targets(a, b), NATIVE)
    for name in ("direction", "strictness"):
        row = found.filter(metric=name, point="native").row(0, named=True)
        assert row["low"] < row["value"] < row["high"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), scores), min_size=1, max_size=40))
def test_the_identity_of_accuracy_and_agreement_holds_exactly(rows: list[tuple[int, int, float]]) -> None:
    """acc_A = (1 - pi) acc_C + pi lambda_A, and acc_A - acc_B = pi (2 lambda_A - 1), in whole counts."""
    a, b, score = (list(column) for column in zip(*rows, strict=True))
    found = metrics(predictions(score), targets(a, b), NATIVE).filter(point="native", part="all")

    def exact(name: str) -> tuple[Fraction, int]:
        row = found.filter(metric=name).row(0, named=True)
        return Fraction(round((row["value"] or 0) * row["n"]), max(1, row["n"])), row["n"]

    (acc_a, n), (acc_b, _), (acc_c, n_c), (agreement, n_d) = (
        exact(name) for name in ("acc_a", "acc_b", "acc_c", "agreement_a")
    )
    pi = Fraction(n_d, n)
    assert n == n_c + n_d == len(rows)
    assert acc_a == (1 - pi) * acc_c + pi * agreement
    assert acc_a - acc_b == pi * (2 * agreement - 1)
    assert exact("agreement_b")[0] == (1 - agreement if n_d else 0)


def test_a_score_exactly_at_the_threshold_is_flagged() -> None:
    found = metrics(predictions([0.5, np.nextafter(0.5, 0)]), targets([1, 0], [1, 0]), NATIVE)
    assert value(found, "flag_rate", point="native") == 0.5
    assert value(found, "acc_a", point="native") == 1.0


def test_metrics_per_source_stand_beside_the_whole() -> None:
    a = [1, 0, 1, 0, 0]
    found = metrics(predictions([0.9, 0.8, 0.7, 0.1, 0.0]), targets(a, a, source=["x", "x", "y", "y", None]), NATIVE)
    assert value(found, "auroc_concordant", part="source:x") == 1.0
    assert value(found, "auroc_concordant") == pytest.approx(5 / 6)
    assert set(found["part"]) == {"all", "source:x", "source:y"}


def test_a_source_of_one_class_has_null_with_its_n() -> None:
    found = metrics(predictions([0.9, 0.8]), targets([1, 1], [1, 1], source=["x", "x"]), NATIVE)
    row = found.filter(metric="auroc_concordant", part="source:x").row(0, named=True)
    assert (row["value"], row["n"]) == (None, 2)
    assert value(found, "fpr_c0", point="native") is None
    assert value(found, "over_refusal_a", point="native") is None


def test_a_guard_that_flags_all_has_the_prevalence_as_precision() -> None:
    expected = [1, 0, 0, 0]
    none = [None] * 4
    found = metrics(predictions([1.0] * 4, set_name="b"), targets(none, none, "b", expected), NATIVE)
    assert value(found, "precision_expected", point="native") == 0.25
    assert value(found, "auprc_expected") == 0.25
    assert value(found, "auroc_expected") == 0.5
    assert value(found, "f1_expected", point="native") == pytest.approx(0.4)


def test_a_guard_that_flags_nothing_has_no_precision() -> None:
    none = [None] * 4
    found = metrics(predictions([0.0] * 4, set_name="b"), targets(none, none, "b", [1, 0, 0, 0]), NATIVE)
    assert value(found, "precision_expected", point="native") is None
    assert value(found, "f1_expected", point="native") == 0.0


def test_a_one_class_benchmark_has_a_rate_only() -> None:
    none = [None] * 3
    rows = predictions([0.9, 0.2, 0.6], set_name="harmful"), targets(none, none, "harmful", [1, 1, 1])
    found = metrics(*rows, NATIVE)
    assert set(found["metric"]) == {"failures", "flag_rate"}
    assert value(found, "flag_rate", point="native") == pytest.approx(2 / 3)
    with pytest.raises(
        UsageError, match=r"auroc_expected is not defined on benchmark 'harmful': all its 3 labels are 1"
    ):
        metrics(*rows, NATIVE, only=["auroc_expected"])
    with pytest.raises(UsageError, match="f1_expected is not defined"):
        metrics(*rows, NATIVE, only=["f1_expected"])
    with pytest.raises(UsageError, match=r"unknown metric 'flagrate'.*did you mean 'flag_rate'"):
        metrics(*rows, NATIVE, only=["flagrate"])


def test_failures_are_shown_excluded_and_fail_closed() -> None:
    rows = predictions([0.9, 0.1, None, None], status=["ok", "ok", "error", "refused"])
    found = metrics(rows, targets([1, 0, 1, 0], [1, 0, 1, 0]), NATIVE)
    assert value(found, "failures") == 0.5
    assert value(found, "flag_rate", point="native") == 0.5
    assert value(found, "flag_rate", point="native", part="fail_closed") == 0.75
    assert value(found, "over_refusal_a", point="native") == 0.0
    assert value(found, "over_refusal_a", point="native", part="fail_closed") == 0.5
    assert found.filter(metric="auroc_concordant", part="all")["n"][0] == 2


def test_a_failed_prediction_with_a_score_is_left_out_too() -> None:
    rows = predictions([0.9, 0.9], status=["ok", "truncated"])
    found = metrics(rows, targets([1, 0], [1, 0]), NATIVE)
    assert found.filter(metric="flag_rate", part="all")["n"][0] == 1


def test_decisions_without_scores_give_rates_and_no_auroc() -> None:
    rows = predictions([None] * 4, decision=[1, 0, 1, 0])
    found = metrics(rows, targets([1, 0, 0, 1], [1, 0, 0, 1]), NATIVE)
    assert value(found, "auroc_concordant") is None
    assert value(found, "recall_at_fpr") is None
    assert value(found, "acc_a", point="native") == 0.5
    assert value(found, "acc_a", point="decision") == 0.5


def test_a_guards_own_decision_stands_beside_native() -> None:
    found = metrics(predictions([0.4, 0.4], decision=[1, 0]), targets([1, 0], [1, 0]), NATIVE)
    assert value(found, "flag_rate", point="native") == 0.0
    assert value(found, "flag_rate", point="decision") == 0.5


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (predictions([float("nan")]), "score is nan"),
        (predictions([1.5]), r"score is 1\.5 .*expected a probability in \[0, 1\]"),
        (predictions([0.5], status=["fine"]), "status is 'fine'"),
        (predictions([None]), "score is None"),
        (predictions([None], decision=[2]), "decision is 2"),
        (pl.concat([predictions([0.5]), predictions([0.6])]), "given twice"),
        (predictions([0.5], set_name="other"), "has no target"),
    ],
)
def test_predictions_that_cannot_be_used_are_one_line(rows: pl.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        metrics(rows, targets([1], [1]), NATIVE)
    assert "\n" not in str(caught.value)


def test_no_predictions_give_no_metrics() -> None:
    found = metrics(predictions([]), targets([], []), ())
    assert found.schema == pl.Schema(METRICS)
    assert found.height == 0


# ---------------------------------------------------------------- operating points


def test_operating_points_come_from_dev_alone() -> None:
    a, b = invented(200, 4)
    score = np.random.default_rng(4).random(200)
    dev = predictions(score, set_name="dev"), targets(a, b, "dev")
    test = predictions(1 - score), targets(1 - a, 1 - b)
    alone = operating_points(*dev)
    both = operating_points(pl.concat([dev[0], test[0]]), pl.concat([dev[1], test[1]]))
    assert alone == both
    assert [t.point for t in alone] == list(POINTS)
    chosen = {t.point: t.threshold for t in alone}
    assert chosen["native"] == 0.5
    benign = score[(a == 0) & (b == 0)]
    assert (benign >= chosen["matched_fpr"]).mean() <= 0.05
    assert chosen["best_f1_a"] == pytest.approx(best_f1(score, a))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), scores), min_size=2, max_size=30))
def test_thresholds_are_optimal_over_every_possible_cut(rows: list[tuple[int, float]]) -> None:
    labels, score = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    cuts = [*np.unique(score), 2.0]
    if labels.min() == labels.max():
        assert best_f1(score, labels) is None
        assert cheapest(score, labels, 3.0) is None
        return
    f1 = [sklearn_metrics.f1_score(labels, score >= cut, zero_division=0.0) for cut in cuts]
    assert sklearn_metrics.f1_score(labels, score >= best_f1(score, labels)) == pytest.approx(max(f1))

    def cost(cut: float | None) -> float:
        flag = score >= cut
        return float(3 * ((labels == 1) & ~flag).sum() + ((labels == 0) & flag).sum())

    assert cost(cheapest(score, labels, 3.0)) == min(cost(cut) for cut in cuts)


@settings(max_examples=60, deadline=None)
@given(st.lists(scores, min_size=1, max_size=40), st.sampled_from([0.0, 0.05, 0.1, 0.5, 1.0]))
def test_the_matched_threshold_is_the_most_lenient_one(negatives: list[float], rate: float) -> None:
    values = np.array(negatives)
    threshold = threshold_at_fpr(values, rate)
    assert threshold is not None
    allowed = Fraction(str(rate)) * len(values)
    assert (values >= threshold).sum() <= allowed
    below = values[values < threshold]
    if len(below):
        assert (values >= below.max()).sum() > allowed


def test_recall_at_fpr_is_a_point_of_the_roc() -> None:
    random = np.random.default_rng(5)
    harmful, benign = random.normal(0.6, 0.2, 80), random.normal(0.4, 0.2, 100)
    labels = np.repeat([1, 0], [80, 100])
    fpr, tpr, _ = sklearn_metrics.roc_curve(labels, np.r_[harmful, benign], drop_intermediate=False)
    found = recall_at_fpr(harmful, benign, 0.05)
    assert found.value == pytest.approx(tpr[fpr <= 0.05].max())


def test_undefined_points_are_none() -> None:
    rows = predictions([0.2, 0.8], set_name="dev"), targets([1, 1], [1, 1], "dev")
    chosen = {t.point: t.threshold for t in operating_points(*rows)}
    assert chosen == {"native": 0.5, **dict.fromkeys(POINTS[1:])}
    found = metrics(*rows, operating_points(*rows))
    row = found.filter(metric="flag_rate", point="matched_fpr").row(0, named=True)
    assert (row["value"], row["n"]) == (None, 0)


def test_without_a_dev_set_only_native_is_defined() -> None:
    chosen = {t.point: t.threshold for t in operating_points(predictions([0.2, 0.8]), targets([1, 0], [1, 0]))}
    assert chosen == {"native": 0.5, **dict.fromkeys(POINTS[1:])}


# ---------------------------------------------------------------- calibration, DET, rates


def test_calibration_error_by_hand() -> None:
    # Bins of width 1/15: 0.10 and 0.12 share bin 1 (labels 0, 1), 0.95 lies in bin 14 (label 1), 1.0 as well (label 0).
    score, labels = np.array([0.10, 0.12, 0.95, 1.0]), np.array([0, 1, 1, 0])
    by_hand = (2 * abs(0.5 - 0.11) + 2 * abs(0.5 - 0.975)) / 4
    assert calibration_error(score, labels) == pytest.approx(by_hand)
    assert calibration_error(np.array([]), np.array([])) is None
    assert calibration_error(np.array([1 / 15]), np.array([1]), 15) == pytest.approx(14 / 15)


def test_a_perfectly_calibrated_guard_has_no_error() -> None:
    assert calibration_error(np.array([0.5, 0.5]), np.array([0, 1])) == 0.0


def test_the_det_curve_keeps_its_shape_when_thinned() -> None:
    random = np.random.default_rng(6)
    labels = random.integers(0, 2, 3000)
    score = 1 / (1 + np.exp(-random.normal(labels * 1.5 - 0.75)))
    full_over, full_miss, _ = sklearn_metrics.det_curve(labels, score)
    over, miss, thresholds = det_points(score, labels, tolerance=0.005)
    assert len(over) < len(full_over) / 10
    assert len(over) == len(miss) == len(thresholds)
    assert max(off_the_line(over, miss, x, y) for x, y in zip(full_over, full_miss, strict=True)) <= 0.005
    assert (over[0], miss[-1]) == (full_over[0], full_miss[-1])


def off_the_line(over: np.ndarray, miss: np.ndarray, x: float, y: float) -> float:
    """Return how far a point is from the nearest of the segments between kept points."""
    ends = np.column_stack([over, miss])
    start, step = ends[:-1], np.diff(ends, axis=0)
    share = np.clip(((np.array([x, y]) - start) * step).sum(1) / (step**2).sum(1), 0, 1)
    return float(np.abs(np.array([x, y]) - start - share[:, None] * step).max(1).min())


def test_det_curves_stand_once_per_policy() -> None:
    found = det_curves(predictions([0.7, 0.9, 0.6]), targets([0, 1, 1], [0, 0, 0]))
    assert set(found["policy"]) == {"label_a"}
    row = found.filter(threshold=0.7).row(0, named=True)
    assert (row["over_refusal"], row["miss"], row["n_benign"], row["n_harmful"]) == (1.0, 0.5, 1, 2)


def test_zero_events_are_bounded_by_about_three_in_n() -> None:
    assert rule_of_three(100) == pytest.approx(0.03)
    assert rule_of_three(0) is None
    none = wilson(0, 100)
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(0.037, abs=1e-3)
    assert wilson(0, 0).value is None


@pytest.mark.parametrize("n", [10, 40, 60, 200])
def test_near_none_and_all_the_modified_interval_holds_where_wilsons_does_not(n: int) -> None:
    counts = np.arange(n + 1)
    plain, modified = ([made(k, n) for k in counts.tolist()] for made in (wilson, modified_wilson))

    def held(intervals: list[Estimate], rate: float) -> float:
        """Return the exact probability that the interval of a binomial count holds the rate."""
        is_in = [one.low <= rate <= one.high for one in intervals]
        return float(binom.pmf(counts, n, rate)[is_in].sum())

    # Just beyond the bound of n - 1 of n.
    rate = plain[n - 1].high + 1e-6
    assert held(plain, rate) < 0.87
    assert held(modified, 1 - rate) == pytest.approx(held(modified, rate))
    assert held(modified, rate) > 0.95
    assert min(held(modified, near) for near in (rate - 1e-3 / n, 1 - 0.06 / n, 1 - 0.2 / n, 1 - 0.5 / n)) > 0.92
    assert all(m.low <= p.low and p.high <= m.high for p, m in zip(plain, modified, strict=True))
    assert modified[4 : n - 3] == [replace(one, method="modified Wilson") for one in plain[4 : n - 3]]


def test_the_modified_bounds_are_those_of_a_poisson_rate() -> None:
    # A rate that gives at least one in 95 % of cases less is told from none: -log(0.95).
    assert modified_wilson(1, 40).low == pytest.approx(-np.log(0.95) / 40)
    assert modified_wilson(199, 200).high == pytest.approx(1 + np.log(0.95) / 200)
    assert (modified_wilson(0, 40).low, modified_wilson(40, 40).high) == (0.0, 1.0)
    assert modified_wilson(3, 50).low == wilson(3, 50).low
    assert modified_wilson(0, 0).value is None


def test_the_order_of_rows_changes_nothing() -> None:
    a, b = invented(120, 9)
    rows, goal = predictions(np.random.default_rng(9).random(120)), targets(a, b, source=["x", "y"] * 60)
    found = metrics(rows, goal, NATIVE)
    shuffled = metrics(
        rows.sample(fraction=1, shuffle=True, seed=1), goal.sample(fraction=1, shuffle=True, seed=2), NATIVE
    )
    keys = ["part", "metric", "point"]
    first, second = (frame.sort(keys) for frame in (found, shuffled))
    assert first.drop("value").equals(second.drop("value"))
    assert first["value"].to_list() == pytest.approx(second["value"].to_list())
