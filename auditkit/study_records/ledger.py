"""What was trained: each stage, and each arm and seed, with where every part of it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StageRecord:
    """What one trained stage was: a line of the ledger.

    Attributes:
        key: digest of everything that decides its weights (base, earlier stages, data, teacher, seed, settings).
        n_trainable, n_parameters: counts; `trainable_names` names the changed tensors.
        n_rows: rows trained on; n_truncated of them were cut at max_tokens. n_unlabelled rows lack a label that the
            stage asks for and were left out.
        teacher_digest: digest of the teacher's weights or column; "" without a teacher.
        teacher_source: where an outside teacher was read from, with its revision; template_digest: of a generative
            guard's template, "" without one.
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
    teacher_source: str = ""
    template_digest: str = ""
    start_digest: str = ""
    weights_digest: str = ""


@dataclass(frozen=True)
class LedgerEntry:
    """One trained arm and seed: where every part of it came from.

    Attributes:
        model_source: where the base model was read from, with its revision.
        is_raw: trained on the pool as it came, benchmark items included, to measure what that does to scores.
    """

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
    is_raw: bool = False
