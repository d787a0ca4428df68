"""Intervals of an arm's score: bootstrap over near-duplicate groups of prompts, plus what seeds add."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditkit.evaluate.floors import Floor, seed_floor
from auditkit.evaluate.hits import Hits, run_values
from auditkit.evaluate.scoring import wilson
from auditkit.study_records.results import Estimate

Floats = NDArray[np.float64]

N_BOOTSTRAP = 1000
METHOD = "bootstrap over groups + seeds, t"
PROMPTS_ONLY = "bootstrap over groups; one seed, so seeds are not in the interval"


def group_weights(found: Hits, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> Floats:
    """Return [n_bootstrap, n] weights of prompts: how often each one's group was drawn; the same for all arms."""
    random = np.random.default_rng(seed)
    n = found.n_groups
    drawn = random.multinomial(n, np.full(n, 1 / n), size=n_bootstrap) if n else np.zeros((n_bootstrap, 0), int)
    weights: Floats = drawn[:, found.groups].astype(np.float64)
    return weights


def weighted_auroc(scores: Floats, labels: NDArray[np.int64], weights: Floats) -> Floats:
    """Return the AUROC under each row of weights; NaN where a class has no weight. Ties count half."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=-np.inf) > 0)
    ordered = weights[:, order]
    harmful = np.add.reduceat(ordered * (labels[order] == 1), starts, axis=1)
    benign = np.add.reduceat(ordered * (labels[order] == 0), starts, axis=1)
    below = np.cumsum(benign, axis=1) - benign / 2
    pairs = harmful.sum(1) * benign.sum(1)
    undefined: Floats = np.full(len(weights), np.nan)
    np.divide((harmful * below).sum(1), pairs, out=undefined, where=pairs > 0)
    return undefined


def replicates(found: Hits, arm: str, weights: Floats) -> Floats:
    """Return the measure of each of an arm's runs under each row of weights, [S, n_bootstrap]."""
    made = []
    for run in found.of(arm):
        is_known = ~np.isnan(run)
        if found.labels is not None:
            made.append(weighted_auroc(run[is_known], found.labels[is_known], weights[:, is_known]))
            continue
        total = weights[:, is_known].sum(1)
        sums = weights[:, is_known] @ run[is_known]
        made.append(np.divide(sums, total, out=np.full(len(weights), np.nan), where=total > 0))
    return np.array(made)


@dataclass(frozen=True)
class Parts:
    """Variance of a mean over seeds.

    Attributes:
        prompts: of the seeds' mean over bootstrap replicates.
        seeds: sigma_seed^2 / S with `df` degrees of freedom, K (S - 1).
        both: what prompts and seeds count twice: each run's own scatter over prompts, divided by S.
    """

    prompts: float
    seeds: float
    both: float
    df: int

    @property
    def total(self) -> float:
        """The variance: each part once (as in a two-way layout with random rows and columns)."""
        return max(self.prompts + self.seeds - self.both, self.prompts, self.seeds)

    def half_width(self, level: float = 0.95) -> float:
        """Return half the interval: t times the standard deviation.

        t has K (S - 1) degrees of freedom where seeds are all of the variance and is normal where prompts are; between
        them as Satterthwaite (1946) weighs them.
        """
        from scipy.stats import norm, t

        tail = 1 - (1 - level) / 2
        if self.seeds <= 0 or self.df < 1:
            return float(norm.ppf(tail) * math.sqrt(self.total))
        freedom = self.df * (self.total / self.seeds) ** 2
        return float(t.ppf(tail, freedom) * math.sqrt(self.total))


def variance_parts(boot: Floats, floor: Floor | None, share: float = 1.0) -> Parts:
    """Return the parts of the variance of a mean over S runs, from its replicates [S, n_bootstrap] and the seed floor.

    `share` scales the seed part: 1 / K_A + 1 / K_B for a difference of means of arms.
    """
    n_seeds = len(boot)
    prompts = float(np.nanvar(boot.mean(0), ddof=1))
    if floor is None or n_seeds < 2:
        return Parts(prompts, 0.0, 0.0, 0)
    own = np.nanvar(boot - boot.mean(0), axis=1, ddof=1).sum() / (n_seeds - 1) / n_seeds
    return Parts(prompts, share * floor.sigma**2 / n_seeds, float(own), floor.df)


def score_intervals(found: Hits, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> dict[str, Estimate]:
    """Return each arm's mean over seeds with its 95 % interval: bootstrap over groups, plus sigma_seed^2 / S with t.

    The seed floor is pooled over the arms. A rate of exactly 0 or 1 in every run has no variance to bootstrap: its
    interval is Wilson's with the number of groups as n. n is the number of prompts. Undefined: None.

    Of 1,000 simulated studies with three seeds it held the truth in 94 to 97 %, rates and AUROC alike
    (benchmarks/results/recovery.json; bootstrapping three seeds would cover 74 %). With one seed the interval holds
    prompts only and covered 87 %; its method says so.
    """
    values = run_values(found)
    floor = _floor(found, values)
    weights = group_weights(found, n_bootstrap, seed)
    made: dict[str, Estimate] = {}
    for arm, runs in zip(found.arms, values, strict=True):
        n = int((~np.isnan(found.of(arm))).any(0).sum())
        if np.isnan(runs).any() or not n:
            made[arm] = Estimate(None, n=n, method=METHOD)
        elif found.labels is None and runs.min() == runs.max() and runs[0] in (0.0, 1.0):
            bound = wilson(int(runs[0]) * found.n_groups, found.n_groups)
            made[arm] = Estimate(float(runs[0]), bound.low, bound.high, n, "Wilson over groups")
        else:
            parts = variance_parts(replicates(found, arm, weights), floor)
            made[arm] = _estimate(float(runs.mean()), parts, n, bounds=(0.0, 1.0))
    return made


def _floor(found: Hits, values: Floats) -> Floor | None:
    runs = {arm: row.tolist() for arm, row in zip(found.arms, values, strict=True) if not np.isnan(row).any()}
    return seed_floor(runs) if runs else None


def _estimate(value: float, parts: Parts, n: int, bounds: tuple[float, float]) -> Estimate:
    half = parts.half_width()
    method = METHOD if parts.df else PROMPTS_ONLY
    return Estimate(value, max(bounds[0], value - half), min(bounds[1], value + half), n, method)


def gap(
    found: Hits, first: Sequence[str], second: Sequence[str], n_bootstrap: int = N_BOOTSTRAP, seed: int = 0
) -> Estimate:
    """Return mean of the arms `first` minus mean of the arms `second`, with its 95 % interval.

    The arms are taken as they are (no sampling of arms); prompts and seeds vary, the same prompts for both sides. Arms
    without a value are left out; None where a side is empty.
    """
    values = dict(zip(found.arms, run_values(found), strict=True))
    sides = [[arm for arm in side if arm in values and not np.isnan(values[arm]).any()] for side in (first, second)]
    if not sides[0] or not sides[1]:
        return Estimate(None, n=len(found.items), method=METHOD)
    weights = group_weights(found, n_bootstrap, seed)
    boot = [np.mean([replicates(found, arm, weights) for arm in side], axis=0) for side in sides]
    share = 1 / len(sides[0]) + 1 / len(sides[1])
    floor = _floor(found, np.array(list(values.values())))
    parts = variance_parts(boot[0] - boot[1], floor, share)
    means = [float(np.mean([values[arm] for arm in side])) for side in sides]
    return _estimate(means[0] - means[1], parts, len(found.items), bounds=(-1.0, 1.0))


def by_policy(final: Mapping[str, str], policy: str) -> list[str]:
    """Return the arms whose final-stage policy is `policy`, from arm -> final policy."""
    return [arm for arm, own in final.items() if own == policy]
