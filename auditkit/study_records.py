"""The frozen records of a policy study: what is trained, predicted and found. Terms: docs/definitions.md.

Two policies label the same prompts: the first named is A, the second B. C is the set of prompts on which they agree
(C1 flagged, C0 not), D10 those that only A flags, D01 those that only B flags, D both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

Part = Literal["full", "lora", "ia3", "bias", "layer_norm", "head"]

#: Operating points, always all four: native 0.5; best F1 on dev, once per policy; matched false-positive rate on the
#: concordant benign prompts of dev; a stated cost ratio, once per policy. None is ever chosen on test.
POINTS: tuple[str, ...] = ("native", "best_f1_a", "best_f1_b", "matched_fpr", "cost_a", "cost_b")


# ---------------------------------------------------------------- what is trained


@dataclass(frozen=True)
class Policy:
    """One labelling policy of the study.

    Attributes:
        column: the pool column with its labels; `values` maps them as LabelRule does.
        text: what the policy says, one or two sentences.
    """

    name: str
    column: str
    values: Mapping[str, int | None] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class StudyBenchmark:
    """One benchmark of the study.

    Attributes:
        spec: path, registered name, or name=path, as `auditkit audit --benchmark` takes it.
        klass: harmful, benign or mixed.
        policy: the policy that its expected labels follow, in words; `unit` what is graded; `revision` its version.
        expected: column of expected labels ("" for the class).
    """

    name: str
    spec: str
    klass: str
    policy: str = ""
    unit: str = "prompt"
    revision: str = ""
    expected: str = ""


@dataclass(frozen=True)
class ModelSpec:
    """One base model. `source`: "minilm", "minilm-3" (its alternate layers), a folder, or a Hub name."""

    name: str
    source: str
    revision: str = ""


@dataclass(frozen=True)
class Trainable:
    """Which parameters a stage changes.

    Attributes:
        rank, alpha: of LoRA. targets: of LoRA and IA3 (modules by the end of their name).
        layers: 0-based encoder layers, empty for all; they narrow every part but the head.
        is_head_trained: the classification head is trained too. A patch may leave it as it is.
    """

    part: Part = "lora"
    rank: int = 4
    alpha: float = 8.0
    targets: tuple[str, ...] = ("query", "value")
    layers: tuple[int, ...] = ()
    is_head_trained: bool = True


@dataclass(frozen=True)
class Teacher:
    """Where soft labels come from: exactly one of another arm, a Hub or folder guard, a column of probabilities.

    Attributes:
        temperature, weight: T and alpha of alpha * T^2 * KL(teacher_T || student_T) + (1 - alpha) * cross-entropy.
        is_hardened: the teacher's labels made hard (>= 0.5), at the same weight.
        is_shuffled: soft labels shuffled within hard-label class (a control).
    """

    arm: str = ""
    model: str = ""
    column: str = ""
    temperature: float = 2.0
    weight: float = 0.5
    is_hardened: bool = False
    is_shuffled: bool = False


@dataclass(frozen=True)
class Stage:
    """One stage of training.

    Attributes:
        labels: the policy whose hard labels are used; "" where only the teacher speaks (weight 1).
        share: share of the training rows used (a patch may need few), chosen by seed.
    """

    labels: str
    teacher: Teacher | None = None
    trainable: Trainable = field(default_factory=Trainable)
    epochs: float = 1.0
    learning_rate: float = 5e-4
    share: float = 1.0


@dataclass(frozen=True)
class Arm:
    """One way of training a guardrail.

    Attributes:
        stages: in order. An arm made `from` another one has that arm's stages first, and its own patch last.
        final_policy: a policy's name, or "mixed" where hard and soft labels of the last stage differ.
        parent: the arm it was made from, "" for none.
        control: "" for an arm of the study; else same_policy, shuffled, hardened or dose.
    """

    name: str
    model: str
    stages: tuple[Stage, ...]
    final_policy: str
    parent: str = ""
    control: str = ""


@dataclass(frozen=True)
class Optimizer:
    """One optimizer family for all arms."""

    name: Literal["adamw"] = "adamw"
    weight_decay: float = 0.01
    batch_size: int = 32
    warmup_share: float = 0.1
    max_tokens: int = 128


@dataclass(frozen=True)
class StudySettings:
    """A study file, read and checked.

    Attributes:
        pool: inputs as `auditkit audit` takes them. `text_fields` narrows the text; `source_column` names the column
            of sources for metrics per source.
        trainer: "finetune", or "head" on cached frozen features.
        train, dev, test: shares of the split; `split_seed` its seed. `sample`: rows drawn, stratified, before the
            split; 0 for all.
        fpr: the false-positive rate that the matched point allows on concordant benign dev prompts.
        cost_ratio: what a miss costs, in over-refusals.
        controls: add the controls of docs/definitions.md.
        also_raw: train the same arms on the contaminated pool too.
    """

    name: str
    pool: tuple[str, ...]
    policies: tuple[Policy, Policy]
    benchmarks: tuple[StudyBenchmark, ...]
    models: tuple[ModelSpec, ...]
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...] = (1, 2, 3)
    trainer: Literal["finetune", "head"] = "finetune"
    optimizer: Optimizer = field(default_factory=Optimizer)
    text_fields: tuple[str, ...] = ()
    source_column: str = ""
    train: float = 0.8
    dev: float = 0.1
    test: float = 0.1
    split_seed: int = 1
    sample: int = 0
    fpr: float = 0.05
    cost_ratio: float = 5.0
    controls: bool = False
    also_raw: bool = False
    audit_tiers: tuple[str, ...] = ("exact", "contained", "near")


@dataclass(frozen=True)
class StageRecord:
    """What one trained stage was: a line of the ledger.

    Attributes:
        key: digest of everything that decides its weights (base, earlier stages, data, teacher, seed, settings).
        n_trainable, n_parameters: counts; `trainable_names` names the changed tensors.
        n_rows: rows trained on; n_truncated of them were cut at max_tokens. n_unlabelled rows lack a label that the
            stage asks for and were left out.
        teacher_digest: digest of the teacher's weights or column; "" without a teacher.
        losses: mean loss of each twentieth of the steps (of each step where there are fewer).
        start_digest, weights_digest: digests of the checkpoint that it started from and of the one that it wrote.
    """

    key: str
    labels: str
    teacher: str
    teacher_digest: str
    temperature: float
    weight: float
    is_hardened: bool
    is_shuffled: bool
    trainable: str
    n_trainable: int
    n_parameters: int
    trainable_names: tuple[str, ...]
    n_rows: int
    n_truncated: int
    epochs: float
    learning_rate: float
    losses: tuple[float, ...]
    seconds: float
    n_unlabelled: int = 0
    n_steps: int = 0
    start_digest: str = ""
    weights_digest: str = ""


@dataclass(frozen=True)
class LedgerEntry:
    """One trained arm and seed: where every part of it came from."""

    arm: str
    seed: int
    model: str
    model_source: str
    model_digest: str
    final_policy: str
    parent: str
    control: str
    stages: tuple[StageRecord, ...]
    optimizer: Mapping[str, Any]
    data_digest: str
    weights_digest: str
    folder: str
    versions: Mapping[str, str]


# ---------------------------------------------------------------- what was found


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
class StudyResult:
    """Everything a study's report says; it can be recomputed from predictions, targets and ledger.

    Attributes:
        metrics: frame tables.METRICS.
        thresholds: every operating point used.
        ranges: per benchmark and point; `fold` the ratio of the widest to the narrowest range at native 0.5.
        cells: by set ("train", "dev", "test").
        nested: what cannot be identified because one discordant side is small ("" where both are large enough).
        capability_gap, agreement_gap: difference of means between A-final and B-final arms (AUROC on C; agreement).
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
    raw: Mapping[str, Any]
    ledger: tuple[LedgerEntry, ...]
    det_curves: Mapping[str, Any]
    disclosures: Mapping[str, str]
    headline: tuple[str, ...]
    seconds: Mapping[str, float]
