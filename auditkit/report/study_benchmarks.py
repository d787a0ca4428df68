"""The tables of a study's benchmarks: ranges across arms, what they follow, and what each benchmark grades."""

from __future__ import annotations

from collections.abc import Sequence

from auditkit.report import study_words as words
from auditkit.report.grids import Grid
from auditkit.report.phrases import count
from auditkit.report.study_words import number
from auditkit.study_records.results import BenchmarkRange, StudyResult
from auditkit.study_records.settings import Arm


def ranges(result: StudyResult, at: str) -> Grid:
    """Return the ranges across arms at one operating point, against the seed floor."""
    headers = (
        "benchmark",
        "class",
        "measures",
        "n",
        "range",
        "critical range",
        "p",
        "p, permuted",
        "seed floor",
        "its upper bound",
        "evaluation floor",
    )
    return Grid(headers, tuple(_range(r) for r in result.ranges if r.point == at), 3)


def _range(r: BenchmarkRange) -> tuple[str, ...]:
    return (
        r.benchmark,
        r.klass,
        r.measures,
        count(r.n_items),
        *map(number, (r.value, r.critical)),
        *map(words.probability, (r.p, r.p_permutation)),
        *map(number, (r.sigma_seed, r.sigma_upper, r.evaluation_floor)),
    )


def explained(result: StudyResult, at: str) -> Grid:
    """Return what the ranges follow: final-stage policy, capability beside it, and who is at the extremes."""
    headers = (
        "benchmark",
        "lowest arm",
        "highest arm",
        "n",
        "policy sensitivity",
        "policy share",
        "capability share of the rest",
        "extremes p",
        "q",
    )
    return Grid(headers, tuple(_explained(r) for r in result.ranges if r.point == at), 3)


def _explained(r: BenchmarkRange) -> tuple[str, ...]:
    ends = sorted(r.arm_means, key=lambda arm: (r.arm_means[arm], arm))
    return (
        r.benchmark,
        *([f"{arm}: {number(r.arm_means[arm])}" for arm in (ends[0], ends[-1])] if ends else [words.UNDEFINED] * 2),
        count(r.n_items),
        words.with_p(r.sensitivity, r.sensitivity_p),
        words.with_p(r.policy_share, r.policy_share_p),
        words.with_p(r.capability_share, r.capability_share_p),
        *map(words.probability, (r.extremes_p, r.extremes_q)),
    )


def lineages(result: StudyResult, at: str) -> Grid:
    """Return the range over independent lineages: arms with a common root or teacher count once."""
    headers = ("benchmark", "lineages", "range over their roots", "critical range", "p")
    rows = [
        (
            r.benchmark,
            count(r.n_lineages),
            number(r.lineage_value),
            number(r.lineage_critical),
            words.probability(r.lineage_p),
        )
        for r in result.ranges
        if r.point == at and r.n_lineages
    ]
    return Grid(headers, tuple(rows))


def paired(result: StudyResult, at: str) -> Grid:
    """Return the paired differences of related arms."""
    rows = [
        (r.benchmark, pair, words.estimate(r.paired[pair]))
        for r in result.ranges
        if r.point == at
        for pair in sorted(r.paired)
    ]
    return Grid(("benchmark", "arm - its root", "difference in flag rate, over seeds"), tuple(rows), 2)


def flag_rates(result: StudyResult, at: str, arms: Sequence[Arm]) -> Grid:
    """Return the mean flag rate of every arm on every benchmark: what the ranges are ranges of."""
    ones = [r for r in result.ranges if r.point == at]
    known = {name for r in ones for name in r.arm_means}
    names = words.in_order(known, [arm.name for arm in arms])
    rows = [(name, *[number(r.arm_means.get(name)) for r in ones]) for name in names]
    return Grid(("arm", *[f"{r.benchmark}, n {count(r.n_items)}" for r in ones]), tuple(rows))


def definitions(result: StudyResult) -> Grid:
    """Return what each benchmark grades, and by whose policy."""
    n = {r.benchmark: count(r.n_items) for r in result.ranges}
    rows = [
        (
            b.name,
            b.spec,
            b.revision or words.UNDEFINED,
            b.klass,
            b.unit,
            b.policy or words.UNDEFINED,
            n.get(b.name, words.UNDEFINED),
        )
        for b in result.settings.benchmarks
    ]
    return Grid(("benchmark", "read from", "revision", "class", "unit", "grading definition", "items"), tuple(rows), 6)


def earlier_pools(result: StudyResult) -> Grid:
    """Return what each earlier pool holds of each benchmark, and which arms it reached."""
    rows = [
        (
            pool.of,
            pool.kind,
            ", ".join(pool.arms) or "none",
            count(pool.n_rows),
            name,
            count(len(items)),
            count(pool.n_items[name]),
            words.of_key("leak_rate", len(items) / pool.n_items[name] if pool.n_items[name] else None),
            "left out" if items and pool.is_excluded else "kept" if items else words.UNDEFINED,
        )
        for pool in result.earlier_pools
        for name, items in sorted(pool.leaked.items())
    ]
    headers = ("pool of", "it is a", "arms it reached", "rows", "benchmark", "items in it", "of", "leak rate", "scored")
    return Grid(headers, tuple(rows), 5)


def policies(result: StudyResult) -> Grid:
    """Return the two policies: A, then B."""
    rows = [
        (
            letter,
            p.name,
            p.text or words.UNDEFINED,
            p.column,
            ", ".join(f"{k} = {_label(p.values[k])}" for k in sorted(p.values)) or "0, 1",
        )
        for letter, p in zip("AB", result.settings.policies, strict=True)
    ]
    return Grid(("", "policy", "what it says", "column", "values"), tuple(rows), 5)


def _label(value: int | None) -> str:
    return "no label" if value is None else str(value)
