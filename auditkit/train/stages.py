"""One stage of fine-tuning: a checkpoint folder in, a checkpoint folder and its record out.

A stage has a fixed number of steps and keeps its last weights, whatever a dev metric would say: choosing a checkpoint
by labels of one policy would bring that policy in. It is written beside and renamed, so a killed stage leaves nothing
and is trained anew, to the same weights, on the same machine, device and number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.study_records.ledger import StageRecord
from auditkit.study_records.settings import Stage
from auditkit.train.folders import copy_tokenizer, fresh_folder, model_digest, tensors
from auditkit.train.labels import StageLabels, stage_labels
from auditkit.train.ledger import write_stage
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
from auditkit.train.record import StageRun, own_key, same_stage, stage_record
from auditkit.train.steps import run_steps
from auditkit.train.trainable import Declared, declared_names, describe, set_trainable

#: Gradients are clipped to this norm, as transformers' Trainer does.
MAX_NORM = 1.0
ADAPTER_FOLDER = "adapter"


def train_stage(start: Path, texts: Sequence[str], run: StageRun) -> StageRecord:
    """Train one stage from the checkpoint `start` on `texts` and write the result to `run.out`; return its record.

    Where `run.out` already holds this very stage (the same key), its record is returned and nothing is trained.

    Raises:
        MissingExtraError: the extra `train` is not installed.
        LabelError, UsageError: labels or settings that cannot be used; a loss that is not finite (nothing is written).
        OutputError: `run.out` holds another stage, or cannot be written.
    """
    require_training("training")
    start_digest = model_digest(start)
    key = run.key or own_key(run, start_digest, texts, "finetune")
    done = same_stage(run.out, key)
    if done is not None:
        return done
    began = time.monotonic()
    labels = stage_labels(run.stage, len(texts), run.hard, run.soft_values, run.seed)
    work = _prepared(start, run, [texts[i] for i in labels.rows])
    with seeded(run.seed):
        model = set_trainable(work.model, run.stage.trainable, work.declared).to(device())
        losses = _losses(model, work, labels, run)
    with fresh_folder(run.out) as folder:
        _write_checkpoint(model, start, folder, run.stage)
        _check_changes(start, folder, work.declared)
        record = stage_record(
            run,
            key=key,
            described=describe(work.declared, run.stage.trainable),
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
    """A stage ready to run: its model, and the tokens of its rows."""

    model: Any
    tokenizer: Any
    declared: Declared
    rows: list[list[int]]
    n_truncated: int


def _prepared(start: Path, run: StageRun, texts: list[str]) -> _Work:
    model = load_classifier(str(start)).model
    tokenizer = load_tokenizer(str(start))
    check_tokens(model, tokenizer, run.optimizer.max_tokens, str(start))
    declared = declared_names(model, run.stage.trainable)
    rows, is_cut = cut_rows(tokenizer, token_rows(tokenizer, texts), run.optimizer.max_tokens)
    return _Work(model, tokenizer, declared, rows, int(is_cut.sum()))


def _losses(model: Any, work: _Work, labels: StageLabels, run: StageRun) -> list[float]:
    """Run the stage's steps in training mode; return the loss of each."""
    where = device()

    def logits_of(batch: NDArray[np.int64]) -> Any:
        return model(**padded(work.tokenizer, [work.rows[i] for i in batch], where)).logits

    lengths = [len(row) for row in work.rows]
    model.train()
    losses = list(run_steps(model, logits_of, lengths, labels, run, where=where, max_norm=MAX_NORM))
    model.eval()
    return losses


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
