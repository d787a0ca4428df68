"""Hits, intervals and gaps against scikit-learn and plain loops."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import sklearn.metrics
from evaluate_support import invented, predictions, targets

from auditkit.errors import UsageError
from auditkit.evaluate.hits import hits, run_values
from auditkit.evaluate.intervals import (
    PROMPTS_ONLY,
    Parts,
    by_policy,
    gap,
    group_weights,
    replicates,
    score_intervals,
    weighted_auroc,
)
from auditkit.study_records.results import Threshold


def study(n: int = 300, n_seeds: int = 3, shift: float = 0.3) -> tuple[pl.DataFrame, pl.DataFrame, list[Threshold]]:
    """Return two arms: one follows policy A, the other policy B."""
    a, b = invented(n, 1)
    random = np.random.default_rng(2)
    groups = [f"g{i // 2}" for i in range(n)]
    frames, thresholds = [], []
    for arm, label in (("a", a), ("b", b)):
        for seed in range(1, n_seeds + 1):
            score = np.clip(random.normal(0.35 + shift * label, 0.2), 0, 1)
            frames.append(predictions(score, arm, seed))
            thresholds.append(Threshold(arm, seed, "native", 0.5))
    return pl.concat(frames), targets(a, b, group=groups), thresholds


@pytest.mark.parametrize("measure", ["agreement_a", "acc_b", "acc_c", "flag_rate", "f10", "fpr_c0"])
def test_run_values_are_the_metrics(measure: str) -> None:
    from auditkit.evaluate.metrics import metrics, value

    rows = study()
    found = hits(*rows, measure)
    table = metrics(*rows)
    values = run_values(found)
    for k, arm in enumerate(found.arms):
        for s, seed in enumerate(found.seeds):
            expected = value(table, measure, arm=arm, seed=seed, point="native")
            assert values[k, s] == pytest.approx(expected)


def test_rankings_are_scikit_learns() -> None:
    from auditkit.evaluate.metrics import metrics, value

    rows = study()
    for measure in ("auroc_concordant", "agreement_auroc"):
        found = run_values(hits(*rows, measure))
        assert found[1, 2] == pytest.approx(value(metrics(*rows), measure, arm="b", seed=3))


def test_hits_of_some_items_and_of_failed_predictions() -> None:
    rows = predictions([0.9, None, 0.2], status=["ok", "error", "ok"])
    found = hits(rows, targets([1, 0, 1], [1, 0, 1]), [], "acc_a", items=[1, 2])
    assert found.items.tolist() == [2]
    assert np.isnan(found.values).all()  # no threshold was given, so no decision is defined
    with pytest.raises(UsageError, match=r"unknown measure 'acc'.*did you mean"):
        hits(rows, targets([1, 0, 1], [1, 0, 1]), [], "acc")
    with pytest.raises(UsageError, match="arm 'x' has no predictions"):
        found.of("x")


def test_weighted_auroc_is_scikit_learns() -> None:
    random = np.random.default_rng(3)
    labels = random.integers(0, 2, 60)
    score = random.choice([0.1, 0.2, 0.5, 0.7], 60)
    weights = random.integers(0, 3, (5, 60)).astype(float)
    found = weighted_auroc(score, labels, weights)
    for row, value in zip(weights, found, strict=True):
        assert value == pytest.approx(sklearn.metrics.roc_auc_score(labels, score, sample_weight=row))
    assert np.isnan(weighted_auroc(score, np.ones(60, int), weights)).all()


def test_groups_are_drawn_whole_and_alike_for_all_arms() -> None:
    found = hits(*study(), "acc_a")
    weights = group_weights(found, 50, seed=1)
    assert weights.sum(1) == pytest.approx(300)
    assert (weights[:, 0::2] == weights[:, 1::2]).all()
    assert (weights == group_weights(found, 50, seed=1)).all()


def test_replicates_are_weighted_means() -> None:
    found = hits(*study(), "acc_a")
    weights = group_weights(found, 4)
    made = replicates(found, "a", weights)
    assert made.shape == (3, 4)
    assert made[1, 2] == pytest.approx(np.average(found.of("a")[1], weights=weights[2]))


def test_an_interval_holds_its_value_and_names_its_method() -> None:
    found = score_intervals(hits(*study(), "agreement_a"))
    assert found["a"].low < found["a"].value < found["a"].high
    assert found["a"].value > 0.6 > 0.4 > found["b"].value
    one_seed = score_intervals(hits(*study(n_seeds=1), "agreement_a"))
    assert one_seed["a"].method == PROMPTS_ONLY


def test_groups_widen_an_interval() -> None:
    rows, goal, thresholds = study(n=200)
    half = goal.with_columns((pl.col("item") // 20).cast(pl.String()).alias("group"))
    doubled = rows.with_columns(pl.col("score").gather(pl.col("item") // 20 * 20).over("arm", "seed"))
    single = goal.with_columns(pl.col("item").cast(pl.String()).alias("group"))
    flat = score_intervals(hits(doubled, single, thresholds, "flag_rate"))
    grouped = score_intervals(hits(doubled, half, thresholds, "flag_rate"))
    assert grouped["a"].high - grouped["a"].low > 2 * (flat["a"].high - flat["a"].low)


def test_a_rate_without_events_is_wilsons_over_groups() -> None:
    rows = pl.concat([predictions([0.0] * 40, seed=seed) for seed in (1, 2)])
    goal = targets([1] * 40, [1] * 40, group=[str(i // 2) for i in range(40)])
    thresholds = [Threshold("arm", seed, "native", 0.5) for seed in (1, 2)]
    found = score_intervals(hits(rows, goal, thresholds, "flag_rate"))["arm"]
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(3.84 / (20 + 3.84), abs=1e-3)


def test_seeds_and_prompts_are_weighed_in_t() -> None:
    from scipy.stats import norm, t

    assert Parts(1.0, 0.0, 0.0, 0).half_width() == pytest.approx(norm.ppf(0.975))
    assert Parts(0.0, 4.0, 0.0, 6).half_width() == pytest.approx(2 * t.ppf(0.975, 6))
    assert Parts(1.0, 1.0, 0.5, 6).total == 1.5


def test_the_gap_between_policies() -> None:
    rows = study()
    found = gap(hits(*rows, "agreement_a"), ["a"], ["b"])
    values = run_values(hits(*rows, "agreement_a")).mean(1)
    assert found.value == pytest.approx(values[0] - values[1])
    assert 0 < found.low < found.value < found.high
    none = gap(hits(*rows, "auroc_concordant"), ["a"], ["b"])
    assert none.low < 0 < none.high
    assert gap(hits(*rows, "agreement_a"), ["a"], ["missing"]).value is None
    assert by_policy({"a": "A", "b": "B", "c": "A"}, "A") == ["a", "c"]


def test_an_empty_set_has_no_interval() -> None:
    assert score_intervals(hits(predictions([]), targets([], []), [], "acc_a")) == {}
