"""The tables of a study's report as plain texts, cells unescaped; the views escape them. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auditkit.report import study_words as words
from auditkit.report.grids import Grid
from auditkit.report.phrases import count
from auditkit.report.study_words import Key, number
from auditkit.study_records.results import POINTS, Correlation, Estimate, StudyResult
from auditkit.study_records.settings import Arm, StudySettings

Table = Mapping[Key, Estimate]
_SETS = ("train", "dev", "test")


def verdicts(result: StudyResult) -> Grid:
    """Return what each benchmark measures, at every operating point it was asked at."""
    points = words.in_order({r.point for r in result.ranges}, POINTS)
    by = {(r.benchmark, r.point): r.measures for r in result.ranges}
    rows = [
        (name, klass, *[by.get((name, at), words.UNDEFINED) for at in points])
        for name, klass in dict.fromkeys((r.benchmark, r.klass) for r in result.ranges)
    ]
    headers = ("benchmark", "class", *[f"measures, at {words.point(at, result.settings)}" for at in points])
    return Grid(headers, tuple(rows), len(headers))


def cells(result: StudyResult) -> Grid:
    """Return the counts of the four cells, by set."""
    a, b = (policy.name for policy in result.settings.policies)
    headers = (
        "set",
        "n",
        "both flag (C1)",
        "neither flags (C0)",
        f"only {a} flags (D10)",
        f"only {b} flags (D01)",
        "unknown label",
    )
    rows = [
        (name, *map(count, (c.n, c.c1, c.c0, c.d10, c.d01, c.n_unknown)))
        for name in words.in_order(result.cells, _SETS)
        for c in [result.cells[name]]
    ]
    return Grid(headers, tuple(rows))


# ---------------------------------------------------------------- arms


def recipes(result: StudyResult, arms: Sequence[Arm]) -> Grid:
    """Return how each arm was trained, in short."""
    first = {entry.arm: entry for entry in reversed(result.ledger)}
    rows = [
        (
            arm.name,
            arm.model or words.UNDEFINED,
            arm.final_policy or words.UNDEFINED,
            words.stages(arm),
            words.trained(first.get(arm.name)),
            arm.parent or words.UNDEFINED,
        )
        for arm in arms
    ]
    headers = ("arm", "model", "final policy", "stages", "trainable: share of parameters", "made from")
    return Grid(headers, tuple(rows), len(headers))


def measures(result: StudyResult, arms: Sequence[Arm], table: Table) -> Grid:
    """Return capability and policy agreement of each arm, apart: on the test split, at native 0.5."""
    a, b = (policy.name for policy in result.settings.policies)
    wanted = [
        ("capability: AUROC on C", "auroc_concordant", ""),
        (f"agreement with {a} on D", "agreement_a", "native"),
        (f"agreement with {b} on D", "agreement_b", "native"),
        ("direction", "direction", "native"),
        ("strictness", "strictness", "native"),
    ]
    return by_arm(arms, table, wanted)


def errors(result: StudyResult, arms: Sequence[Arm], table: Table, at: str = "native", part: str = "all") -> Grid:
    """Return accuracy, over-refusal and miss rates of each arm under both policies, at one operating point.

    The part "fail_closed" counts failed predictions as flagged, "all" leaves them out.
    """
    names = [policy.name for policy in result.settings.policies]
    wanted = [
        (f"{what}, {name}", f"{metric}_{which}", at)
        for what, metric in (("accuracy", "acc"), ("over-refusal", "over_refusal"), ("miss", "miss"))
        for which, name in zip("ab", names, strict=True)
    ]
    return by_arm(arms, table, wanted, part)


def by_arm(arms: Sequence[Arm], table: Table, wanted: Sequence[tuple[str, str, str]], part: str = "all") -> Grid:
    """Return a row for each arm and a column for each (header, metric, point) that any arm has; none, no rows."""
    found = {want: [words.pick(table, arm.name, want[1], want[2], part) for arm in arms] for want in wanted}
    kept = {want: ones for want, ones in found.items() if any(e.n or e.value is not None for e in ones)}
    made = [words.columns(want[0], ones) for want, ones in kept.items()]
    finals = [arm.final_policy or words.UNDEFINED for arm in arms]
    rows = [
        (arm.name, final, *[column[place] for _, column in made])
        for place, (arm, final) in enumerate(zip(arms, finals, strict=True))
    ]
    return Grid(("arm", "final policy", *[header for header, _ in made]), tuple(rows) if made else (), 2)


def thresholds(result: StudyResult, arms: Sequence[Arm]) -> Grid:
    """Return every threshold used, seeds in their order."""
    by: dict[tuple[str, str], list[str]] = {}
    for t in sorted(result.thresholds, key=lambda t: t.seed):
        by.setdefault((t.arm, t.point), []).append(number(t.threshold))
    points = words.in_order({t.point for t in result.thresholds}, POINTS)
    rows = [
        (arm.name, *[words.per_seed(by.get((arm.name, at), [words.UNDEFINED])) for at in points])
        for arm in arms
        if any((arm.name, at) in by for at in points)
    ]
    return Grid(("arm", *[words.point(at, result.settings) for at in points]), tuple(rows), len(points) + 1)


def by_source(result: StudyResult, arms: Sequence[Arm], table: Table) -> Grid:
    """Return capability per source, since one easy source can make up most of C0."""
    parts = sorted({key[2] for key in table if key[1] == "test" and key[2].startswith("source:")})
    rows = [
        (part.removeprefix("source:"), arm.name, *map(words.estimate, ones))
        for part in parts
        for arm in arms
        for ones in [
            [words.pick(table, arm.name, metric, part=part) for metric in ("auroc_concordant", "recall_at_fpr")]
        ]
        if any(e.n for e in ones)
    ]
    return Grid(("source", "arm", "AUROC on C", "recall on C1 at matched FPR"), tuple(rows), 2)


# ---------------------------------------------------------------- teachers, accuracy


def inheritance(result: StudyResult) -> Grid:
    """Return how much of its teacher's policy each student took, controls beside it under the student's name."""
    rows = result.inheritance
    inherited, taken = words.columns("inheritance", [i.inheritance for i in rows])
    moved_by, moved = words.columns("difference in agreement", [i.difference for i in rows])
    headers = ("student", "kind", "dose", "teacher", "without teacher", inherited, moved_by, "Cohen's h", "McNemar p")
    made = [
        (
            words.base(i.student, result),
            i.kind.replace("_", " "),
            i.dose or words.UNDEFINED,
            i.teacher,
            i.reference,
            taken[place],
            moved[place],
            number(i.cohens_h),
            words.probability(i.mcnemar_p),
        )
        for place, i in enumerate(rows)
    ]
    return Grid(headers, tuple(made), 5)


def correlations(rows: Sequence[Correlation], settings: StudySettings) -> Grid:
    """Return what validation accuracy goes with."""
    headers = (
        "accuracy",
        "goes with",
        "Pearson r",
        "Spearman",
        "p, permuted",
        "leave one arm out",
        "sd of accuracy",
        "sd of the other",
        "arms",
    )
    made = [
        (
            words.metric(c.accuracy, settings),
            words.metric(c.predictor, settings),
            words.interval(c.pearson),
            number(c.spearman),
            words.probability(c.p_permutation),
            f"{number(c.leave_one_out[0])} to {number(c.leave_one_out[1])}" if c.leave_one_out else words.UNDEFINED,
            number(c.sd_accuracy),
            number(c.sd_predictor),
            count(c.n_arms),
        )
        for c in rows
    ]
    return Grid(headers, tuple(made), 2)
