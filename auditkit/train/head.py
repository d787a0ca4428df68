"""The `head` trainer: a linear head on cached frozen features, a whole arm in well under a second.

The same loss, optimizer family, batches and records as fine-tuning; only the encoder never changes. A head is a folder
of head.safetensors (weight [2, d], bias [2]) and config.json, which names the digest of the encoder it belongs to.
"""

from __future__ import annotations

import dataclasses
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import InputError
from auditkit.study_records.ledger import StageRecord
from auditkit.study_records.settings import Stage, Trainable
from auditkit.train.features import Features
from auditkit.train.folders import fresh_folder, model_digest, tensors, write_json
from auditkit.train.labels import StageLabels, stage_labels
from auditkit.train.ledger import write_stage
from auditkit.train.loading import require_training, seeded
from auditkit.train.models import ID2LABEL
from auditkit.train.record import StageRun, own_key, same_stage, stage_record
from auditkit.train.score import Scores, flagged_probability
from auditkit.train.steps import run_steps
from auditkit.train.trainable import Declared, describe

#: A head takes more and larger steps than an encoder: `head_stage` multiplies a stage's epochs and rate by these.
HEAD_EPOCHS = 5.0
HEAD_RATE = 5.0
INITIAL_DEVIATION = 0.02
HEAD_FILE = "head.safetensors"


@dataclass(frozen=True)
class Head:
    """A linear head: logits = vectors @ weight.T + bias."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    encoder_digest: str


def head_stage(stage: Stage) -> Stage:
    """Return a stage written for fine-tuning as the head trainer runs it: the head alone, more and larger steps."""
    return dataclasses.replace(
        stage,
        trainable=Trainable("head"),
        epochs=stage.epochs * HEAD_EPOCHS,
        learning_rate=stage.learning_rate * HEAD_RATE,
    )


def train_head_stage(start: Path | None, features: Features, run: StageRun) -> StageRecord:
    """Train one stage of a head on `features` from the head `start` (None: a new one by seed); write it to `run.out`.

    Record, reuse of a finished folder and errors are those of `stages.train_stage`. The trained share is that of the
    whole model: encoder and head.

    Raises:
        InputError: `start` is no head, or belongs to another encoder.
    """
    require_training("the head trainer")
    start_digest = features.encoder_digest if start is None else model_digest(start)
    key = run.key or own_key(run, f"{start_digest} {features.digest}", [], "head")
    done = same_stage(run.out, key)
    if done is not None:
        return done
    began = time.monotonic()
    labels = stage_labels(run.stage, len(features.vectors), run.hard, run.soft_values, run.seed)
    first = _first(features, run.seed) if start is None else read_head(start, features.encoder_digest)
    with seeded(run.seed):
        head, losses = _trained(first, features.vectors[labels.rows], labels, run)
    n_head = head.weight.size + head.bias.size
    declared = Declared(("head.bias", "head.weight"), (), n_head, features.n_encoder_parameters + n_head)
    with fresh_folder(run.out) as folder:
        _write(folder, head, features)
        record = stage_record(
            run,
            key=key,
            described=describe(declared, Trainable("head")),
            declared=declared,
            labels=labels,
            n_truncated=features.n_truncated,
            losses=losses,
            seconds=time.monotonic() - began,
            digests=(start_digest, model_digest(folder)),
        )
        write_stage(folder, record)
    return record


def score_head(folder: Path, features: Features) -> Scores:
    """Return the scores of texts by a head, from their features.

    Raises:
        InputError: no head in `folder`, or features of another encoder.
    """
    head = read_head(folder, features.encoder_digest)
    logits = features.vectors.astype(np.float64) @ head.weight.T.astype(np.float64) + head.bias
    return Scores(flagged_probability(logits), logits, features.n_truncated)


def read_head(folder: Path, encoder_digest: str) -> Head:
    """Return the head in a folder, for features of this encoder.

    Raises:
        InputError: no head, a broken one, or one of another encoder.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        belongs = config["encoder_digest"]
        values = dict(tensors(folder))
        head = Head(values["weight"], values["bias"], belongs)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: holds no head of auditkit's ({error}); train it again") from None
    if belongs != encoder_digest:
        raise InputError(
            f"{folder}: its head belongs to the encoder {belongs[:19]}..., the features are of "
            f"{encoder_digest[:19]}...; use features of the same model"
        )
    return head


def _first(features: Features, seed: int) -> Head:
    """Return a new head: normal weights by seed, no bias."""
    rng = np.random.default_rng([seed, 4])
    weight = rng.normal(0.0, INITIAL_DEVIATION, (2, features.vectors.shape[1])).astype(np.float32)
    return Head(weight, np.zeros(2, np.float32), features.encoder_digest)


def _trained(first: Head, vectors: NDArray[np.float32], labels: StageLabels, run: StageRun) -> tuple[Head, list[float]]:
    import torch

    head = torch.nn.Linear(vectors.shape[1], 2)
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(first.weight))
        head.bias.copy_(torch.from_numpy(first.bias))
    inputs = torch.from_numpy(vectors)
    # Features need no padding, so lengths are equal and buckets are plain shuffles.
    losses = list(run_steps(head, lambda rows: head(inputs[torch.from_numpy(rows)]), [1] * len(inputs), labels, run))
    weight, bias = head.weight.detach().numpy().copy(), head.bias.detach().numpy().copy()
    return Head(weight, bias, first.encoder_digest), losses


def _write(folder: Path, head: Head, features: Features) -> None:
    from safetensors.numpy import save

    (folder / HEAD_FILE).write_bytes(save({"weight": head.weight, "bias": head.bias}))
    config = {
        "model_type": "auditkit-head",
        "encoder_digest": features.encoder_digest,
        "features": "mean of the last hidden states over real tokens, as a unit vector, times sqrt(d)",
        "max_tokens": features.max_tokens,
        "hidden_size": int(head.weight.shape[1]),
        "id2label": {str(i): name for i, name in ID2LABEL.items()},
    }
    write_json(folder / "config.json", config)
