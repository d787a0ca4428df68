"""How far the arms spread on each benchmark, and what the benchmark therefore measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from auditkit.evaluate.floors import (
    EvaluationFloor,
    Floor,
    as_matrix,
    critical_range,
    paired_difference,
    permutation_p,
    policy_sensitivity,
    range_p,
    seed_floor,
)
from auditkit.evaluate.lineage import lineages
from auditkit.evaluate.part import mean_by_arm
from auditkit.evaluate.relabel import benjamini_hochberg, capability_share, extremes_p, policy_share, smallest_share_p
from auditkit.study_records.results import BenchmarkRange, Estimate
from auditkit.study_records.settings import Arm, StudyBenchmark

LEVEL = 0.05
MIXED = "mixed"


def ranges(
    found: pl.DataFrame,
    benchmarks: Sequence[StudyBenchmark],
    arms: Sequence[Arm],
    policies: tuple[str, str],
    point: str = "native",
    test: str = "test",
    evaluation: Mapping[str, EvaluationFloor] | None = None,
    seed: int = 0,
) -> tuple[BenchmarkRange, ...]:
    """Return the range of the arms' mean flag rates on each benchmark at one operating point, against the seed floor.

    Control arms stand outside. A benchmark on which fewer than two arms have a defined rate has no range and is left
    out; its rows in `found` are null and say so.

    What a benchmark measures (`measures`) follows one rule, at 5 %, not corrected for the number of benchmarks:

    - the arms differ where the range over independent lineages exceeds its critical value (studentized range) and the
      permutation of arm labels over runs agrees;
    - "policy" where they differ and the final-stage policy explains at least half of SS(arms) (eta^2), p below 0.05
      when policies are permuted within model; `mixed` counts as a policy of its own;
    - "capability" where they differ and detection capability (AUROC on C of the set `test`) explains arm means beside
      the policy (partial r^2), p below 0.05; "both" where both hold;
    - "cannot tell" otherwise: one seed, a range within the floor, or a range that neither explains.

    Args:
        found: frame of tables.METRICS with the benchmarks' flag rates and `auroc_concordant` of `test`.
        policies: names of policy A and B.
        evaluation: evaluation floors by benchmark (floors.evaluation_floor).

    Raises:
        UsageError: arms with different numbers of seeds.
    """
    kept = [arm for arm in arms if not arm.control]
    capability = mean_by_arm(_rows(found, "auroc_concordant", test, ""))
    made: list[BenchmarkRange] = []
    for benchmark in benchmarks:
        runs, n_items = _runs(found, benchmark.name, point)
        present = [arm for arm in kept if arm.name in runs]
        if len(present) < 2:
            continue
        spread = _Spread({arm.name: runs[arm.name] for arm in present}, present, policies, seed)
        floor = (evaluation or {}).get(benchmark.name)
        made.append(spread.record(benchmark, point, n_items, capability, floor.rate if floor else None))
    q_values = benjamini_hochberg([one.extremes_p for one in made])
    return tuple(replace(one, extremes_q=q) for one, q in zip(made, q_values, strict=True))


def _rows(found: pl.DataFrame, metric: str, set_name: str, point: str) -> Iterable[tuple[str, float | None]]:
    chosen = found.filter(metric=metric, set=set_name, part="all", point=point)
    return chosen.sort("arm", "seed", maintain_order=True).select("arm", "value").iter_rows()


def _runs(found: pl.DataFrame, benchmark: str, point: str) -> tuple[dict[str, list[float]], int]:
    """Return arm -> flag rate of each seed (arms with an undefined one are left out), and the number of items."""
    runs: dict[str, list[float | None]] = {}
    for arm, number in _rows(found, "flag_rate", benchmark, point):
        runs.setdefault(arm, []).append(number)
    defined = {arm: [v for v in values if v is not None] for arm, values in runs.items() if None not in values}
    n_items = found.filter(metric="flag_rate", set=benchmark, part="all", point=point)["n"].max()
    return defined, int(n_items or 0)  # type: ignore[arg-type]


@dataclass
class _Spread:
    """The scores of the arms on one benchmark."""

    runs: dict[str, list[float]]
    arms: list[Arm]
    policies: tuple[str, str]
    seed: int

    def __post_init__(self) -> None:
        self.scores = as_matrix(self.runs)
        self.n_seeds = self.scores.shape[1]
        self.means = {name: float(mean) for name, mean in zip(self.runs, self.scores.mean(1), strict=True)}
        self.value = float(np.ptp(self.scores.mean(1)))
        self.floor: Floor | None = seed_floor(self.runs)
        self.lineages = lineages(self.arms)

    def record(
        self,
        benchmark: StudyBenchmark,
        point: str,
        n_items: int,
        capability: Mapping[str, float],
        evaluation: float | None,
    ) -> BenchmarkRange:
        """Return the record; extremes_q is filled in by the caller, who knows all benchmarks."""
        means, final, models = list(self.means.values()), self._final(), [arm.model for arm in self.arms]
        share, share_p = policy_share(means, final, models, self.seed)
        beside, beside_p = self._capability(capability)
        sensitivity, sensitivity_p = policy_sensitivity(self.runs)
        facts: dict[str, Any] = {
            "arm_means": self.means,
            "value": self.value,
            "sigma_seed": self.floor.sigma if self.floor else None,
            "sigma_upper": self.floor.upper if self.floor else None,
            "critical": self._critical(len(self.arms)),
            "p": range_p(self.value, self.floor, len(self.arms), self.n_seeds) if self.floor else None,
            "p_permutation": permutation_p(self.runs, self.seed),
            "sensitivity": sensitivity,
            "sensitivity_p": sensitivity_p,
            "policy_share": share,
            "policy_share_p": share_p,
            "extremes_p": self._extremes(),
            "capability_share": beside,
            "capability_share_p": beside_p,
            "paired": self._paired(),
            **self._lineage_facts(),
        }
        measures = decide(facts)
        smallest = smallest_share_p(final, models, self.seed)
        sentence = _sentence(benchmark.name, measures, facts, smallest)
        return BenchmarkRange(
            benchmark.name, benchmark.klass, point, n_items, extremes_q=None, evaluation_floor=evaluation,
            measures=measures, sentence=sentence, **facts,
        )  # fmt: skip

    def _final(self) -> list[str]:
        return [arm.final_policy for arm in self.arms]

    def _critical(self, n_arms: int) -> float | None:
        if not self.floor or n_arms < 2:
            return None
        return critical_range(n_arms, self.n_seeds, self.floor.df) * self.floor.sigma

    def _lineage_facts(self) -> dict[str, Any]:
        """Return the range over the roots of independent lineages, with the floor of all arms."""
        n = len(self.lineages)
        value = float(np.ptp([self.means[names[0]] for names in self.lineages])) if n > 1 else None
        p = range_p(value, self.floor, n, self.n_seeds) if self.floor and value is not None else None
        return {"n_lineages": n, "lineage_value": value, "lineage_critical": self._critical(n), "lineage_p": p}

    def _paired(self) -> dict[str, Estimate]:
        """Return how far each arm stands from the root of its lineage, paired by seed."""
        return {
            f"{name} - {names[0]}": paired_difference(self.runs[name], self.runs[names[0]])
            for names in self.lineages
            for name in names[1:]
        }

    def _extremes(self) -> float | None:
        sides = [[self.means[arm.name] for arm in self.arms if arm.final_policy == name] for name in self.policies]
        return extremes_p(sides[0], sides[1], self.seed)

    def _capability(self, capability: Mapping[str, float]) -> tuple[float | None, float | None]:
        known = [arm for arm in self.arms if arm.name in capability]
        if len(known) < 2:
            return None, None
        means, skill = [self.means[arm.name] for arm in known], [capability[arm.name] for arm in known]
        final, models = [arm.final_policy for arm in known], [arm.model for arm in known]
        return capability_share(means, skill, final, models, self.seed)


def decide(facts: Mapping[str, Any]) -> str:
    """Return what a benchmark measures by the rule of `ranges`, from the fields of BenchmarkRange."""
    tests = (facts["lineage_p"], facts["p"], facts["p_permutation"])
    if any(p is None or p >= LEVEL for p in tests):
        return "cannot tell"
    by_policy = _below(facts["policy_share_p"]) and (facts["policy_share"] or 0) >= 0.5
    by_capability = _below(facts["capability_share_p"])
    if by_policy and by_capability:
        return "both"
    return "policy" if by_policy else "capability" if by_capability else "cannot tell"


def _below(p: float | None) -> bool:
    return p is not None and p < LEVEL


def _sentence(name: str, measures: str, facts: Mapping[str, Any], smallest: float | None) -> str:
    """Return the plain sentence of a benchmark: its range, the floor, and what follows."""
    start = f"{name}: arms range over {facts['value']:.3f}"
    if facts["sigma_seed"] is None:
        return f"{start}; with one seed an arm there is no seed floor, so this study cannot tell what it measures"
    start += f" (noise alone: up to {facts['critical']:.3f})"
    if measures == "cannot tell":
        return f"{start}; {_why_not(facts, smallest)}, so this study cannot tell what it measures"
    share = f"the final-stage policy explains {100 * (facts['policy_share'] or 0):.0f} % of it"
    skill = f"detection capability explains {100 * (facts['capability_share'] or 0):.0f} % of what policy leaves"
    said = {
        "policy": f"{share} (p = {_p(facts['policy_share_p'])}), so it measures the labelling policy",
        "capability": f"{skill} (p = {_p(facts['capability_share_p'])}), so it measures capability",
        "both": f"{share} and {skill}, so it measures both",
    }
    return f"{start}; {said[measures]}"


def _why_not(facts: Mapping[str, Any], smallest: float | None) -> str:
    if not _below(facts["p"]):
        return "that is within the seed floor"
    if not _below(facts["p_permutation"]):
        return "permuting arm labels over runs does not confirm it"
    if not _below(facts["lineage_p"]):
        return f"only related arms differ ({facts['n_lineages']} independent lineages)"
    share = facts["policy_share"] or 0
    if share >= 0.5 and not _below(smallest):
        return (
            f"the final-stage policy accounts for {100 * share:.0f} % of it, but with so few arms no relabelling "
            f"within a model can be significant (smallest p = {smallest or 1:.2f})"
        )
    return "neither the final-stage policy nor capability explains it"


def _p(value: float) -> str:
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def fold(found: Sequence[BenchmarkRange]) -> dict[str, Any]:
    """Return the fold between the widest benchmark and the narrowest: R_b / max(R_b', 3 / n_b').

    Keys: widest, narrowest, value, widest_range, narrowest_range, bound (3 / n of the narrowest) and is_bounded
    (the bound, not the range, stands below the line). Empty with fewer than two benchmarks.
    """
    if len(found) < 2:
        return {}
    widest = max(found, key=lambda one: one.value)
    others = [one for one in found if one is not widest and one.n_items]
    narrowest = min(others, key=lambda one: max(one.value, 3 / one.n_items))
    bound = 3 / narrowest.n_items
    return {
        "widest": widest.benchmark,
        "narrowest": narrowest.benchmark,
        "value": widest.value / max(narrowest.value, bound),
        "widest_range": widest.value,
        "narrowest_range": narrowest.value,
        "bound": bound,
        "is_bounded": bound > narrowest.value,
    }
