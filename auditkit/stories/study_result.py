"""Predictions, targets and ledger -> the study's result: every number of the report comes from these three."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.evaluate.cells import cells_by_set, nested_note
from auditkit.evaluate.correlations import correlations
from auditkit.evaluate.floors import EvaluationFloor, evaluation_floor
from auditkit.evaluate.hits import hits
from auditkit.evaluate.inheritance import inheritances
from auditkit.evaluate.intervals import gap, score_intervals
from auditkit.evaluate.metrics import det_curves, metrics
from auditkit.evaluate.ranges import fold, ranges
from auditkit.evaluate.thresholds import operating_points
from auditkit.records import AuditReport
from auditkit.report.phrases import counted
from auditkit.stories.arms import origins
from auditkit.stories.study_frames import Frames
from auditkit.study_records.ledger import LedgerEntry
from auditkit.study_records.results import EarlierPool, Estimate, StudyResult, Threshold
from auditkit.study_records.settings import Arm, StudySettings

#: Measures of the arms table that carry an interval over near-duplicate groups and seeds.
WITH_INTERVALS = ("auroc_concordant", "agreement_a", "agreement_b", "agreement_auroc", "acc_a", "acc_b")


@dataclass(frozen=True)
class Material:
    """What a study left behind: enough to compute everything again.

    Attributes:
        frames: predictions and what they are of.
        before, after: the audit of the raw pool, and of what was trained on.
        earlier: what the pools of base models and outside teachers hold of the benchmarks.
        ledger, raw_ledger: of the arms, and of those trained on the contaminated pool.
        seconds: wall times of the study's parts.
    """

    settings: StudySettings
    frames: Frames
    before: AuditReport
    after: AuditReport
    earlier: tuple[EarlierPool, ...]
    ledger: tuple[LedgerEntry, ...]
    raw_ledger: tuple[LedgerEntry, ...]
    seconds: Mapping[str, float]


def result_of(material: Material) -> StudyResult:
    """Return the study's result."""
    settings, frames = material.settings, material.frames
    predictions, targets = frames.predictions, frames.targets
    names = (settings.policies[0].name, settings.policies[1].name)
    thresholds = operating_points(predictions, targets, settings.fpr, settings.cost_ratio)
    found = metrics(predictions, targets, thresholds, settings.fpr)
    floors = evaluation_floor(frames.first, frames.again)
    spreads = tuple(
        one
        for point in ("native", "matched_fpr")
        for one in ranges(found, settings.benchmarks, settings.arms, names, point, evaluation=floors)
    )
    related, test = correlations(predictions, targets, thresholds, settings.arms)
    cells = cells_by_set(pl.concat([frames.training, targets]))
    sides = {"train", "dev", "test"}
    native = [one for one in spreads if one.point == "native"]
    inherited = inheritances(predictions, targets, thresholds, settings.arms, names)
    return StudyResult(
        settings=settings,
        metrics=pl.concat([found, _intervals(predictions, targets, thresholds)]),
        thresholds=tuple(thresholds),
        ranges=spreads,
        fold=fold(native),
        inheritance=inherited,
        correlations=related,
        correlation_test=test,
        cells={name: counts for name, counts in cells.items() if name in sides},
        nested=nested_note(cells["test"], *names),
        capability_gap=_gap("auroc_concordant", predictions, targets, thresholds, settings.arms, names),
        agreement_gap=_gap("agreement_a", predictions, targets, thresholds, settings.arms, names),
        patches=_patches(found, settings, material.ledger),
        contamination=_contamination(material.before, material.after),
        earlier_pools=material.earlier,
        raw=_raw(found, material) if len(frames.raw) else {},
        ledger=material.ledger,
        raw_ledger=material.raw_ledger,
        det_curves=_det_curves(predictions, targets, names, settings.seeds[0]),
        disclosures=_disclosures(material, floors),
        headline=tuple(one.sentence for one in native),
        seconds=material.seconds,
    )


def _intervals(predictions: pl.DataFrame, targets: pl.DataFrame, thresholds: Sequence[Threshold]) -> pl.DataFrame:
    """Return rows of tables.METRICS with the mean over seeds and its interval; their seed is null."""
    rows = []
    for measure in WITH_INTERVALS:
        measured = hits(predictions, targets, thresholds, measure)
        point = "" if measure in ("auroc_concordant", "agreement_auroc") else "native"
        for arm, found in score_intervals(measured).items():
            rows.append((arm, None, "test", "all", measure, point, found.value, found.n, found.low, found.high))
    return pl.DataFrame(rows, schema=tables.METRICS, orient="row")


def _gap(
    measure: str,
    predictions: pl.DataFrame,
    targets: pl.DataFrame,
    thresholds: Sequence[Threshold],
    arms: Sequence[Arm],
    names: tuple[str, str],
) -> Estimate:
    """Return the A-final arms' mean minus the B-final arms' of a measure; controls and `mixed` stand outside."""
    sides = [[arm.name for arm in arms if arm.final_policy == name and not arm.control] for name in names]
    return gap(hits(predictions, targets, thresholds, measure), sides[0], sides[1])


def _rates(found: pl.DataFrame, benchmarks: Sequence[str]) -> dict[tuple[str, str], float]:
    """Return (arm, benchmark) -> mean flag rate over seeds at native 0.5."""
    rows = found.filter(
        (pl.col("metric") == "flag_rate") & (pl.col("point") == "native") & (pl.col("part") == "all")
        & pl.col("set").is_in(list(benchmarks)) & pl.col("value").is_not_null()
    )  # fmt: skip
    means = rows.group_by("arm", "set").agg(pl.col("value").mean())
    return {(arm, name): value for arm, name, value in means.iter_rows()}


def _patches(found: pl.DataFrame, settings: StudySettings, ledger: Sequence[LedgerEntry]) -> dict[str, dict[str, Any]]:
    """Return, for each arm made from another, the share of parameters its patch changed and how scores moved."""
    benchmarks = [benchmark.name for benchmark in settings.benchmarks]
    rates = _rates(found, benchmarks)
    entries = {entry.arm: entry for entry in ledger}
    made: dict[str, dict[str, Any]] = {}
    for arm in settings.arms:
        if not arm.parent or arm.control or arm.name not in entries:
            continue
        stage = entries[arm.name].stages[-1]
        moves = {
            name: rates[arm.name, name] - rates[arm.parent, name]
            for name in benchmarks
            if (arm.name, name) in rates and (arm.parent, name) in rates
        }
        made[arm.name] = {
            "parent": arm.parent,
            "trainable": stage.trainable,
            "n_trainable": stage.n_trainable,
            "patch_share": stage.n_trainable / stage.n_parameters,
            "move": moves,
        }
    return made


def _contamination(before: AuditReport, after: AuditReport) -> dict[str, Any]:
    """Return leak rates per benchmark in the pool as it came, and in what was trained on."""

    def rates(report: AuditReport) -> dict[str, Any]:
        return {
            "pool_digest": report.pool_digest,
            "n_rows": report.n_rows,
            "n_rows_condemned": report.n_rows_contaminated,
            "leak_rate": {one.name: one.leak_rate for one in report.benchmarks},
            "reported_rate": {one.name: one.reported_rate for one in report.benchmarks},
        }

    tiers = ", ".join(after.tiers_run)
    return {"before": rates(before), "after": rates(after), "rules": before.rules_version, "tiers": tiers}


def _raw(found: pl.DataFrame, material: Material) -> dict[str, Any]:
    """Return what training on the contaminated pool did to each score: raw minus clean flag rate, per arm."""
    settings, frames = material.settings, material.frames
    benchmarks = [benchmark.name for benchmark in settings.benchmarks]
    points = operating_points(frames.raw, frames.targets, settings.fpr, settings.cost_ratio)
    raw = _rates(metrics(frames.raw, frames.targets, points, settings.fpr), benchmarks)
    clean = _rates(found, benchmarks)
    return {
        name: {
            arm: raw[arm, name] - clean[arm, name] for arm, one in sorted(raw) if one == name and (arm, name) in clean
        }
        for name in benchmarks
    }


def _det_curves(
    predictions: pl.DataFrame, targets: pl.DataFrame, names: tuple[str, str], seed: int
) -> dict[str, dict[str, list[list[float]]]]:
    """Return arm -> policy -> [over-refusal, miss] on the test side, of the first seed."""
    test = targets.filter(pl.col("set") == "test")
    first = predictions.filter((pl.col("set") == "test") & (pl.col("seed") == seed))
    curves = det_curves(first, test)
    policies = {"label_a": names[0], "label_b": names[1]}
    made: dict[str, dict[str, list[list[float]]]] = {}
    for (arm, policy), part in curves.filter(pl.col("policy").is_in(list(policies))).group_by(
        "arm", "policy", maintain_order=True
    ):
        points = part.select("over_refusal", "miss").rows()
        made.setdefault(str(arm), {})[policies[str(policy)]] = [[float(x), float(y)] for x, y in points]
    return made


def _earlier_disclosure(material: Material) -> str:
    """Return which pools of base models and outside teachers were audited, and which were not."""
    audited = [pool.of for pool in material.earlier]
    missing = [f"{kind} {name}" for name, kind in origins(material.settings).items() if name not in audited]
    said = f"section Pools of base models and teachers: {', '.join(audited)}" if audited else ""
    if not missing:
        return said
    not_audited = f"not audited: {', '.join(missing)} (no pool given under [[provenance]])"
    return f"missing: {not_audited}{f'; audited: {said}' if said else ''}"


def _disclosures(material: Material, floors: Mapping[str, EvaluationFloor]) -> dict[str, str]:
    """Return what a study must disclose, and where it stands; what is missing says why."""
    settings = material.settings
    unstated = [one.name for one in settings.benchmarks if not one.policy]
    soft = {s.teacher for e in material.ledger for s in e.stages if s.teacher}
    n_seeds = len(settings.seeds)
    return {
        "training-data contamination of every pool": "section Contamination: "
        f"{material.after.n_rows_contaminated} condemned rows in the pool that was trained on, "
        f"{material.before.n_rows_contaminated} in the pool as it came",
        "training-data contamination of base models' and teachers' pools": _earlier_disclosure(material),
        "seed floor": f"section Ranges, over {n_seeds} seeds" if n_seeds > 1 else "missing: one seed leaves no floor",
        "grading definition of every benchmark": (
            f"missing: no policy text for {', '.join(unstated)}" if unstated else "section Benchmarks"
        ),
        "provenance of every teacher and soft label": (
            f"section Ledger: {counted(len(soft), 'teacher')}" if soft else "no teacher is used"
        ),
        "results across policies and thresholds": "section Arms and metrics.parquet: misses and over-refusals per "
        "policy, at native 0.5, best F1, matched false-positive rate and a cost ratio",
        "capability and policy agreement separately": "section Arms: AUROC on concordant prompts beside agreement on "
        "discordant ones",
        "evaluation floor": "largest move of a flag rate by batch size and order: "
        f"{max((floor.rate for floor in floors.values()), default=0.0):.4f}",
    }
