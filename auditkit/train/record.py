"""What both trainers say of a stage: its key, its record, whether it is finished, and that a loss is a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import OutputError, UsageError
from auditkit.study_records.ledger import StageRecord
from auditkit.study_records.settings import Optimizer, Stage
from auditkit.train.batches import rate_factor
from auditkit.train.labels import StageLabels
from auditkit.train.ledger import data_digest, finished_stage, stage_key
from auditkit.train.trainable import Declared

OnStep = Callable[[int, int, float], None]


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
    stage: Stage,
    *,
    key: str,
    teacher_digest: str,
    described: str,
    declared: Declared,
    labels: StageLabels,
    n_truncated: int,
    losses: Sequence[float],
    seconds: float,
    digests: tuple[str, str],
) -> StageRecord:
    """Return the ledger's line of a trained stage; `digests` are those of the weights before and after."""
    teacher = stage.teacher
    parts = np.array_split(np.asarray(losses), min(20, len(losses)))
    return StageRecord(
        key=key,
        labels=stage.labels,
        teacher="" if teacher is None else teacher.arm or teacher.model or teacher.column,
        teacher_digest=teacher_digest,
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


def check_loss(loss: float, step: int, n_steps: int, learning_rate: float) -> float:
    """Return `loss` if it is finite.

    Raises:
        UsageError: it is not; the message names the step (1-based) and the learning rate.
    """
    if not math.isfinite(loss):
        raise UsageError(
            f"the loss is {loss} at step {step} of {n_steps} (learning rate {learning_rate:g}); nothing was written "
            "and earlier stages are kept; lower learning_rate, or check the teacher's probabilities"
        )
    return loss


def own_key(
    start_digest: str,
    stage: Stage,
    texts: Sequence[str],
    hard: NDArray[Any] | None,
    soft: NDArray[Any] | None,
    optimizer: Optimizer,
    seed: int,
    trainer: str,
) -> str:
    """Return a stage's key where the caller gave none: from the weights it starts from, data, labels and settings."""
    labels = [None if values is None else np.asarray(values) for values in (hard, soft)]
    return stage_key(
        base_digest=start_digest,
        seed=seed,
        earlier=(),
        data_digest=data_digest(texts, *labels),
        teacher_key="",
        stage=stage,
        optimizer=optimizer,
        trainer=trainer,
    )


def adamw(model: Any, learning_rate: float, optimizer: Optimizer, n_steps: int) -> tuple[Any, Any]:
    """Return AdamW over the trained parameters and its warm-up and decay; only matrices decay towards 0."""
    import torch

    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": optimizer.weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    update = torch.optim.AdamW([group for group in groups if group["params"]], lr=learning_rate)
    factor = torch.optim.lr_scheduler.LambdaLR(update, lambda step: rate_factor(step, n_steps, optimizer.warmup_share))
    return update, factor
