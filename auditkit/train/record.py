"""What both trainers are asked for and say of a stage: the run, its key, its record, whether it is finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import OutputError
from auditkit.study_records.ledger import StageRecord
from auditkit.study_records.settings import Optimizer, Stage
from auditkit.train.labels import SoftLabels, StageLabels
from auditkit.train.ledger import data_digest, finished_stage, stage_key
from auditkit.train.trainable import Declared

OnStep = Callable[[int, int, float], None]


@dataclass(frozen=True)
class StageRun:
    """One stage to be trained by one seed, whichever trainer does it.

    Attributes:
        stage: its teacher's settings (temperature, weight, hardened, shuffled) and `share` are applied by the trainer.
        hard: labels 0, 1 or -1 (unknown), one a text; None where only the teacher speaks.
        soft: what the teacher says of each text; None without one.
        out: the folder that the result is written to.
        key: `ledger.stage_key` of the stage; made of the start, data and settings where "".
        on_step: called with (steps done, all steps, loss).
    """

    stage: Stage
    hard: NDArray[Any] | None
    soft: SoftLabels | None
    optimizer: Optimizer
    seed: int
    out: Path
    key: str = ""
    on_step: OnStep | None = None

    @property
    def soft_values(self) -> NDArray[np.float64] | None:
        """Return the teacher's logits or probabilities, None without one."""
        return None if self.soft is None else self.soft.values


def same_stage(out: Path, key: str) -> StageRecord | None:
    """Return the record of the finished stage in `out` if it has this key, None where `out` does not exist.

    Raises:
        OutputError: `out` holds something else.
    """
    if not out.exists():
        return None
    record = finished_stage(out)
    if record is None or record.key != key:
        held = "no finished stage" if record is None else f"the stage {record.key[:19]}..., not {key[:19]}..."
        raise OutputError(f"{out}: holds {held}; its settings or data differ, so name another folder or remove it")
    return record


def stage_record(
    run: StageRun,
    *,
    key: str,
    described: str,
    declared: Declared,
    labels: StageLabels,
    n_truncated: int,
    losses: Sequence[float],
    seconds: float,
    digests: tuple[str, str],
) -> StageRecord:
    """Return the ledger's line of a trained stage; `digests` are those of the weights before and after."""
    stage, teacher, soft = run.stage, run.stage.teacher, run.soft
    parts = np.array_split(np.asarray(losses), min(20, len(losses)))
    return StageRecord(
        key=key,
        labels=stage.labels,
        teacher="" if teacher is None else teacher.arm or teacher.model or teacher.column,
        teacher_digest="" if soft is None else soft.digest,
        teacher_source="" if soft is None else soft.source,
        template_digest="" if soft is None else soft.template_digest,
        temperature=0.0 if teacher is None else teacher.temperature,
        weight=0.0 if labels.soft is None else 1.0 if labels.hard is None or teacher is None else teacher.weight,
        is_hardened=teacher is not None and teacher.is_hardened,
        is_shuffled=teacher is not None and teacher.is_shuffled,
        trainable=described,
        n_trainable=declared.n_trainable,
        n_parameters=declared.n_parameters,
        trainable_names=declared.names,
        n_rows=len(labels.rows),
        n_truncated=n_truncated,
        epochs=stage.epochs,
        learning_rate=stage.learning_rate,
        losses=tuple(round(float(part.mean()), 6) for part in parts),
        seconds=round(seconds, 3),
        n_unlabelled=labels.n_unlabelled,
        n_steps=len(losses),
        start_digest=digests[0],
        weights_digest=digests[1],
    )


def own_key(run: StageRun, start_digest: str, texts: Sequence[str], trainer: str) -> str:
    """Return a stage's key where the caller gave none: from the weights it starts from, data, labels and settings."""
    labels = [None if values is None else np.asarray(values) for values in (run.hard, run.soft_values)]
    return stage_key(
        base_digest=start_digest,
        seed=run.seed,
        earlier=(),
        data_digest=data_digest(texts, *labels),
        teacher_key="",
        stage=run.stage,
        optimizer=run.optimizer,
        trainer=trainer,
    )
