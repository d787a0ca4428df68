"""Do the estimators of a policy study recover what is known? Simulated arms, coverage of intervals, size of tests.

    python benchmarks/recovery.py [--simulations 1000] [--out benchmarks/results/recovery.json]

Every simulated study has arms with known detection capability and known agreement with policy A, scored on prompts in
near-duplicate families and trained with several seeds. On the latent scale a score has the arm's own level, a family
effect that all arms share, a family effect of the arm, a seed effect, and noise: so the true agreement is
Phi(level / sd) and the true AUROC Phi(distance / sd). Coverage is the share of simulations whose 95 % interval holds
that truth; size is the share of studies without any effect in which a test says p <= 0.05.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine
from scipy.stats import norm

from auditkit.evaluate.correlations import compare_dependent, pearson_interval, permutation_p
from auditkit.evaluate.floors import paired_difference, policy_sensitivity, range_p, seed_floor
from auditkit.evaluate.floors import permutation_p as runs_permutation_p
from auditkit.evaluate.hits import Hits
from auditkit.evaluate.inheritance import compare, relative_floor
from auditkit.evaluate.intervals import gap, score_intervals
from auditkit.evaluate.part import _newcombe
from auditkit.evaluate.relabel import extremes_p, policy_share
from auditkit.evaluate.scoring import wilson
from auditkit.run.versions import versions

Row = dict[str, float]
Random = np.random.Generator

SEED = 11
PACKAGES = ("numpy", "scipy", "scikit-learn", "statsmodels")
N_PROMPTS, N_SEEDS, N_BOOTSTRAP = 300, 3, 300
#: Standard deviations on the latent scale: of families (all arms), families of an arm, seeds, and noise.
FAMILY, OWN, BY_SEED, NOISE = 0.5, 0.5, 0.1, 1.0
SPREAD = math.sqrt(FAMILY**2 + OWN**2 + NOISE**2)

#: True agreement with policy A of the simulated arms.
AGREEMENT = {"hard_a": 0.8, "hard_b": 0.25, "student": 0.45, "patch": 0.65}
CAPABILITY = {"hard_a": 0.95, "hard_b": 0.94, "student": 0.90, "patch": 0.93}


def families(random: Random, n: int = N_PROMPTS) -> np.ndarray:
    """Return the family of each prompt: one to three prompts each."""
    sizes = random.integers(1, 4, n)
    return np.repeat(np.arange(n), sizes)[:n]


def effects(random: Random, groups: np.ndarray, n_arms: int, n_seeds: int) -> np.ndarray:
    """Return family effects and noise, [K, S, n]."""
    n_groups = int(groups.max()) + 1
    shared = random.normal(0, FAMILY, n_groups)[groups]
    own = random.normal(0, OWN, (n_arms, 1, n_groups))[:, :, groups]
    return shared + own + random.normal(0, NOISE, (n_arms, n_seeds, len(groups)))


def agreement_hits(random: Random, truth: dict[str, float], n_seeds: int = N_SEEDS, n: int = N_PROMPTS) -> Hits:
    """Return which discordant prompts each run flags as policy A does, where the expected share is `truth`."""
    groups = families(random, n)
    level = norm.ppf(list(truth.values())) * math.hypot(SPREAD, BY_SEED)
    by_seed = random.normal(0, BY_SEED, (len(truth), n_seeds, 1))
    latent = level[:, None, None] + by_seed + effects(random, groups, len(truth), n_seeds)
    return _hits("agreement_a", truth, n_seeds, (latent > 0).astype(float), groups, None)


def capability_hits(random: Random, truth: dict[str, float], n_seeds: int = N_SEEDS) -> Hits:
    """Return scores of concordant prompts, where the expected AUROC is `truth`."""
    groups = families(random)
    labels = random.integers(0, 2, int(groups.max()) + 1)[groups]
    spread = math.sqrt(2 * SPREAD**2 + BY_SEED**2)
    distance = norm.ppf(list(truth.values()))[:, None, None] * spread
    distance = distance + random.normal(0, BY_SEED, (len(truth), n_seeds, 1))
    scores = distance * (labels - 0.5) + effects(random, groups, len(truth), n_seeds)
    return _hits("auroc_concordant", truth, n_seeds, norm.cdf(scores), groups, labels)


def _hits(
    measure: str, arms: dict[str, float], n_seeds: int, values: np.ndarray, groups: np.ndarray, labels: Any
) -> Hits:
    items = np.arange(len(groups))
    return Hits(measure, tuple(arms), tuple(range(1, n_seeds + 1)), values, items, groups, labels)


def holds(estimate: Any, truth: float) -> float:
    return float(estimate.low <= truth <= estimate.high)


# ---------------------------------------------------------------- coverage of intervals


def scores(random: Random, seed: int) -> Row:
    """One study of four arms: intervals of every arm's agreement and AUROC, and the gaps between policies."""
    agree, rank = agreement_hits(random, AGREEMENT), capability_hits(random, CAPABILITY)
    row: Row = {}
    for name, found, truth in (("agreement", agree, AGREEMENT), ("auroc", rank, CAPABILITY)):
        intervals = score_intervals(found, N_BOOTSTRAP, seed)
        row |= {f"{name} of {arm}": holds(intervals[arm], truth[arm]) for arm in truth}
        wanted = (truth["hard_a"] + truth["patch"] - truth["hard_b"] - truth["student"]) / 2
        found_gap = gap(found, ["hard_a", "patch"], ["hard_b", "student"], N_BOOTSTRAP, seed)
        row[f"gap of {name}"] = holds(found_gap, wanted)
    return row


def one_seed(random: Random, seed: int) -> Row:
    """One seed and no seed effect to speak of: the interval holds prompts only, and misses what seeds do."""
    found = score_intervals(agreement_hits(random, AGREEMENT, n_seeds=1), N_BOOTSTRAP, seed)
    return {"agreement with one seed": holds(found["hard_a"], AGREEMENT["hard_a"])}


def inheritance(random: Random, seed: int) -> Row:
    """A student with a known share of what its teacher could pass on, and one that took nothing."""
    truth = {"student": 0.45, "reference": 0.25, "teacher": 0.8, "shuffled": 0.25}
    found = agreement_hits(random, truth)
    student, reference, teacher, shuffled = found.values
    floor = relative_floor(found)
    taught = compare(student, reference, teacher, found.groups, floor)
    control = compare(shuffled, reference, teacher, found.groups, floor)
    return {
        "inheritance (Fieller)": holds(taught.inheritance, 0.2 / 0.55),
        "inheritance of nothing (Fieller)": holds(control.inheritance, 0.0),
        "difference from the reference": holds(taught.difference, 0.2),
    }


def floors(random: Random, seed: int) -> Row:
    """Normal scores of ten arms: the upper bound of the seed floor, and the paired difference of two of them."""
    runs = {str(k): random.normal(k / 10, 0.02, N_SEEDS).tolist() for k in range(10)}
    floor = seed_floor(runs)
    assert floor is not None
    shared = random.normal(0, 0.05, N_SEEDS)
    pair = random.normal([[0.5], [0.4]], 0.02, (2, N_SEEDS)) + shared
    return {
        "upper bound of the seed floor": float(floor.upper >= 0.02),
        "paired difference": holds(paired_difference(pair[0], pair[1]), 0.1),
    }


def rates(random: Random, seed: int) -> Row:
    """Independent prompts and random true rates."""
    p, q = random.uniform(0.02, 0.98, 2)
    n, m = random.integers(40, 400, 2)
    x, y = random.binomial(n, p), random.binomial(m, q)
    low, high = _newcombe(x / n, int(n), y / m, int(m))
    under, over = _newcombe(x / n, int(n), 1 - y / m, int(m))
    return {
        "rate (Wilson)": holds(wilson(int(x), int(n)), p),
        "direction (Newcombe)": float(low <= p - q <= high),
        "strictness (Newcombe)": float((1 + under) / 2 <= (p + q) / 2 <= (1 + over) / 2),
    }


def pairs(random: Random, n: int, r1: float, r2: float, r12: float) -> np.ndarray:
    """Return n arms of (accuracy, agreement, capability) with these true correlations."""
    matrix = [[1, r1, r2], [r1, 1, r12], [r2, r12, 1]]
    return random.multivariate_normal([0, 0, 0], matrix, n).T


def correlation(random: Random, seed: int) -> Row:
    row: Row = {}
    for n in (10, 40):
        y, x1, x2 = pairs(random, n, 0.7, 0.3, 0.2)
        bounds = pearson_interval(float(np.corrcoef(x1, y)[0, 1]), n)
        r1, r2, r12 = (float(np.corrcoef(u, v)[0, 1]) for u, v in ((x1, y), (x2, y), (x1, x2)))
        test = compare_dependent(r1, r2, r12, n)
        assert bounds is not None
        assert test is not None
        row[f"Pearson (Fisher z), {n} arms"] = float(bounds[0] <= 0.7 <= bounds[1])
        truth = math.atanh(0.7) - math.atanh(0.3)
        row[f"difference of dependent correlations, {n} arms"] = float(test.low <= truth <= test.high)
    return row


# ---------------------------------------------------------------- size of tests under the null


def null_tests(random: Random, seed: int) -> Row:
    """Ten arms that differ by nothing but noise, independent, and in four lineages with correlated errors."""
    alone = random.normal(0.5, 0.02, (10, N_SEEDS))
    lineage = np.repeat(np.arange(4), [3, 3, 2, 2])
    related = 0.5 + 0.02 * (
        math.sqrt(0.5) * random.normal(0, 1, (4, N_SEEDS))[lineage]
        + math.sqrt(0.5) * random.normal(0, 1, (10, N_SEEDS))
    )
    row: Row = {}
    for name, values in (("independent", alone), ("related", related)):
        runs = {str(k): own.tolist() for k, own in enumerate(values)}
        floor = seed_floor(runs)
        assert floor is not None
        p = range_p(float(np.ptp(values.mean(1))), floor, 10, N_SEEDS)
        row[f"range, {name} arms"] = float((p or 0) <= 0.05)
    row["F-test of policy sensitivity"] = float(
        (policy_sensitivity({str(k): v for k, v in enumerate(alone)})[1] or 1) <= 0.05
    )
    few = {str(k): own.tolist() for k, own in enumerate(alone[:4, :2])}
    row["range by permutation, exact, 4 arms of 2 seeds"] = float((runs_permutation_p(few) or 1) <= 0.05)
    means = alone.mean(1)
    row["extremes, 5 against 5"] = float((extremes_p(means[:5].tolist(), means[5:].tolist()) or 1) <= 0.05)
    row["extremes, 4 against 4"] = float((extremes_p(means[:4].tolist(), means[4:8].tolist()) or 1) <= 0.05)
    final = ["A", "B", "B", "A", "mixed", "mixed", "A", "B", "B", "A"]
    share = policy_share(means.tolist(), final, ["small"] * 6 + ["large"] * 4, seed)
    row["policy share, ten arms at two scales"] = float((share[1] or 1) <= 0.05)
    return row


def null_correlations(random: Random, seed: int) -> Row:
    """Two predictors that go alike with accuracy; and one that does not go with it at all."""
    row: Row = {}
    for n in (10, 40):
        y, x1, x2 = pairs(random, n, 0.5, 0.5, 0.3)
        r1, r2, r12 = (float(np.corrcoef(u, v)[0, 1]) for u, v in ((x1, y), (x2, y), (x1, x2)))
        test = compare_dependent(r1, r2, r12, n)
        assert test is not None
        row[f"dependent correlations, {n} arms"] = float(test.p <= 0.05)
    x, y = random.normal(size=(2, 7))
    row["Pearson by permutation, 7 arms"] = float((permutation_p(x, y, [[i] for i in range(7)]) or 1) <= 0.05)
    return row


COVERAGE: tuple[Callable[[Random, int], Row], ...] = (scores, one_seed, inheritance, floors, rates, correlation)
SIZE: tuple[Callable[[Random, int], Row], ...] = (null_tests, null_correlations)


def repeat(simulate: Callable[[Random, int], Row], n: int, seed: int = SEED) -> dict[str, float]:
    """Return the mean of each entry over `n` simulations."""
    rows = [simulate(np.random.default_rng([seed, i]), i) for i in range(n)]
    return {name: round(float(np.mean([row[name] for row in rows])), 4) for name in rows[0]}


def everything(n: int) -> Iterator[tuple[str, dict[str, float]]]:
    for kind, simulations in (("coverage", COVERAGE), ("size", SIZE)):
        found: dict[str, float] = {}
        for simulate in simulations:
            found |= repeat(simulate, n)
        yield kind, found


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "recovery.json")
    arguments = parser.parse_args()
    started = time.perf_counter()
    used = {**versions(has_encoder=False), **{name: importlib.metadata.version(name) for name in PACKAGES}}
    result: dict[str, object] = {
        "what": "share of simulated studies whose 95 % interval holds the truth; share of null studies with p <= 0.05",
        "n_simulations": arguments.simulations,
        "seed": SEED,
        "machine": machine(),
        "versions": used,
        **dict(everything(arguments.simulations)),
    }
    result["seconds"] = round(time.perf_counter() - started, 1)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    sys.stdout.write(json.dumps({kind: result[kind] for kind in ("coverage", "size", "seconds")}, indent=2) + "\n")


if __name__ == "__main__":
    main()
