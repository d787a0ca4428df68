"""How the views of a study write numbers, and how they look one up; an undefined number is "-", never 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from auditkit.report.phrases import count, percent, value
from auditkit.study_records.ledger import LedgerEntry
from auditkit.study_records.results import Estimate, StudyResult
from auditkit.study_records.settings import Arm, Stage, StudySettings

UNDEFINED = "-"
Side = Literal["a", "b", "mixed"]
Key = tuple[str, str, str, str, str]  # arm, set, part, metric, point

#: Shares that are said in percent wherever they stand; scores and rates of arms are decimals.
RATES = ("leak_rate", "pool_hit_rate", "reported_rate")

#: What a number smaller than this is but for the arithmetic: 0.
_NOISE = 1e-12

_TITLES = {
    "value": "widest over narrowest",
    "bound": "3 / n of the narrowest",
    "is_bounded": "divided by 3 / n, for the narrowest range is smaller",
    "n_trainable": "parameters changed",
}
_METRICS = {
    "acc": "accuracy",
    "acc_c": "accuracy on C",
    "over_refusal": "over-refusal",
    "auroc_concordant": "AUROC on C",
    "agreement_auroc": "AUROC on D for A's labels",
    "auprc_expected": "AUPRC, expected labels",
    "auroc_expected": "AUROC, expected labels",
    "f1_expected": "F1, expected labels",
    "brier": "Brier score",
    "ece": "expected calibration error",
    "f10": "flag rate on D10",
    "f01": "flag rate on D01",
    "recall_c1": "recall on C1",
    "fpr_c0": "false-positive rate on C0",
    "recall_at_fpr": "recall on C1 at matched FPR",
    "flag_rate_d10_at_fpr": "flag rate on D10 at matched FPR",
    "flag_rate_d01_at_fpr": "flag rate on D01 at matched FPR",
}


def number(x: float | None, digits: int = 3) -> str:
    """Return "0.965"; "-" for None and NaN. What is not 0 or 1 is never rendered as 0 or 1."""
    if x is None or x - x != 0:
        return UNDEFINED
    if isinstance(x, int):
        return count(x)
    if abs(x) < _NOISE:
        x = 0.0
    least = 0.5 * 10**-digits
    if 0 < abs(x) < least:
        return f"< {10**-digits:.{digits}f}" if x > 0 else f"> -{10**-digits:.{digits}f}"
    if 1 - least <= x < 1:
        return f"> {1 - 10**-digits:.{digits}f}"
    return f"{x:.{1 if abs(x) >= 10 else digits}f}"


def interval(e: Estimate) -> str:
    """Return "0.965 [0.951, 0.978]", or the value alone where no bound is known."""
    if e.value is None or (e.low is None and e.high is None):
        return number(e.value)
    return f"{number(e.value)} [{number(e.low)}, {number(e.high)}]"


def estimate(e: Estimate) -> str:
    """Return "0.965 [0.951, 0.978], n 812"; an undefined one is "-, n 12"."""
    return f"{interval(e)}, n {count(e.n)}"


def columns(header: str, estimates: Sequence[Estimate]) -> tuple[str, list[str]]:
    """Return a column's header and cells; n stands in the header where all cells rest on the same one."""
    ns = {e.n for e in estimates}
    if len(ns) == 1:
        return f"{header}, n {count(ns.pop())}", [interval(e) for e in estimates]
    return header, [estimate(e) for e in estimates]


def with_p(x: float | None, p: float | None) -> str:
    """Return "25.3 (p < 0.001)"."""
    text = probability(p)
    return number(x) if p is None else f"{number(x)} (p {text if text[0] == '<' else '= ' + text})"


def probability(p: float | None) -> str:
    """Return a p or q: "0.021", "< 0.001" for what is smaller, 0 of a computer's arithmetic included."""
    return "< 0.001" if p is not None and p < 0.0005 else number(p)


def share(x: float | None) -> str:
    """Return a share of parameters in percent with two significant digits: "0.027 %", "4.7 %", "100 %"."""
    return UNDEFINED if x is None or x - x != 0 else f"{float(f'{100 * x:.2g}' if x < 0.995 else f'{100 * x:.4g}'):g} %"


def of_key(key: str, thing: Any) -> str:
    """Return the value of a mapping's key as its name asks: leak rates and shares in percent, numbers in short."""
    if key == "p" or key.startswith("p_") or key.endswith(("_p", "_q")):
        return probability(thing) if isinstance(thing, float) else number(thing)
    if isinstance(thing, float) or thing is None:
        if key in RATES:
            return percent(thing) if thing is not None else UNDEFINED
        return share(thing) if key in ("share", "patch_share", "trainable_share") else number(thing)
    if isinstance(thing, int) and not isinstance(thing, bool):
        return count(thing)
    if isinstance(thing, list | tuple):
        return "; ".join(of_key(key, part) for part in thing) or "none"
    return value(thing)


def title(key: str) -> str:
    """Return a key as a person reads it: "n_rows" is "rows", "leak_rate" is "leak rate"."""
    return _TITLES.get(key) or key.removeprefix("n_").replace("_", " ") or key


def metric(name: str, settings: StudySettings) -> str:
    """Return a metric as a person reads it: "over_refusal_a" is "over-refusal, harm"."""
    a, b = (policy.name for policy in settings.policies)
    stem, _, which = name.rpartition("_")
    if which not in ("a", "b"):
        return _METRICS.get(name, title(name))
    return f"{_METRICS.get(stem, title(stem))}, {a if which == 'a' else b}"


def point(name: str, settings: StudySettings) -> str:
    """Return what an operating point is: "best F1 on dev, harm"."""
    a, b = (policy.name for policy in settings.policies)
    names = {
        "native": "native 0.5",
        "best_f1_a": f"best F1 on dev, {a}",
        "best_f1_b": f"best F1 on dev, {b}",
        "matched_fpr": f"matched FPR {number(settings.fpr, 2)}",
        "cost_a": f"cost ratio {settings.cost_ratio:g}, {a}",
        "cost_b": f"cost ratio {settings.cost_ratio:g}, {b}",
    }
    return names.get(name, name)


def per_seed(values: Sequence[str]) -> str:
    """Return a value for each seed, "0.35; 0.41; 0.35", or the one that all have."""
    return values[0] if len(set(values)) == 1 else "; ".join(values)


def side(policy: str, settings: StudySettings) -> Side:
    """Return which policy an arm ended on: "a", "b", or "mixed" for any other word."""
    names = [p.name for p in settings.policies]
    return ("a" if policy == names[0] else "b") if policy in names else "mixed"


# ---------------------------------------------------------------- arms


def arms(result: StudyResult) -> tuple[Arm, ...]:
    """Return the arms in the order of the study file, controls last, then arms known from the metrics alone."""
    declared = result.settings.arms
    known = {arm.name for arm in declared}
    others = sorted({str(name) for name in result.metrics["arm"].unique()} - known)
    ordered = [arm for arm in declared if not arm.control] + [arm for arm in declared if arm.control]
    return (*ordered, *[Arm(name, "", (), "") for name in others])


def in_order(names: Iterable[str], first: Sequence[str]) -> list[str]:
    """Return names as `first` has them, then the others by name: a report does not depend on a mapping's order."""
    place = {name: index for index, name in enumerate(first)}
    return sorted(names, key=lambda name: (place.get(name, len(place)), name))


def base(student: str, result: StudyResult) -> str:
    """Return the arm that a control arm is a control of, or the arm itself."""
    parents = {arm.name: arm.parent for arm in result.settings.arms if arm.control}
    return parents.get(student) or student


def stage(one: Stage) -> str:
    """Return a stage in short: "block + teacher A large (T 2, weight 0.7)"."""
    teacher = one.teacher
    if teacher is None:
        return one.labels or "no labels"
    kinds = [word for word, is_on in (("hardened", teacher.is_hardened), ("shuffled", teacher.is_shuffled)) if is_on]
    how = ", ".join([f"T {teacher.temperature:g}", f"weight {teacher.weight:g}", *kinds])
    return f"{one.labels or 'soft labels only'} + teacher {teacher.arm or teacher.model or teacher.column} ({how})"


def stages(arm: Arm) -> str:
    """Return all stages of an arm: "harm > block"."""
    return " > ".join(stage(one) for one in arm.stages) or UNDEFINED


def trained(entry: LedgerEntry | None) -> str:
    """Return what an arm's stages changed: "lora rank 4: 0.32 % > lora rank 1: 0.027 %", equal stages once."""
    if entry is None:
        return UNDEFINED
    parts = [
        f"{s.trainable.partition(':')[0]}: {share(s.n_trainable / s.n_parameters) if s.n_parameters else UNDEFINED}"
        for s in entry.stages
    ]
    return " > ".join(dict.fromkeys(parts)) or UNDEFINED


# ---------------------------------------------------------------- metrics


def measured(result: StudyResult) -> Mapping[Key, Estimate]:
    """Return every metric of every arm over its seeds.

    A row without seed is the arm's own estimate, with its interval. Where there is none the mean of the seeds' values
    is shown, without interval, and as undefined where it is for any seed.
    """
    found: dict[Key, list[Estimate]] = {}
    pooled: dict[Key, Estimate] = {}
    for row in result.metrics.iter_rows(named=True):
        key = (row["arm"], row["set"], row["part"], row["metric"], row["point"])
        one = Estimate(row["value"], row["low"], row["high"], row["n"] or 0)
        if row["seed"] is None:
            pooled[key] = one
        else:
            found.setdefault(key, []).append(one)
    return {key: _mean(ones) for key, ones in found.items()} | pooled


def _mean(ones: Sequence[Estimate]) -> Estimate:
    if len(ones) == 1:
        return ones[0]
    values = [e.value for e in ones if e.value is not None]
    mean = sum(values) / len(values) if len(values) == len(ones) else None
    return Estimate(mean, n=min(e.n for e in ones))


def pick(table: Mapping[Key, Estimate], arm: str, metric: str, at: str = "", part: str = "all") -> Estimate:
    """Return one metric of one arm on a part of the test split; an undefined one with n 0 where it is not measured."""
    return table.get((arm, "test", part, metric, at), Estimate(None))
