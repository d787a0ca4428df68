"""Floors and ranges against scipy, hand computation and invented arms."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats
from evaluate_support import predictions

from auditkit.errors import InputError, UsageError
from auditkit.evaluate.floors import (
    Floor,
    as_matrix,
    critical_range,
    evaluation_floor,
    paired_difference,
    permutation_p,
    policy_sensitivity,
    range_p,
    seed_floor,
)
from auditkit.evaluate.lineage import lineages
from auditkit.evaluate.ranges import decide, fold, ranges
from auditkit.evaluate.relabel import benjamini_hochberg, capability_share, extremes_p, policy_share, smallest_share_p
from auditkit.study_records.settings import Arm, Stage, StudyBenchmark, Teacher
from auditkit.tables import METRICS


def test_the_seed_floor_by_hand() -> None:
    floor = seed_floor({"x": [0.1, 0.3], "y": [0.5, 0.5]})
    assert floor is not None
    assert floor.sigma == pytest.approx(0.1)  # (0.01 + 0.01) / 2
    assert floor.df == 2
    assert floor.upper == pytest.approx(0.1 * math.sqrt(2 / scipy.stats.chi2.ppf(0.05, 2)))
    assert seed_floor({"x": [0.1], "y": [0.2]}) is None


@pytest.mark.parametrize(("n_seeds", "critical"), [(2, 3.96), (3, 2.89), (5, 2.12)])
def test_critical_values_of_ten_arms(n_seeds: int, critical: float) -> None:
    assert critical_range(10, n_seeds) == pytest.approx(critical, abs=0.005)


def test_a_floor_of_one_arm_is_worth_little() -> None:
    assert critical_range(10, 1, df=2) == pytest.approx(13.99, abs=0.005)


def test_the_range_test_is_scipys() -> None:
    floor = Floor(0.02, 0.03, 20)
    expected = scipy.stats.studentized_range.sf(0.05 * math.sqrt(3) / 0.02, 10, 20)
    assert range_p(0.05, floor, 10, 3) == pytest.approx(expected)
    critical = critical_range(10, 3) * 0.02
    assert range_p(critical, floor, 10, 3) == pytest.approx(0.05, abs=1e-4)


def test_a_floor_of_zero_has_no_p_without_a_range() -> None:
    none = Floor(0.0, 0.0, 4)
    assert range_p(0.0, none, 4, 2) is None
    assert range_p(0.1, none, 4, 2) == 0.0


def test_arms_need_the_same_number_of_seeds() -> None:
    with pytest.raises(UsageError, match="arm 'y' has 1 seeds and others 2"):
        as_matrix({"x": [0.1, 0.2], "y": [0.3]})


def test_permutations_are_counted_one_by_one_when_few() -> None:
    # 15 ways to split six runs in three pairs; only the observed one separates all three.
    runs = {"x": [0.0, 0.01], "y": [0.5, 0.51], "z": [1.0, 1.01]}
    assert permutation_p(runs) == pytest.approx(1 / 15)
    # The oracle: all 6! orders.
    values = np.array([0.0, 0.3, 0.1, 0.6, 0.4, 0.9])
    spreads = [np.ptp(np.reshape(order, (3, 2)).mean(1)) for order in itertools.permutations(values)]
    observed = np.ptp(values.reshape(3, 2).mean(1))
    exact = permutation_p({"x": values[:2].tolist(), "y": values[2:4].tolist(), "z": values[4:].tolist()})
    assert exact == pytest.approx(np.mean([spread >= observed - 1e-12 for spread in spreads]))


def test_many_permutations_are_drawn_with_a_seed() -> None:
    random = np.random.default_rng(0)
    runs = {str(k): random.normal(k, 0.1, 3).tolist() for k in range(10)}
    assert permutation_p(runs) == permutation_p(runs) == pytest.approx(1e-4)
    noise = {str(k): random.normal(0, 0.1, 3).tolist() for k in range(10)}
    assert permutation_p(noise) > 0.01
    assert permutation_p({"x": [0.1], "y": [0.3]}) is None


def test_sensitivity_is_the_f_test() -> None:
    runs = {"x": [0.1, 0.2, 0.15], "y": [0.5, 0.45, 0.5], "z": [0.3, 0.2, 0.3]}
    effect, p = policy_sensitivity(runs)
    oracle = scipy.stats.f_oneway(*runs.values())
    assert p == pytest.approx(oracle.pvalue)
    assert effect == pytest.approx(math.sqrt((oracle.statistic - 1) / 3))
    assert policy_sensitivity({"x": [0.1, 0.9], "y": [0.9, 0.1]})[0] == 0.0
    assert policy_sensitivity({"x": [0.1, 0.1], "y": [0.9, 0.9]}) == (None, None)


def test_paired_differences_are_the_paired_t() -> None:
    first, second = [0.5, 0.6, 0.7], [0.4, 0.45, 0.65]
    found = paired_difference(first, second)
    oracle = scipy.stats.ttest_rel(first, second).confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(oracle.low), pytest.approx(oracle.high))
    assert paired_difference([0.5], [0.4]).low is None


def test_policy_share_by_hand_and_exact() -> None:
    share, p = policy_share([0.9, 0.8, 0.1, 0.2], ["A", "A", "B", "B"], ["small"] * 4)
    assert share == pytest.approx(0.49 / 0.5)  # SS between 4 * 0.35^2 = 0.49, total 0.5
    assert p == pytest.approx(2 / 6)
    # Within model scale only two arrangements of each pair exist: all four, of which two are as extreme.
    assert policy_share([0.9, 0.1, 0.8, 0.2], ["A", "B", "A", "B"], ["s", "s", "l", "l"])[1] == pytest.approx(0.5)
    assert policy_share([0.5, 0.5], ["A", "B"], ["s", "s"]) == (None, None)
    assert policy_share([0.5, 0.6], ["A", "A"], ["s", "s"]) == (None, None)


def test_policy_share_is_uniform_under_the_null() -> None:
    random = np.random.default_rng(2)
    policies = ["A", "B"] * 2 + ["mixed"] * 2 + ["A", "B"] * 2 + ["mixed"] * 2
    models = ["s"] * 6 + ["l"] * 6
    found = [policy_share(random.normal(size=12), policies, models)[1] for _ in range(60)]
    assert np.mean([p <= 0.05 for p in found]) <= 0.12


def test_extremes_have_the_smallest_p_of_five_against_five() -> None:
    assert extremes_p([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == pytest.approx(0.008, abs=5e-4)
    assert extremes_p([1.0], []) is None


def test_extremes_with_ties_count_every_division() -> None:
    first, second = [0.0, 0.0, 0.1], [0.1, 0.5, 0.6]
    ranks = scipy.stats.rankdata([*first, *second])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, 3)]
    observed = abs(ranks[:3].sum() - 10.5)
    assert extremes_p(first, second) == pytest.approx(np.mean([abs(s - 10.5) >= observed for s in sums]))
    assert extremes_p([0.0] * 4, [0.0] * 4) == 1.0


def test_benjamini_hochberg_is_scipys_and_leaves_the_undefined() -> None:
    values = [0.01, None, 0.04, 0.03]
    oracle = scipy.stats.false_discovery_control([0.01, 0.04, 0.03])
    assert benjamini_hochberg(values) == [
        pytest.approx(oracle[0]),
        None,
        pytest.approx(oracle[1]),
        pytest.approx(oracle[2]),
    ]
    assert benjamini_hochberg([None]) == [None]


def test_capability_explains_what_policy_leaves() -> None:
    policies, models = ["A"] * 6 + ["B"] * 6, ["m"] * 12
    skill = np.r_[np.linspace(0.8, 0.9, 6), np.linspace(0.85, 0.95, 6)]
    means = np.repeat([0.2, 0.7], 6) + 2 * skill
    share, p = capability_share(means, skill, policies, models)
    assert share == pytest.approx(1.0)
    assert p < 0.01
    assert capability_share([0.1, 0.2], [0.5, 0.6], ["A", "B"], ["m", "m"]) == (None, None)


def test_the_evaluation_floor_is_the_same_checkpoint_twice() -> None:
    first = pl.concat([predictions([0.5, 0.2, 0.9, 0.1], set_name="b"), predictions([0.4], set_name="c")])
    again = first.with_columns(pl.col("score") - pl.when(pl.col("score") == 0.5).then(1e-6).otherwise(0.0))
    found = evaluation_floor(first, again)
    assert (found["b"].rate, found["b"].n_flips, found["b"].n) == (0.25, 1, 4)
    assert found["b"].score == pytest.approx(1e-6)
    assert found["c"].rate == 0.0
    with pytest.raises(InputError, match="the same prompts"):
        evaluation_floor(first, first.head(3))


# ---------------------------------------------------------------- lineages and ranges


def hard(name: str, policy: str, model: str) -> Arm:
    return Arm(name, model, (Stage(policy),), policy)


def ten_arms() -> list[Arm]:
    """The study's ten: hard labels at both scales, one after the other, students, and patches."""
    arms = [hard(f"{policy}-{model}", policy, model) for model in ("small", "large") for policy in "AB"]
    for first, last in ("AB", "BA"):
        arms.append(Arm(f"{first}-then-{last}", "small", (Stage(first), Stage(last)), last))
        student = Stage(last, Teacher(arm=f"{first}-large"))
        arms.append(Arm(f"{last}-taught-{first}", "small", (student,), "mixed"))
        arms.append(Arm(f"{first}-patch-{last}", "large", (Stage(first), Stage(last)), last, parent=f"{first}-large"))
    return arms


def test_arms_are_related_by_parent_teacher_and_first_stage() -> None:
    found = {names[0]: set(names) for names in lineages(ten_arms())}
    assert found == {
        "A-small": {"A-small", "A-then-B"},
        "B-small": {"B-small", "B-then-A"},
        "A-large": {"A-large", "B-taught-A", "A-patch-B"},
        "B-large": {"B-large", "A-taught-B", "B-patch-A"},
    }


def test_students_of_one_outside_teacher_are_one_lineage() -> None:
    teach = Teacher(model="org/guard")
    arms = [Arm(f"s{i}", f"m{i}", (Stage("A", teach),), "mixed") for i in range(2)]
    assert lineages([*arms, hard("x", "A", "m0")]) == (("s0", "s1"), ("x",))


def metric_rows(runs: dict[str, list[float]], benchmark: str, capability: dict[str, float]) -> pl.DataFrame:
    rows = []
    for arm, values in runs.items():
        for seed, number in enumerate(values, 1):
            shared = {"arm": arm, "seed": seed, "part": "all", "n": 100, "low": None, "high": None}
            rows.append({**shared, "set": benchmark, "metric": "flag_rate", "point": "native", "value": number})
            rows.append({**shared, "set": "test", "metric": "auroc_concordant", "point": "", "value": capability[arm]})
    return pl.DataFrame(rows, schema=METRICS).unique(maintain_order=True)


def study_of(level: dict[str, float], noise: float, seed: int = 0, benchmark: str = "b") -> pl.DataFrame:
    random = np.random.default_rng(seed)
    runs = {arm.name: (level[arm.final_policy] + random.normal(0, noise, 3)).tolist() for arm in ten_arms()}
    return metric_rows(runs, benchmark, {arm.name: float(random.normal(0.95, 0.005)) for arm in ten_arms()})


BENCHMARK = StudyBenchmark("b", "b.jsonl", "harmful")


def test_a_benchmark_that_follows_the_final_policy_measures_policy() -> None:
    found = study_of({"A": 0.05, "B": 0.95, "mixed": 0.5}, 0.02)
    (one,) = ranges(found, [BENCHMARK], ten_arms(), ("A", "B"))
    assert one.measures == "policy"
    assert one.value > 0.8 > (one.critical or 1)
    assert one.policy_share > 0.9
    assert (one.n_lineages, one.n_items) == (4, 100)
    assert one.extremes_p == one.extremes_q == pytest.approx(2 / 70)
    assert one.sentence.startswith("b: arms range over 0.")
    assert "so it measures the labelling policy" in one.sentence
    assert one.paired["A-patch-B - A-large"].value == pytest.approx(0.9, abs=0.1)


def test_a_benchmark_within_the_floor_cannot_tell() -> None:
    (one,) = ranges(study_of({"A": 0.5, "B": 0.5, "mixed": 0.5}, 0.02, 3), [BENCHMARK], ten_arms(), ("A", "B"))
    assert one.measures == "cannot tell"
    assert "within the seed floor" in one.sentence


def test_a_benchmark_that_follows_capability_measures_capability() -> None:
    random = np.random.default_rng(5)
    skill = {arm.name: 0.8 + 0.02 * i for i, arm in enumerate(random.permutation(np.array(ten_arms(), object)))}
    runs = {name: (3 * value - 2 + random.normal(0, 0.005, 3)).tolist() for name, value in skill.items()}
    (one,) = ranges(metric_rows(runs, "b", skill), [BENCHMARK], ten_arms(), ("A", "B"))
    assert one.capability_share > 0.9
    assert one.measures in ("capability", "both")


def test_one_seed_has_no_floor() -> None:
    found = study_of({"A": 0.05, "B": 0.95, "mixed": 0.5}, 0.02).filter(seed=1)
    (one,) = ranges(found, [BENCHMARK], ten_arms(), ("A", "B"))
    assert (one.sigma_seed, one.p, one.measures) == (None, None, "cannot tell")
    assert "with one seed" in one.sentence


def test_a_benchmark_that_no_arm_moves_has_no_p() -> None:
    (one,) = ranges(study_of({"A": 0.0, "B": 0.0, "mixed": 0.0}, 0.0), [BENCHMARK], ten_arms(), ("A", "B"))
    assert (one.value, one.p, one.policy_share, one.measures) == (0.0, None, None, "cannot tell")


def test_an_undefined_point_leaves_the_benchmark_out() -> None:
    found = study_of({"A": 0.05, "B": 0.95, "mixed": 0.5}, 0.02)
    assert ranges(found, [BENCHMARK], ten_arms(), ("A", "B"), point="matched_fpr") == ()
    assert ranges(found, [BENCHMARK], ten_arms()[:1], ("A", "B")) == ()


def test_too_few_arms_say_that_no_relabelling_could_be_significant() -> None:
    arms = [arm for arm in ten_arms() if len(arm.stages) == 1 and arm.final_policy != "mixed"]
    assert smallest_share_p([a.final_policy for a in arms], [a.model for a in arms]) == 0.5
    (one,) = ranges(study_of({"A": 0.05, "B": 0.95, "mixed": 0.5}, 0.02), [BENCHMARK], arms, ("A", "B"))
    assert one.measures == "cannot tell"
    assert "no relabelling within a model can be significant (smallest p = 0.50)" in one.sentence
    ten = ten_arms()
    assert smallest_share_p([a.final_policy for a in ten], [a.model for a in ten]) < 0.01


def test_control_arms_stand_outside() -> None:
    arms = [*ten_arms()[:-1], replace(ten_arms()[-1], control="shuffled")]
    (one,) = ranges(study_of({"A": 0.05, "B": 0.95, "mixed": 0.5}, 0.02), [BENCHMARK], arms, ("A", "B"))
    assert len(one.arm_means) == 9


def test_the_rule_of_what_is_measured() -> None:
    facts = {
        "lineage_p": 0.01, "p": 0.01, "p_permutation": 0.01,
        "policy_share": 0.8, "policy_share_p": 0.01, "capability_share_p": 0.01,
    }  # fmt: skip
    assert decide(facts) == "both"
    assert decide({**facts, "capability_share_p": None}) == "policy"
    assert decide({**facts, "policy_share": 0.4}) == "capability"
    assert decide({**facts, "lineage_p": 0.2}) == "cannot tell"
    assert decide({**facts, "policy_share_p": 0.2, "capability_share_p": 0.2}) == "cannot tell"


def test_the_fold_does_not_explode() -> None:
    (one,) = ranges(study_of({"A": 0.0, "B": 1.0, "mixed": 0.5}, 0.0), [BENCHMARK], ten_arms(), ("A", "B"))
    wide = replace(one, benchmark="wide", value=0.99)
    narrow = replace(one, benchmark="narrow", value=0.043, n_items=1000)
    assert fold([wide, narrow])["value"] == pytest.approx(0.99 / 0.043)
    still = replace(one, benchmark="still", value=0.0, n_items=100)
    found = fold([wide, still])
    assert found["value"] == pytest.approx(0.99 / 0.03)
    assert (found["narrowest"], found["is_bounded"]) == ("still", True)
    assert fold([wide]) == {}
