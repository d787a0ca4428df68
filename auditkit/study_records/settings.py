"""What a study file asks for: policies, benchmarks, models, arms and their stages. Terms: docs/definitions.md.

Two policies label the same prompts: the first named is A, the second B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Part = Literal["full", "lora", "ia3", "bias", "layer_norm", "head"]


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
        revision: branch, tag or commit of a Hub guard.
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
    revision: str = ""


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
class Provenance:
    """What a base model or an outside teacher was trained on before the study, where the user has it.

    Attributes:
        of: the name of a model of the study, or a teacher's model or column.
        pools: inputs as `auditkit audit` takes them; `text_fields` narrows their text.
    """

    of: str
    pools: tuple[str, ...]
    text_fields: tuple[str, ...] = ()


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
        provenance: earlier pools of base models and outside teachers; they are audited, too.
        leaked_items: what becomes of benchmark items that stand in an earlier pool: "exclude" scores all arms on
            what is left, "keep" scores them on all items.
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
    provenance: tuple[Provenance, ...] = ()
    leaked_items: Literal["exclude", "keep"] = "exclude"
