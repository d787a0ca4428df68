"""Correlations over arms against scipy and the figures of docs/definitions.md."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats
from evaluate_support import invented, predictions, targets

from auditkit.evaluate.correlations import (
    compare_dependent,
    correlate,
    correlations,
    halves,
    pearson_interval,
    permutation_p,
    recipe_blocks,
)
from auditkit.study_records.results import Threshold
from auditkit.study_records.settings import Arm, Stage, Teacher


@pytest.mark.parametrize(("r", "bounds"), [(0.74, (0.21, 0.93)), (0.34, (-0.37, 0.80))])
def test_intervals_with_ten_arms(r: float, bounds: tuple[float, float]) -> None:
    assert pearson_interval(r, 10) == pytest.approx(bounds, abs=0.006)
    assert pearson_interval(r, 3) is None


def test_pearson_spearman_and_interval_are_scipys() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=12)
    y = x + random.normal(size=12)
    found = correlate("agreement_a", "acc_a", x, y)
    oracle = scipy.stats.pearsonr(x, y)
    interval = oracle.confidence_interval(0.95)
    assert found.pearson.value == pytest.approx(oracle.statistic)
    assert (found.pearson.low, found.pearson.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert found.spearman == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    assert found.sd_predictor == pytest.approx(x.std(ddof=1))
    without = [scipy.stats.pearsonr(np.delete(x, i), np.delete(y, i)).statistic for i in range(12)]
    assert found.leave_one_out == (pytest.approx(min(without)), pytest.approx(max(without)))
    assert "descriptive: 12 independent arms" in found.note


def test_permutations_are_scipys_when_every_arm_stands_alone() -> None:
    random = np.random.default_rng(1)
    x, y = random.normal(size=6), random.normal(size=6)
    method = scipy.stats.PermutationMethod(n_resamples=10_000)
    expected = scipy.stats.pearsonr(x, y, method=method).pvalue
    assert permutation_p(x, y, [[i] for i in range(6)]) == pytest.approx(expected)


def test_blocks_are_permuted_whole() -> None:
    x, y = np.array([0.0, 0.1, 1.0, 1.1]), np.array([0.0, 0.2, 1.0, 1.2])
    # Two blocks of two have two arrangements: no p below 2 * 1 / 2. Three have six; the observed one is the largest.
    assert permutation_p(x, y, [[0, 1], [2, 3]]) == 1.0
    longer = np.r_[x, 2.0, 2.1], np.r_[y, 2.0, 2.2]
    assert permutation_p(*longer, [[0, 1], [2, 3], [4, 5]]) == pytest.approx(2 / 6)
    assert permutation_p(x, np.ones(4), [[0, 1], [2, 3]]) is None


def test_many_arrangements_are_drawn_with_a_seed() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=12)
    blocks = [[i] for i in range(12)]
    assert permutation_p(x, x, blocks) == pytest.approx(2e-4)
    assert permutation_p(x, random.normal(size=12), blocks) > 0.01


def test_the_dependent_test_of_the_paper() -> None:
    """Meng, Rosenthal and Rubin (1992), their example: r = .63 and -.03 with r12 = -.19 and n = 15 give Z = 1.68."""
    found = compare_dependent(0.63, -0.03, -0.19, 15)
    assert found.z == pytest.approx(1.68, abs=0.02)
    assert found.p == pytest.approx(2 * scipy.stats.norm.sf(found.z))
    assert found.low < math.atanh(0.63) - math.atanh(-0.03) < found.high
    assert compare_dependent(0.5, 0.5, 0.3, 10).z == 0.0
    assert compare_dependent(0.5, 0.4, 1.0, 10) is None
    assert compare_dependent(0.5, 0.4, 0.1, 3) is None


def test_a_side_that_does_not_vary_is_undefined() -> None:
    found = correlate("x", "y", np.ones(5), np.arange(5.0))
    assert (found.pearson.value, found.pearson.low, found.spearman, found.p_permutation) == (None, None, None, None)


def test_halves_are_disjoint_and_keep_families_whole() -> None:
    n = 101
    goal = targets([0] * n, [0] * n, group=[f"g{i // 3}" for i in range(n)])
    first, second = halves(goal, seed=3)
    assert sorted([*first, *second]) == list(range(n))
    assert {i // 3 for i in first}.isdisjoint(i // 3 for i in second)
    assert abs(len(first) - n / 2) <= 3
    assert halves(goal, seed=3) == (first, second) != halves(goal, seed=4)


def test_arms_that_share_a_recipe_across_scales_are_a_block() -> None:
    arms = [
        Arm("a-large", "large", (Stage("A"),), "A"),
        Arm("b-small", "small", (Stage("B"),), "B"),
        Arm("a-small", "small", (Stage("A"),), "A"),
        Arm("s-small", "small", (Stage("B", Teacher(arm="a-large")),), "mixed"),
        Arm("s-large", "large", (Stage("B", Teacher(arm="a-small")),), "mixed"),
    ]
    assert recipe_blocks(arms) == [[0, 2], [1], [4, 3]]


def test_accuracy_follows_agreement_on_other_prompts() -> None:
    a, b = invented(600, 7)
    random = np.random.default_rng(8)
    arms, frames, thresholds = [], [], []
    for k in range(8):
        share = k / 7
        arms.append(Arm(f"arm{k}", f"m{k}", (Stage("A"),), "A"))
        for seed in (1, 2):
            label = np.where(random.random(600) < share, a, b)
            score = np.clip(random.normal(0.3 + 0.4 * label, 0.15), 0, 1)
            frames.append(predictions(score, f"arm{k}", seed))
            thresholds.append(Threshold(f"arm{k}", seed, "native", 0.5))
    found, tests = correlations(pl.concat(frames), targets(a, b), thresholds, arms)
    by_name = {(one.accuracy, one.predictor): one for one in found}
    assert set(by_name) == {(f"acc_{own}", name) for own in "ab" for name in (f"agreement_{own}", "auroc_concordant")}
    assert by_name["acc_a", "agreement_a"].pearson.value > 0.9
    assert by_name["acc_b", "agreement_b"].pearson.value > 0.9
    test = tests["acc_a"]
    assert test["r_agreement"] == by_name["acc_a", "agreement_a"].pearson.value
    assert test["n_arms"] == 8
    assert test["n_independent"] == 1  # one recipe at eight scales
    assert "descriptive" in test["note"]


def test_without_arms_everything_is_undefined() -> None:
    found, tests = correlations(predictions([]), targets([], []), [], [])
    assert [one.pearson.value for one in found] == [None] * 4
    assert found[0].n_arms == 0
    assert (tests["acc_a"]["z"], tests["acc_a"]["p"], tests["acc_b"]["r_between"]) == (None, None, None)


def test_two_arms_have_a_correlation_and_no_interval() -> None:
    found = correlate("x", "y", np.array([0.1, 0.2]), np.array([0.3, 0.5]))
    assert (found.pearson.value, found.pearson.low, found.leave_one_out) == (pytest.approx(1.0), None, None)
