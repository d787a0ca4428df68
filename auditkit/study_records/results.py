"""What a study found: operating points, metrics, ranges, inheritance, correlations. Terms: docs/definitions.md.

C is the set of prompts on which policies A and B agree (C1 flagged, C0 not), D10 those that only A flags, D01 those
that only B flags, D both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from auditkit.study_records.ledger import LedgerEntry
from auditkit.study_records.settings import StudySettings

#: Operating points, always all four: native 0.5; best F1 on dev, once per policy; matched false-positive rate on the
#: concordant benign prompts of dev; a stated cost ratio, once per policy. None is ever chosen on test.
POINTS: tuple[str, ...] = ("native", "best_f1_a", "best_f1_b", "matched_fpr", "cost_a", "cost_b")


@dataclass(frozen=True)
class Estimate:
    """A number with its interval and what it rests on; value is None where it is undefined, never 0 instead."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    method: str = ""


@dataclass(frozen=True)
class Threshold:
    """An operating point of one arm and seed, chosen on dev (native is fixed)."""

    arm: str
    seed: int
    point: str
    threshold: float | None


@dataclass(frozen=True)
class BenchmarkRange:
    """How far the arms spread on one benchmark at one operating point, against the seed floor.

    Attributes:
        value: range of the arms' mean flag rates (R); `arm_means` those means.
        sigma_seed: the seed floor, pooled over arms; `sigma_upper` its upper 95 % bound.
        critical: the range that noise alone exceeds in 5 % of studies; `p` of the studentized range, `p_permutation` by
            permuting arm labels over runs.
        sensitivity: policy sensitivity with `sensitivity_p` of its F-test.
        policy_share: eta squared of the final-stage policy, permuted within model scale (`policy_share_p`).
        extremes_p, extremes_q: whether arms of one policy hold the extreme ranks; q after Benjamini-Hochberg.
        measures: "policy", "capability", "both", or "cannot tell"; `sentence` says it in words.
        n_lineages: independent lineages among the arms; `lineage_value` the range over their roots, with
            `lineage_critical` and `lineage_p` of the studentized range.
        capability_share: what detection capability explains of the range beside the final-stage policy (partial r^2).
        paired: differences of related arms, "arm - its root" -> paired difference over seeds.
    """

    benchmark: str
    klass: str
    point: str
    n_items: int
    arm_means: Mapping[str, float]
    value: float
    sigma_seed: float | None
    sigma_upper: float | None
    critical: float | None
    p: float | None
    p_permutation: float | None
    sensitivity: float | None
    sensitivity_p: float | None
    policy_share: float | None
    policy_share_p: float | None
    extremes_p: float | None
    extremes_q: float | None
    evaluation_floor: float | None
    measures: str
    sentence: str
    n_lineages: int = 0
    lineage_value: float | None = None
    lineage_critical: float | None = None
    lineage_p: float | None = None
    capability_share: float | None = None
    capability_share_p: float | None = None
    paired: Mapping[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True)
class Inheritance:
    """How much of its teacher's policy a student took; `kind`: teacher, same_policy, shuffled, hardened or dose."""

    student: str
    reference: str
    teacher: str
    kind: str
    dose: str
    inheritance: Estimate
    difference: Estimate
    cohens_h: float | None
    mcnemar_p: float | None
    note: str = ""


@dataclass(frozen=True)
class Correlation:
    """What the arms' validation accuracy goes with: policy agreement, or detection capability."""

    predictor: str
    accuracy: str
    pearson: Estimate
    spearman: float | None
    p_permutation: float | None
    sd_predictor: float
    sd_accuracy: float
    leave_one_out: tuple[float, float] | None
    n_arms: int
    note: str = ""


@dataclass(frozen=True)
class Cells:
    """Counts of a labelled set: both policies flag, neither, only A (D10), only B (D01), and unlabelled by either."""

    n: int
    c1: int
    c0: int
    d10: int
    d01: int
    n_unknown: int


@dataclass(frozen=True)
class EarlierPool:
    """What the earlier pool of a base model or an outside teacher holds of the benchmarks.

    Attributes:
        of: the model's name, or the teacher's model or column; `kind` "base model" or "teacher".
        arms: those whose weights or soft labels go back to it, through other arms as well.
        leaked: benchmark -> 0-based items that the pool holds; `n_items` benchmark -> all of its items.
        is_excluded: the leaked items were left out of the evaluation of every arm.
    """

    of: str
    kind: str
    arms: tuple[str, ...]
    pool_digest: str
    n_rows: int
    n_rows_condemned: int
    leaked: Mapping[str, tuple[int, ...]]
    n_items: Mapping[str, int]
    is_excluded: bool


@dataclass(frozen=True)
class StudyResult:
    """Everything a study's report says; it can be recomputed from predictions, targets and ledger.

    Attributes:
        metrics: frame tables.METRICS.
        thresholds: every operating point used.
        ranges: per benchmark and point; `fold` the ratio of the widest to the narrowest range at native 0.5.
        cells: by set ("train", "dev", "test").
        nested: what cannot be identified because one discordant side is small ("" where both are large enough).
        capability_gap, agreement_gap: difference of means between A-final and B-final arms (AUROC on C; agreement).
        raw_ledger: of the arms trained on the contaminated pool; empty without `also_raw`.
        earlier_pools: what reached the arms through base models and outside teachers whose pools were given.
        disclosures: item of docs/definitions.md -> where it stands, or "missing: why".
        headline: the answer, one sentence per benchmark.
    """

    settings: StudySettings
    metrics: pl.DataFrame = field(repr=False, compare=False)
    thresholds: tuple[Threshold, ...]
    ranges: tuple[BenchmarkRange, ...]
    fold: Mapping[str, Any]
    inheritance: tuple[Inheritance, ...]
    correlations: tuple[Correlation, ...]
    correlation_test: Mapping[str, Any]
    cells: Mapping[str, Cells]
    nested: str
    capability_gap: Estimate
    agreement_gap: Estimate
    patches: Mapping[str, Mapping[str, Any]]
    contamination: Mapping[str, Any]
    earlier_pools: tuple[EarlierPool, ...]
    raw: Mapping[str, Any]
    ledger: tuple[LedgerEntry, ...]
    raw_ledger: tuple[LedgerEntry, ...]
    det_curves: Mapping[str, Any]
    disclosures: Mapping[str, str]
    headline: tuple[str, ...]
    seconds: Mapping[str, float]
