"""One stage of fine-tuning: a checkpoint folder in, a checkpoint folder and its record out.

A stage has a fixed number of steps and keeps its last weights, whatever a dev metric would say: choosing a checkpoint
by labels of one policy would bring that policy in. It is written beside and renamed, so a killed stage leaves nothing
and is trained anew, to the same weights, on the same machine, device and number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.study_records.ledger import StageRecord
from auditkit.study_records.settings import Optimizer, Stage
from auditkit.train.batches import batch_order, step_count
from auditkit.train.folders import copy_tokenizer, fresh_folder, model_digest, tensors
from auditkit.train.labels import StageLabels, stage_labels
from auditkit.train.ledger import data_digest, write_stage
from auditkit.train.loading import (
    check_tokens,
    cut_rows,
    device,
    load_classifier,
    load_tokenizer,
    padded,
    quiet,
    require_training,
    seeded,
    token_rows,
)
from auditkit.train.loss import stage_loss
from auditkit.train.record import OnStep, adamw, check_loss, own_key, same_stage, stage_record
from auditkit.train.trainable import Declared, declared_names, describe, set_trainable

#: Gradients are clipped to this norm, as transformers' Trainer does.
MAX_NORM = 1.0
ADAPTER_FOLDER = "adapter"


def train_stage(
    start: Path,
    stage: Stage,
    texts: Sequence[str],
    hard: NDArray[Any] | None,
    soft: NDArray[Any] | None,
    *,
    optimizer: Optimizer,
    seed: int,
    out: Path,
    on_step: OnStep | None = None,
    key: str = "",
    teacher_digest: str = "",
) -> StageRecord:
    """Train one stage from the checkpoint `start` and write the result to `out`; return its record.

    Where `out` already holds this very stage (the same key), its record is returned and nothing is trained.

    Args:
        stage: teacher settings (temperature, weight, hardened, shuffled) and `share` are applied here.
        hard: labels 0, 1 or -1 (unknown), one a text; None where only the teacher speaks.
        soft: the teacher's probabilities of "flagged" [n], or its logits [n, 2]; NaN for unknown; None without one.
        on_step: called with (steps done, all steps, loss).
        key: `ledger.stage_key` of the stage; made of `start`, data and settings where "".

    Raises:
        MissingExtraError: the extra `train` is not installed.
        LabelError, UsageError: labels or settings that cannot be used; a loss that is not finite (nothing is written).
        OutputError: `out` holds another stage, or cannot be written.
    """
    require_training("training")
    start_digest = model_digest(start)
    key = key or own_key(start_digest, stage, texts, hard, soft, optimizer, seed, "finetune")
    done = same_stage(out, key)
    if done is not None:
        return done
    began = time.monotonic()
    labels = stage_labels(stage, len(texts), hard, soft, seed)
    work = _prepared(start, stage, [texts[i] for i in labels.rows], labels, optimizer)
    with seeded(seed):
        model = set_trainable(work.model, stage.trainable, work.declared).to(device())
        losses = list(_steps(model, work, stage, optimizer, seed, on_step))
    with fresh_folder(out) as folder:
        _write_checkpoint(model, start, folder, stage)
        _check_changes(start, folder, work.declared)
        record = stage_record(
            stage,
            key=key,
            teacher_digest=teacher_digest or ("" if soft is None else data_digest([], np.asarray(soft))),
            described=describe(work.declared, stage.trainable),
            declared=work.declared,
            labels=labels,
            n_truncated=work.n_truncated,
            losses=losses,
            seconds=time.monotonic() - began,
            digests=(start_digest, model_digest(folder)),
        )
        write_stage(folder, record)
    return record


# ---------------------------------------------------------------- steps


@dataclass(frozen=True)
class _Work:
    """A stage ready to run: model, tokens of its rows, labels as tensors."""

    model: Any
    tokenizer: Any
    declared: Declared
    rows: list[list[int]]
    hard: Any | None
    soft: Any | None
    n_truncated: int


def _prepared(start: Path, stage: Stage, texts: list[str], labels: StageLabels, optimizer: Optimizer) -> _Work:
    import torch

    model = load_classifier(str(start)).model
    tokenizer = load_tokenizer(str(start))
    check_tokens(model, tokenizer, optimizer.max_tokens, str(start))
    declared = declared_names(model, stage.trainable)
    rows, is_cut = cut_rows(tokenizer, token_rows(tokenizer, texts), optimizer.max_tokens)
    hard = None if labels.hard is None else torch.from_numpy(labels.hard)
    soft = None if labels.soft is None else torch.from_numpy(labels.soft)
    return _Work(model, tokenizer, declared, rows, hard, soft, int(is_cut.sum()))


def _steps(
    model: Any, work: _Work, stage: Stage, optimizer: Optimizer, seed: int, on_step: OnStep | None
) -> Iterator[float]:
    """Run the stage's steps; yield the loss of each."""
    import torch

    n_steps = step_count(len(work.rows), optimizer.batch_size, stage.epochs)
    update, schedule = adamw(model, stage.learning_rate, optimizer, n_steps)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    lengths = [len(row) for row in work.rows]
    temperature, weight = (stage.teacher.temperature, stage.teacher.weight) if stage.teacher else (1.0, 1.0)
    model.train()
    order = batch_order(lengths, batch_size=optimizer.batch_size, n_steps=n_steps, seed=seed)
    for step, batch in enumerate(order, 1):
        inputs = padded(work.tokenizer, [work.rows[i] for i in batch], device())
        hard = None if work.hard is None else work.hard[batch].to(device())
        soft = None if work.soft is None else work.soft[batch].to(device())
        loss = stage_loss(model(**inputs).logits, hard, soft, temperature=temperature, weight=weight)
        value = check_loss(float(loss.detach()), step, n_steps, stage.learning_rate)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, MAX_NORM)
        update.step()
        schedule.step()
        update.zero_grad(set_to_none=True)
        yield value
        if on_step is not None:
            on_step(step, n_steps, value)
    model.eval()


# ---------------------------------------------------------------- the checkpoint


def _write_checkpoint(model: Any, start: Path, folder: Path, stage: Stage) -> None:
    """Write a plain transformers folder, an adapter merged into its weights and kept beside it for peft."""
    model = model.to("cpu")
    with quiet():
        if stage.trainable.part in ("lora", "ia3"):
            for settings in model.peft_config.values():
                # The name of the folder only: a whole path would tell of this machine and break when moved.
                settings.base_model_name_or_path = start.name
            # Embeddings never change with an adapter, and looking whether they did asks the network.
            model.save_pretrained(folder / ADAPTER_FOLDER, save_embedding_layers=False)
            (folder / ADAPTER_FOLDER / "README.md").unlink(missing_ok=True)
            model = model.merge_and_unload()
        model.save_pretrained(folder)
    copy_tokenizer(start, folder)


def _check_changes(start: Path, folder: Path, declared: Declared) -> None:
    """Compare the written tensors with those of the start.

    Raises:
        RuntimeError: a tensor changed, came or went that was not declared (a defect of auditkit).
    """
    changed = [name for name in changed_names(start, folder) if name not in declared.names]
    if changed:
        raise RuntimeError(f"{len(changed)} tensors changed that were not declared, the first {changed[0]}")


def changed_names(before: Path, after: Path) -> tuple[str, ...]:
    """Return the tensors that differ between two model folders, by name; those that only one has included."""
    found = []
    old = dict(tensors(before))
    for name, values in tensors(after):
        was = old.pop(name, None)
        if was is None or not np.array_equal(was, values):
            found.append(name)
    return tuple(sorted([*found, *old]))
