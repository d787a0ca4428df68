"""What the arms' accuracy goes with: agreement with a policy, or detection capability.

The part-whole trap: accuracy on prompts that include D is partly made of lambda, so agreement and capability are
computed on one half of the test side and accuracy on the other (whole near-duplicate families in each).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.evaluate.floors import EXACT_LIMIT, N_PERMUTATIONS
from auditkit.evaluate.hits import hits, run_values
from auditkit.study_records.results import Correlation, Estimate, Threshold
from auditkit.study_records.settings import Arm

Floats = NDArray[np.float64]

#: Fewer independent arms than this, and a comparison of correlations is descriptive only (docs/definitions.md).
FEW_ARMS = 40


def halves(targets: pl.DataFrame, set_name: str = "test", seed: int = 0) -> tuple[list[int], list[int]]:
    """Return the items of a set in two halves of about equal size; a near-duplicate family stays in one."""
    rows = targets.filter(pl.col("set") == set_name).with_columns(pl.col("group").fill_null(""))
    sizes = rows.group_by("group").len().sort("group")
    order = np.random.default_rng(seed).permutation(sizes.height)
    reached = np.cumsum(sizes["len"].to_numpy()[order])
    first = sizes["group"].gather(order[reached * 2 <= rows.height]).to_list()
    is_first = pl.col("group").is_in(first)
    return rows.filter(is_first)["item"].to_list(), rows.filter(~is_first)["item"].to_list()


def pearson_interval(r: float, n: int, level: float = 0.95) -> tuple[float, float] | None:
    """Return Fisher's interval of a correlation, tanh(atanh r +- z / sqrt(n - 3)); None with fewer than four pairs."""
    from scipy.stats import norm

    if n < 4:
        return None
    if abs(r) >= 1:
        return r, r
    half = float(norm.ppf(1 - (1 - level) / 2)) / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


@dataclass(frozen=True)
class DependentTest:
    """Whether two correlations with one variable differ: z, two-sided p, and the interval of atanh r1 - atanh r2."""

    z: float
    p: float
    low: float
    high: float


def compare_dependent(r1: float, r2: float, r12: float, n: int) -> DependentTest | None:
    """Return the test of Meng, Rosenthal and Rubin (1992, eq. 1-3) that cor(x1, y) = cor(x2, y), x1 and x2 dependent.

    z = (z1 - z2) sqrt((n - 3) / (2 (1 - r12) h)), h = (1 - f rr) / (1 - rr), f = min(1, (1 - r12) / (2 (1 - rr))),
    rr the mean of the squared correlations. Undefined (None) with fewer than four pairs or a correlation of 1.
    """
    from scipy.stats import norm

    if n < 4 or max(abs(r1), abs(r2), abs(r12)) >= 1 - 1e-12:
        return None
    mean_square = (r1**2 + r2**2) / 2
    f = min(1.0, (1 - r12) / (2 * (1 - mean_square)))
    h = (1 - f * mean_square) / (1 - mean_square)
    difference = math.atanh(r1) - math.atanh(r2)
    error = math.sqrt(2 * (1 - r12) * h / (n - 3))
    z = difference / error
    half = float(norm.ppf(0.975)) * error
    return DependentTest(z, float(2 * norm.sf(abs(z))), difference - half, difference + half)


def permutation_p(x: Floats, y: Floats, blocks: Sequence[Sequence[int]], seed: int = 0) -> float | None:
    """Return the two-sided p of Pearson's r when whole blocks of `y` are permuted; None where r is undefined.

    Blocks of one size change places; the order inside a block stays. With blocks of one each this is scipy's
    pearsonr(method=PermutationMethod()): twice the smaller tail. All arrangements up to EXACT_LIMIT, else
    N_PERMUTATIONS drawn with `seed`.
    """
    observed = _pearson(x, y)
    if observed is None:
        return None
    by_size: dict[int, list[Sequence[int]]] = {}
    for block in blocks:
        by_size.setdefault(len(block), []).append(block)
    n_all = math.prod(math.factorial(len(same)) for same in by_size.values())
    orders, is_exact = _block_orders(by_size, len(y), n_all, seed)
    centred = x - x.mean()
    scale = math.sqrt(float((centred**2).sum() * ((y - y.mean()) ** 2).sum()))
    found = y[orders] @ centred / scale
    tails = int((found >= observed - 1e-12).sum()), int((found <= observed + 1e-12).sum())
    p = min(tails) / len(orders) if is_exact else (1 + min(tails)) / (1 + len(orders))
    return min(1.0, 2 * p)


def _block_orders(
    by_size: Mapping[int, list[Sequence[int]]], n: int, n_all: int, seed: int
) -> tuple[NDArray[np.int64], bool]:
    """Return index rows that carry blocks of one size into each other's places, and whether they are all of them."""
    random = np.random.default_rng(seed)
    kinds = list(by_size.values())
    if n_all <= EXACT_LIMIT:
        choices: Any = itertools.product(*(itertools.permutations(range(len(same))) for same in kinds))
    else:
        choices = ([random.permutation(len(same)) for same in kinds] for _ in range(N_PERMUTATIONS))
    rows = []
    for choice in choices:
        row = np.arange(n)
        for same, order in zip(kinds, choice, strict=True):
            for to, source in enumerate(order):
                row[list(same[to])] = list(same[source])
        rows.append(row)
    return np.array(rows), n_all <= EXACT_LIMIT


def _pearson(x: Floats, y: Floats) -> float | None:
    from scipy.stats import pearsonr

    if len(x) < 2 or np.ptp(x) <= 1e-12 or np.ptp(y) <= 1e-12:
        return None
    return float(pearsonr(x, y).statistic)


def recipe_blocks(arms: Sequence[Arm]) -> list[list[int]]:
    """Return the positions of arms that share a recipe (all but the model) across scales, in order of model."""
    blocks: dict[object, list[int]] = {}
    for i, arm in enumerate(arms):
        labels = tuple((s.labels, _policy_of_teacher(s.teacher, arms), s.trainable, s.share) for s in arm.stages)
        blocks.setdefault(labels, []).append(i)
    return [sorted(block, key=lambda i: arms[i].model) for block in blocks.values()]


def _policy_of_teacher(teacher: Any, arms: Sequence[Arm]) -> object:
    """Return what a teacher teaches, whichever scale it has."""
    if teacher is None:
        return None
    final = {arm.name: arm.final_policy for arm in arms}
    return final.get(teacher.arm, teacher.arm), teacher.model, teacher.column, teacher.weight, teacher.temperature


def correlate(
    predictor: str, accuracy: str, x: Floats, y: Floats, blocks: Sequence[Sequence[int]] | None = None, seed: int = 0
) -> Correlation:
    """Return how `y` (accuracy) goes with `x` (agreement or capability) over arms.

    The interval is Fisher's, which takes arms as independent draws of a bivariate normal; related arms make it too
    narrow. None where a side does not vary.
    """
    from scipy.stats import spearmanr

    n = len(x)
    r = _pearson(x, y)
    bounds = pearson_interval(r, n) if r is not None else None
    low, high = bounds or (None, None)
    used = blocks if blocks is not None else [[i] for i in range(n)]
    return Correlation(
        predictor=predictor,
        accuracy=accuracy,
        pearson=Estimate(r, low, high, n, "Pearson, Fisher z"),
        spearman=float(spearmanr(x, y).statistic) if r is not None else None,
        p_permutation=permutation_p(x, y, used, seed),
        sd_predictor=float(np.std(x, ddof=1)) if n > 1 else 0.0,
        sd_accuracy=float(np.std(y, ddof=1)) if n > 1 else 0.0,
        leave_one_out=_leave_one_out(x, y),
        n_arms=n,
        note=_note(len(used)),
    )


def _note(n_independent: int) -> str:
    if n_independent >= FEW_ARMS:
        return ""
    return (
        f"descriptive: {n_independent} independent arms, fewer than {FEW_ARMS}; a low correlation with capability can "
        f"be range restriction, so compare the standard deviations"
    )


def _leave_one_out(x: Floats, y: Floats) -> tuple[float, float] | None:
    """Return the smallest and the largest correlation when one arm is left out."""
    found = [_pearson(np.delete(x, i), np.delete(y, i)) for i in range(len(x))]
    known = [r for r in found if r is not None]
    return (min(known), max(known)) if len(x) > 3 and known else None


def correlations(
    predictions: pl.DataFrame,
    targets: pl.DataFrame,
    thresholds: Sequence[Threshold],
    arms: Sequence[Arm],
    set_name: str = "test",
    point: str = "native",
    seed: int = 0,
) -> tuple[tuple[Correlation, ...], dict[str, Any]]:
    """Return the correlations of accuracy with agreement and with capability over arms, and the test between them.

    Accuracy under each policy on one half of the test side; agreement with that policy and AUROC on C on the other;
    each a mean over seeds. Control arms stand outside, and arms with an undefined value. Arms that share a recipe
    across scales are permuted as blocks.

    The test (Meng, Rosenthal and Rubin) has per accuracy, "acc_a" and "acc_b": r_agreement, r_capability,
    r_between (of the two predictors), z, p, low, high, n_arms, n_independent and note; None where undefined.
    """
    first, second = halves(targets, set_name, seed)
    kept = [arm for arm in arms if not arm.control]
    mean = functools.partial(_means, predictions, targets, thresholds, set_name, point)
    values = {name: mean(name, first) for name in ("acc_a", "acc_b")}
    values |= {name: mean(name, second) for name in ("agreement_a", "agreement_b", "auroc_concordant")}
    present = [arm for arm in kept if all(arm.name in by_arm for by_arm in values.values())]
    blocks = recipe_blocks(present)
    made: list[Correlation] = []
    tests: dict[str, Any] = {}
    for accuracy, agreement in (("acc_a", "agreement_a"), ("acc_b", "agreement_b")):
        y, lam, skill = (
            np.array([values[name][arm.name] for arm in present], float)
            for name in (accuracy, agreement, "auroc_concordant")
        )
        pair = [correlate(agreement, accuracy, lam, y, blocks, seed)]
        pair.append(correlate("auroc_concordant", accuracy, skill, y, blocks, seed))
        made += pair
        tests[accuracy] = _test(pair, _pearson(lam, skill), len(present), len(blocks))
    return tuple(made), tests


def _means(
    predictions: pl.DataFrame,
    targets: pl.DataFrame,
    thresholds: Sequence[Threshold],
    set_name: str,
    point: str,
    measure: str,
    items: Sequence[int],
) -> dict[str, float]:
    found = hits(predictions, targets, thresholds, measure, set_name, point, items)
    means = zip(found.arms, run_values(found).mean(1), strict=True) if found.arms else ()
    return {arm: float(value) for arm, value in means if not np.isnan(value)}


def _test(pair: Sequence[Correlation], between: float | None, n: int, n_independent: int) -> dict[str, Any]:
    r1, r2 = pair[0].pearson.value, pair[1].pearson.value
    known = r1 is not None and r2 is not None and between is not None
    found = compare_dependent(r1, r2, between, n) if known else None  # type: ignore[arg-type]
    return {
        "r_agreement": r1,
        "r_capability": r2,
        "r_between": between,
        "z": found.z if found else None,
        "p": found.p if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "n_arms": n,
        "n_independent": n_independent,
        "note": _note(n_independent),
    }
