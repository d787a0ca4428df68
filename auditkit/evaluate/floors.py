"""What noise alone does to a benchmark's score: seed floor, evaluation floor, and tests of a range against them.

`runs` maps each of K arms to its S scores, one a seed. Formulas: docs/definitions.md, "Seeds, ranges and sensitivity".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.errors import InputError, UsageError
from auditkit.evaluate.scored import KEYS
from auditkit.study_records.results import Estimate

Runs = Mapping[str, Sequence[float]]

#: Relabellings are counted one by one up to this many, and drawn with a seed beyond.
EXACT_LIMIT = 10_000
N_PERMUTATIONS = 9_999
_TIE = 1e-12


@dataclass(frozen=True)
class Floor:
    """The seed floor: standard deviation of a score over seeds, pooled over arms.

    Attributes:
        upper: its upper 95 % bound; `df` its degrees of freedom, K (S - 1).
    """

    sigma: float
    upper: float
    df: int


def as_matrix(runs: Runs) -> NDArray[np.float64]:
    """Return the runs as [K, S].

    Raises:
        UsageError: arms with different numbers of seeds.
    """
    sizes = {len(values) for values in runs.values()}
    if len(sizes) > 1:
        few = min(runs, key=lambda arm: len(runs[arm]))
        raise UsageError(
            f"arm {few!r} has {len(runs[few])} seeds and others {max(sizes)}; every arm needs the same number of seeds"
        )
    return np.array([list(values) for values in runs.values()], dtype=np.float64).reshape(len(runs), -1)


def seed_floor(runs: Runs) -> Floor | None:
    """Return the seed floor, None with fewer than two seeds.

    sigma^2 = sum_ks (m_ks - m_k)^2 / (K (S - 1)); the bound is one-sided: sigma^2 df / chi2(0.05, df). Scores are taken
    to vary normally with one variance; for 1,000 simulated studies the bound held the truth as
    benchmarks/results/recovery.json says (about 95 %).
    """
    from scipy.stats import chi2

    scores = as_matrix(runs)
    df = scores.shape[0] * (scores.shape[1] - 1)
    if df < 1:
        return None
    variance = float(((scores - scores.mean(1, keepdims=True)) ** 2).sum() / df)
    return Floor(math.sqrt(variance), math.sqrt(variance * df / chi2.ppf(0.05, df)), df)


@functools.cache
def critical_range(n_arms: int, n_seeds: int, df: int | None = None, level: float = 0.95) -> float:
    """Return the range of arm means, in units of the seed floor, that noise alone exceeds in 5 % of studies.

    `df` is K (S - 1) unless the floor was measured otherwise: one arm of three seeds gives 2.
    """
    from scipy.stats import studentized_range

    freedom = n_arms * (n_seeds - 1) if df is None else df
    return float(studentized_range.ppf(level, n_arms, freedom) / math.sqrt(n_seeds))


def range_p(value: float, floor: Floor, n_arms: int, n_seeds: int) -> float | None:
    """Return the p of a range of arm means: studentized_range.sf(R sqrt(S) / sigma, K, df of the floor).

    Where the floor is 0, p is 0 for any range above 0, and undefined (None) for a range of 0.
    """
    from scipy.stats import studentized_range

    if floor.sigma <= _TIE:
        return None if value <= _TIE else 0.0
    return float(studentized_range.sf(value * math.sqrt(n_seeds) / floor.sigma, n_arms, floor.df))


def permutation_p(runs: Runs, seed: int = 0) -> float | None:
    """Return the p of the range of arm means when arm labels are permuted over the runs; None with one arm or seed.

    All distinct relabellings where there are at most EXACT_LIMIT, else N_PERMUTATIONS drawn with `seed`, the observed
    one counted (Phipson and Smyth 2010).
    """
    scores = as_matrix(runs)
    n_arms, n_seeds = scores.shape
    if n_arms < 2 or n_seeds < 2:
        return None
    observed = float(np.ptp(scores.mean(1))) - _TIE
    if _n_relabellings(n_arms, n_seeds) <= EXACT_LIMIT:
        order = np.array(list(_partitions(tuple(range(scores.size)), n_seeds)))
        return float((np.ptp(scores.ravel()[order].mean(2), axis=1) >= observed).mean())
    random = np.random.default_rng(seed)
    drawn = random.permuted(np.tile(scores.ravel(), (N_PERMUTATIONS, 1)), axis=1).reshape(-1, n_arms, n_seeds)
    n_beyond = int((np.ptp(drawn.mean(2), axis=1) >= observed).sum())
    return (1 + n_beyond) / (1 + N_PERMUTATIONS)


def _n_relabellings(n_arms: int, n_seeds: int) -> int:
    same = int(math.factorial(n_seeds) ** n_arms) * math.factorial(n_arms)
    return math.factorial(n_arms * n_seeds) // same


def _partitions(items: tuple[int, ...], size: int) -> Iterator[list[tuple[int, ...]]]:
    """Yield every way to split `items` into unordered groups of `size`."""
    from itertools import combinations

    if not items:
        yield []
        return
    for mates in combinations(items[1:], size - 1):
        rest = tuple(item for item in items[1:] if item not in mates)
        for others in _partitions(rest, size):
            yield [(items[0], *mates), *others]


def policy_sensitivity(runs: Runs) -> tuple[float | None, float | None]:
    """Return (sqrt(max(0, (MS_between - MS_within) / S)) / sigma_seed, p of the F-test); (None, None) if undefined.

    Undefined with one arm, one seed, or a seed floor of 0.
    """
    from scipy.stats import f

    floor = seed_floor(runs)
    scores = as_matrix(runs)
    n_arms, n_seeds = scores.shape
    if floor is None or n_arms < 2 or floor.sigma <= _TIE:
        return None, None
    within = floor.sigma**2
    between = float(n_seeds * scores.mean(1).var(ddof=1))
    effect = math.sqrt(max(0.0, (between - within) / n_seeds)) / floor.sigma
    return effect, float(f.sf(between / within, n_arms - 1, floor.df))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the mean of first - second over shared seeds, with a t interval of S - 1 degrees of freedom.

    For arms that share a parent, a teacher or a first stage: what they share cancels.
    """
    from scipy.stats import t

    differences = np.asarray(first, float) - np.asarray(second, float)
    n = len(differences)
    mean = float(differences.mean())
    if n < 2:
        return Estimate(mean, n=n, method="paired difference over seeds")
    half = float(t.ppf(0.975, n - 1) * differences.std(ddof=1) / math.sqrt(n))
    return Estimate(mean, mean - half, mean + half, n, "paired difference over seeds, t")


@dataclass(frozen=True)
class EvaluationFloor:
    """How far the same checkpoints move when evaluated with another batch size and order.

    Attributes:
        rate: largest difference of an arm's flag rate; `score` of a single score (None without scores).
        n_flips: decisions that differ, of `n` predictions.
    """

    rate: float
    score: float | None
    n_flips: int
    n: int


def evaluation_floor(
    predictions: pl.DataFrame, again: pl.DataFrame, threshold: float = 0.5
) -> dict[str, EvaluationFloor]:
    """Return the evaluation floor of each set, from two frames of PREDICTIONS of the same checkpoints.

    Raises:
        InputError: the frames do not hold the same arms, seeds, sets and items.
    """
    both = predictions.join(again, on=list(KEYS), how="full", suffix="_again", coalesce=True)
    if both.height != predictions.height or both.height != again.height:
        raise InputError(
            f"two evaluations of the same checkpoints need the same prompts: {predictions.height} and {again.height} "
            f"predictions have {both.height} different keys (arm, seed, set, item)"
        )
    flag, other = _decided("score", "decision", threshold), _decided("score_again", "decision_again", threshold)
    both = both.with_columns(flag.alias("flag"), other.alias("other"))
    by_run = both.group_by("set", "arm", "seed").agg(
        (pl.col("flag").mean() - pl.col("other").mean()).abs().alias("rate"),
        (pl.col("score") - pl.col("score_again")).abs().max().alias("score"),
        (pl.col("flag") != pl.col("other")).sum().alias("flips"),
        pl.len().alias("n"),
    )
    by_set = by_run.group_by("set").agg(
        pl.col("rate").max().fill_null(0.0), pl.col("score").max(), pl.col("flips").sum(), pl.col("n").sum()
    )
    return {row[0]: EvaluationFloor(*row[1:]) for row in by_set.sort("set").iter_rows()}


def _decided(score: str, decision: str, threshold: float) -> pl.Expr:
    by_score = (pl.col(score) >= threshold).cast(pl.Int8)
    return pl.coalesce(by_score, pl.col(decision))
