"""How much of its teacher's policy a student took, with the controls that tell it from label smoothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.evaluate.floors import Floor, seed_floor
from auditkit.evaluate.hits import Hits, hits, run_values
from auditkit.study_records.results import Estimate, Inheritance, Threshold
from auditkit.study_records.settings import Arm, Stage

Floats = NDArray[np.float64]

FIELLER = "Fieller, groups of prompts + seeds, t"


def inheritances(
    predictions: pl.DataFrame,
    targets: pl.DataFrame,
    thresholds: Sequence[Threshold],
    arms: Sequence[Arm],
    policies: tuple[str, str],
    set_name: str = "test",
    point: str = "native",
) -> tuple[Inheritance, ...]:
    """Return one record for each student: an arm whose last stage has a teacher. Controls have a kind of their own.

    Agreement is measured towards the policy that the student's hard labels do not follow (hard B: lambda_A), for
    same-policy teachers too, so that all kinds can be compared. The reference has the same model, the same earlier
    stages and the same hard labels, and no teacher. I = [lambda(student) - lambda(reference)] / [lambda(teacher) -
    lambda(reference)], with a Fieller interval, only where the denominator's interval excludes 0; else None and a note.

    Raises:
        InputError: predictions that cannot be used (scored.joined).
    """
    measured = {
        measure: hits(predictions, targets, thresholds, measure, set_name, point)
        for measure in ("agreement_a", "agreement_b")
    }
    made = []
    for arm in arms:
        stage = arm.stages[-1] if arm.stages else None
        if stage is None or stage.teacher is None:
            continue
        measure = "agreement_b" if stage.labels == policies[0] else "agreement_a"
        made.append(_record(measured[measure], arm, stage, arms))
    return tuple(made)


def reference_of(student: Arm, arms: Sequence[Arm]) -> Arm | None:
    """Return the arm like `student` but for the teacher of its last stage; None where the study has none.

    The last stage has the same hard labels; one that is equal in all else is preferred.
    """
    last = student.stages[-1]
    alike = [
        arm
        for arm in arms
        if not arm.control
        and arm.model == student.model
        and len(arm.stages) == len(student.stages)
        and arm.stages[:-1] == student.stages[:-1]
        and arm.stages[-1].teacher is None
        and arm.stages[-1].labels == last.labels
    ]
    equal = [arm for arm in alike if arm.stages[-1] == replace(last, teacher=None)]
    return next(iter([*equal, *alike]), None)


def dose_of(stage: Stage) -> str:
    """Return the mixing weight and temperature of a stage's teacher in words."""
    return f"weight {stage.teacher.weight:g}, temperature {stage.teacher.temperature:g}" if stage.teacher else ""


def _record(found: Hits, student: Arm, stage: Stage, arms: Sequence[Arm]) -> Inheritance:
    assert stage.teacher is not None
    teacher = stage.teacher.arm or stage.teacher.model or stage.teacher.column
    reference = reference_of(student, arms)
    kind, dose = student.control or "teacher", dose_of(stage)
    nothing = Estimate(None, n=len(found.items))
    name = reference.name if reference else ""
    fault = _fault(found, student.name, name, stage)
    if fault:
        return Inheritance(student.name, name, teacher, kind, dose, nothing, nothing, None, None, fault)
    floor = relative_floor(found)
    own, without = found.of(student.name), found.of(name)
    taught_by = found.of(teacher) if teacher in found.arms else None
    contrast = compare(own, without, taught_by, found.groups, floor)
    h, p = cohens_h(own, without), mcnemar_p(own, without)
    note = contrast.note
    if teacher not in found.arms:
        note = f"teacher {teacher!r} has no predictions, so what it could pass on is unknown"
    return Inheritance(
        student.name, name, teacher, kind, dose, contrast.inheritance, contrast.difference, h, p, note
    )  # fmt: skip


def _fault(found: Hits, student: str, reference: str, stage: Stage) -> str:
    """Return why nothing can be compared, or ""."""
    if not stage.labels:
        return "the student has no hard labels, so no arm differs from it by the teacher alone"
    if not reference:
        return "the study has no arm with the same model, stages and hard labels and no teacher"
    missing = [name for name in (student, reference) if name not in found.arms]
    if missing:
        return f"no predictions on discordant prompts of {' and '.join(missing)}"
    return ""


def relative_floor(found: Hits) -> Floor | None:
    """Return the seed floor of a rate as a share of sqrt(rate (1 - rate)), pooled over arms; None with one seed.

    Seeds move an arm at 0.5 more than one at 0.9: a floor pooled on the plain scale made intervals of students between
    the policies hold the truth in 92 to 93 % of simulations. Arms at exactly 0 or 1 are left out.
    """
    values = run_values(found)
    rates = values.mean(1, keepdims=True)
    spread = np.sqrt(rates * (1 - rates))
    usable = np.flatnonzero(~np.isnan(values).any(1) & (spread[:, 0] > 0))
    return seed_floor({found.arms[k]: (values[k] / spread[k]).tolist() for k in usable}) if len(usable) else None


@dataclass(frozen=True)
class Contrast:
    """The difference student - reference, and its share of teacher - reference."""

    difference: Estimate
    inheritance: Estimate
    note: str


def compare(
    student: Floats, reference: Floats, teacher: Floats | None, groups: NDArray[np.int64], floor: Floor | None
) -> Contrast:
    """Return the contrast of three arms' hits [S, n] on the same prompts.

    Prompts: covariances of the seeds' means, summed by near-duplicate group (Cochran 1977, with G / (G - 1)).
    Seeds: sigma^2 / S for each arm, sigma being its share of the pooled floor (relative_floor), less each run's own
    scatter over prompts, which both parts hold. Arms are taken as independent; those that share seeds are rather alike,
    so this errs to wide. t has the degrees of freedom of Satterthwaite (1946). Without a floor (one seed) the interval
    holds prompts only.
    """
    rows = [student, reference] + ([teacher] if teacher is not None else [])
    known = ~np.isnan(np.concatenate(rows)).any(0)
    n = int(known.sum())
    if not n:
        return Contrast(Estimate(None), Estimate(None), "no prompt was scored by all of these arms")
    cut = [row[:, known] for row in rows]
    means = [float(row.mean()) for row in cut]
    family = np.unique(groups[known], return_inverse=True)[1]
    covariance, (seeds, pooled) = _covariance(cut, family), _seed_variances(cut, family, floor)
    numerator = means[0] - means[1]
    v_nn = _difference_variance(covariance, 0) + seeds[0] + seeds[1]
    t = _t(v_nn, seeds[0] + seeds[1], pooled[0] + pooled[1], floor, int(family.max()))
    half = t * math.sqrt(v_nn)
    method = "groups of prompts + seeds, t" if floor else "groups of prompts; one seed"
    difference = Estimate(numerator, max(-1.0, numerator - half), min(1.0, numerator + half), n, method)
    if teacher is None:
        return Contrast(difference, Estimate(None, n=n, method=FIELLER), "")
    denominator = means[2] - means[1]
    v_dd = _difference_variance(covariance, 2) + seeds[2] + seeds[1]
    v_nd = float(covariance[0, 2] - covariance[0, 1] - covariance[1, 2] + covariance[1, 1]) + seeds[1]
    t = _t(v_dd, seeds[2] + seeds[1], pooled[2] + pooled[1], floor, int(family.max()))
    bounds = fieller(numerator, denominator, v_nn, v_nd, v_dd, t)
    if bounds is None:
        note = f"teacher and reference do not differ for certain ({denominator:+.3f}), so there is no share to state"
        return Contrast(difference, Estimate(None, n=n, method=FIELLER), note)
    return Contrast(difference, Estimate(numerator / denominator, *bounds, n, FIELLER), "")


def _covariance(rows: Sequence[Floats], family: NDArray[np.int64]) -> Floats:
    """Return the covariance of the arms' means over prompts, by groups."""
    centred = np.array([row.mean(0) - row.mean() for row in rows])
    n_groups = int(family.max()) + 1
    sums = np.array([np.bincount(family, row, minlength=n_groups) for row in centred])
    scale = n_groups / (n_groups - 1) if n_groups > 1 else float("inf")
    covariance: Floats = scale * (sums @ sums.T) / centred.shape[1] ** 2
    return covariance


def _seed_variances(
    rows: Sequence[Floats], family: NDArray[np.int64], floor: Floor | None
) -> tuple[list[float], list[float]]:
    """Return what seeds add to the variance of each arm's mean, and the floor's part before scatter is taken out."""
    made, pooled = [], []
    for row in rows:
        n_seeds, n = row.shape
        if floor is None or n_seeds < 2:
            made.append(0.0)
            pooled.append(0.0)
            continue
        own = row - row.mean(0) - row.mean(1, keepdims=True) + row.mean()
        sums = np.array([np.bincount(family, run) for run in own])
        scatter = float((sums**2).sum()) / (n_seeds - 1) / n**2
        rate = float(row.mean())
        pooled.append(floor.sigma**2 * rate * (1 - rate) / n_seeds)
        made.append(max(0.0, pooled[-1] - scatter / n_seeds))
    return made, pooled


def _difference_variance(covariance: Floats, arm: int) -> float:
    """Return the variance over prompts of arm - reference (the reference is arm 1)."""
    return float(covariance[arm, arm] - 2 * covariance[arm, 1] + covariance[1, 1])


def _t(total: float, seeds: float, pooled: float, floor: Floor | None, df_prompts: int) -> float:
    """Return the quantile of t: `pooled` is what was estimated with the floor's degrees of freedom."""
    from scipy.stats import t

    if df_prompts < 1:
        return float("inf")
    parts = (total - seeds) ** 2 / df_prompts + (pooled**2 / floor.df if floor else 0.0)
    return float(t.ppf(0.975, max(1.0, total**2 / parts))) if parts > 0 else 1.96


def fieller(
    numerator: float, denominator: float, v_nn: float, v_nd: float, v_dd: float, t: float
) -> tuple[float, float] | None:
    """Return the Fieller (1954) interval of numerator / denominator; None where the denominator's interval holds 0.

    The values I with (N - I D)^2 <= t^2 (v_nn - 2 I v_nd + I^2 v_dd).
    """
    a = denominator**2 - t**2 * v_dd
    if not a > 0:
        return None
    b = numerator * denominator - t**2 * v_nd
    c = numerator**2 - t**2 * v_nn
    root = math.sqrt(max(0.0, b**2 - a * c))
    return (b - root) / a, (b + root) / a


def cohens_h(first: Floats, second: Floats) -> float | None:
    """Return Cohen's h, 2 asin sqrt(p1) - 2 asin sqrt(p2), of the rates over all seeds and prompts.

    statsmodels proportion_effectsize; None without prompts.
    """
    from statsmodels.stats.proportion import proportion_effectsize

    if np.isnan(first).all() or np.isnan(second).all():
        return None
    return float(proportion_effectsize(np.nanmean(first), np.nanmean(second)))


def mcnemar_p(first: Floats, second: Floats) -> float | None:
    """Return the exact McNemar p (statsmodels) of two arms on the same prompts, each by the majority of its seeds.

    Prompts where a majority is tied or undefined are left out; None where no prompt is left. Near-duplicate prompts
    count one each, so p is somewhat small where families are large.
    """
    from statsmodels.stats.contingency_tables import mcnemar

    votes = np.array([_majority(first), _majority(second)])
    known = ~np.isnan(votes).any(0)
    if not known.any():
        return None
    table = np.zeros((2, 2), int)
    np.add.at(table, (votes[0, known].astype(int), votes[1, known].astype(int)), 1)
    return float(mcnemar(table, exact=True).pvalue)


def _majority(rows: Floats) -> Floats:
    """Return 1, 0 or NaN (tied, or a run without a value) for each prompt."""
    mean = rows.mean(0)
    return np.where(np.isnan(mean) | (mean == 0.5), np.nan, (mean > 0.5).astype(float))
