"""Inheritance against hand computation, statsmodels and simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from evaluate_support import predictions, targets
from statsmodels.stats.contingency_tables import mcnemar

from auditkit.evaluate.inheritance import (
    cohens_h,
    compare,
    dose_of,
    fieller,
    inheritances,
    mcnemar_p,
    reference_of,
)
from auditkit.study_records.results import Threshold
from auditkit.study_records.settings import Arm, Stage, Teacher

SOFT = Teacher(arm="teacher")
ARMS = [
    Arm("teacher", "large", (Stage("A"),), "A"),
    Arm("plain", "small", (Stage("B"),), "B"),
    Arm("student", "small", (Stage("B", SOFT),), "mixed"),
    Arm("shuffled", "small", (Stage("B", Teacher(arm="teacher", is_shuffled=True)),), "mixed", control="shuffled"),
    Arm("same", "small", (Stage("B", Teacher(arm="plain")),), "B", control="same_policy"),
]


def study(share: dict[str, float], n: int = 300, n_seeds: int = 3) -> tuple[Any, Any, list[Threshold]]:
    """Return arms that follow A on each discordant prompt with the given probability."""
    random = np.random.default_rng(0)
    a = random.integers(0, 2, n)
    frames, thresholds = [], []
    for arm, p in share.items():
        for seed in range(1, n_seeds + 1):
            follows = random.random(n) < p
            frames.append(predictions(np.where(follows, a, 1 - a).astype(float), arm, seed))
            thresholds.append(Threshold(arm, seed, "native", 0.5))
    return pl.concat(frames), targets(a, 1 - a), thresholds


SHARES = {"teacher": 0.9, "plain": 0.1, "student": 0.5, "shuffled": 0.1, "same": 0.1}


def test_a_student_halfway_has_an_inheritance_of_a_half() -> None:
    found = {one.student: one for one in inheritances(*study(SHARES), ARMS, ("A", "B"))}
    assert set(found) == {"student", "shuffled", "same"}
    student = found["student"]
    assert (student.reference, student.teacher, student.kind) == ("plain", "teacher", "teacher")
    assert student.inheritance.value == pytest.approx(0.5, abs=0.06)
    assert 0.35 < student.inheritance.low < student.inheritance.value < student.inheritance.high < 0.65
    assert student.difference.value == pytest.approx(0.4, abs=0.05)
    assert student.mcnemar_p < 1e-6
    assert student.cohens_h > 0.8


def test_shuffled_soft_labels_pass_nothing_on() -> None:
    found = {one.student: one for one in inheritances(*study(SHARES), ARMS, ("A", "B"))}
    shuffled = found["shuffled"]
    assert shuffled.kind == "shuffled"
    assert shuffled.inheritance.low < 0 < shuffled.inheritance.high
    assert abs(shuffled.inheritance.value) < 0.1


def test_a_teacher_like_the_reference_has_no_share_to_state() -> None:
    same = {one.student: one for one in inheritances(*study(SHARES), ARMS, ("A", "B"))}["same"]
    assert same.inheritance.value is None
    assert "do not differ for certain" in same.note
    assert same.difference.value is not None


def test_the_mirror_is_measured_towards_b() -> None:
    mirror = [
        Arm("teacher", "large", (Stage("B"),), "B"),
        Arm("plain", "small", (Stage("A"),), "A"),
        Arm("student", "small", (Stage("A", SOFT),), "mixed"),
    ]
    rows = study({"teacher": 0.1, "plain": 0.9, "student": 0.5})
    (found,) = inheritances(*rows, mirror, ("A", "B"))
    assert found.difference.value == pytest.approx(0.4, abs=0.05)


def test_what_is_missing_is_named() -> None:
    rows = study({"student": 0.5, "plain": 0.1})
    (found, *_) = inheritances(*rows, ARMS[1:3], ("A", "B"))
    assert "teacher 'teacher' has no predictions" in found.note
    assert found.difference.value is not None
    alone = [Arm("student", "small", (Stage("B", SOFT),), "mixed")]
    (found,) = inheritances(*rows, alone, ("A", "B"))
    assert "no arm with the same model" in found.note
    only_soft = [Arm("student", "small", (Stage("", SOFT),), "A")]
    assert "no hard labels" in inheritances(*rows, only_soft, ("A", "B"))[0].note


def test_the_reference_differs_by_the_teacher_alone() -> None:
    other = Arm("longer", "small", (Stage("B", epochs=3.0),), "B")
    exact = Arm("plain", "small", (Stage("B"),), "B")
    assert reference_of(ARMS[2], [other, exact]) == exact
    assert reference_of(ARMS[2], [other]) == other
    assert reference_of(ARMS[2], [Arm("x", "large", (Stage("B"),), "B")]) is None
    assert dose_of(Stage("B", Teacher(arm="t", weight=0.25, temperature=4.0))) == "weight 0.25, temperature 4"


def test_fieller_by_hand() -> None:
    # Without uncertainty in the denominator it is the interval of the numerator, divided.
    low, high = fieller(2.0, 4.0, 0.25, 0.0, 0.0, 2.0)
    assert (low, high) == (pytest.approx((2 - 1) / 4), pytest.approx((2 + 1) / 4))
    assert fieller(2.0, 4.0, 0.25, 0.0, 4.0, 2.0) is None  # 4 +- 4 touches 0
    low, high = fieller(2.0, 4.0, 0.25, 0.1, 0.3, 1.96)
    for ratio in (low, high):  # the ends solve (N - I D)^2 = t^2 Var(N - I D)
        assert (2 - ratio * 4) ** 2 == pytest.approx(1.96**2 * (0.25 - 2 * ratio * 0.1 + ratio**2 * 0.3))


def test_mcnemar_is_statsmodels_on_the_majority_of_seeds() -> None:
    random = np.random.default_rng(4)
    first, second = (random.random((3, 50)) < 0.7).astype(float), (random.random((3, 50)) < 0.4).astype(float)
    one, two = first.mean(0) > 0.5, second.mean(0) > 0.5
    table = [[int((~one & ~two).sum()), int((~one & two).sum())], [int((one & ~two).sum()), int((one & two).sum())]]
    assert mcnemar_p(first, second) == pytest.approx(mcnemar(table, exact=True).pvalue)
    tied = np.array([[0.0], [1.0]])
    assert mcnemar_p(tied, tied) is None


def test_cohens_h_by_hand() -> None:
    found = cohens_h(np.array([[1.0, 1.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 0.0, 0.0]]))
    assert found == pytest.approx(2 * math.asin(math.sqrt(0.5)) - 2 * math.asin(math.sqrt(0.25)))
    assert cohens_h(np.full((1, 2), np.nan), np.ones((1, 2))) is None


def test_without_shared_prompts_nothing_is_compared() -> None:
    nothing = np.full((2, 3), np.nan)
    found = compare(nothing, nothing, nothing, np.arange(3), None)
    assert found.difference.value is None
    assert "no prompt" in found.note
