"""The labels of one stage: checked, soft labels hardened or shuffled where the stage says so, rows chosen by seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import LabelError, UsageError
from auditkit.study_records.settings import Stage
from auditkit.train.loss import as_logits

#: Hard labels are 0 or 1; this stands for a row that has none.
UNKNOWN = -1


@dataclass(frozen=True)
class SoftLabels:
    """What a teacher says of each text.

    Attributes:
        values: logits of not flagged and flagged [n, 2], or probabilities of flagged [n]; NaN where unknown. float64.
        digest: of the teacher's weights, or of the column. `source` says where it was read from, a model with its
            revision; "" for an arm.
        template_digest: of a generative guard's template, "" without one.
    """

    values: NDArray[np.float64]
    digest: str
    source: str
    n_truncated: int = 0
    template_digest: str = ""


@dataclass(frozen=True)
class StageLabels:
    """The rows that a stage trains on and their labels, aligned.

    Attributes:
        rows: indices into the texts, ascending.
        hard: 0 or 1, int64 [n], or None. soft: teacher logits, float32 [n, 2], or None.
        n_unlabelled: rows left out because a label that the stage asks for is missing.
    """

    rows: NDArray[np.int64]
    hard: NDArray[np.int64] | None
    soft: NDArray[np.float32] | None
    n_unlabelled: int


def stage_labels(
    stage: Stage, n_texts: int, hard: NDArray[Any] | None, soft: NDArray[Any] | None, seed: int
) -> StageLabels:
    """Return the labels a stage trains on, from the policy's hard labels and the teacher's soft ones.

    `is_hardened` makes soft labels 0 or 1 at 0.5; `is_shuffled` shuffles them within hard-label class, over all
    labelled rows; `share` keeps that share of each hard-label class, chosen by seed.

    Raises:
        LabelError: lengths differ, a value that is no label, no labelled row, or one class only.
        UsageError: temperature, weight or share out of range, or no labels at all.
    """
    check_stage(stage)
    hard = _checked_hard(hard, n_texts)
    logits = _checked_soft(soft, n_texts)
    if hard is None and logits is None:
        raise UsageError("a stage has neither hard labels nor a teacher; give it one of them")
    is_labelled = np.ones(n_texts, np.bool_)
    if hard is not None:
        is_labelled &= hard != UNKNOWN
    if logits is not None:
        is_labelled &= ~np.isnan(logits).any(axis=1)
    rows = np.flatnonzero(is_labelled)
    _check_classes(hard, rows, stage)
    if logits is not None and stage.teacher is not None:
        if stage.teacher.is_shuffled:
            logits = shuffled(logits, hard, rows, seed)
        if stage.teacher.is_hardened:
            logits = hardened(logits)
    chosen = _chosen(rows, hard, stage.share, seed)
    return StageLabels(
        chosen,
        None if hard is None else hard[chosen],
        None if logits is None else logits[chosen],
        n_texts - len(rows),
    )


def check_stage(stage: Stage) -> None:
    """Raise UsageError where a number of the stage is out of its range."""
    numbers = [("epochs", stage.epochs), ("learning_rate", stage.learning_rate)]
    if stage.teacher is not None:
        numbers.append(("temperature", stage.teacher.temperature))
    for name, value in numbers:
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} is {value}, expected a number above 0")
    shares = [("share", stage.share, stage.share > 0)]
    if stage.teacher is not None:
        shares.append(("weight", stage.teacher.weight, True))
    for name, value, is_positive in shares:
        if not (0 <= value <= 1 and is_positive):
            raise UsageError(
                f"{name} is {value}, expected a number from 0 to 1{'' if name == 'weight' else ', above 0'}"
            )


def hardened(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return teacher logits as certain labels: "flagged" where its probability is at least 0.5. NaN stays NaN."""
    is_flagged = (logits[:, 1] >= logits[:, 0])[:, None]
    hard = np.where(is_flagged, np.array([-np.inf, 0.0]), np.array([0.0, -np.inf])).astype(np.float32)
    hard[np.isnan(logits).any(axis=1)] = np.nan
    return hard


def shuffled(
    logits: NDArray[np.float32], hard: NDArray[np.int64] | None, rows: NDArray[np.int64], seed: int
) -> NDArray[np.float32]:
    """Return teacher logits permuted among the rows of one hard label (all rows where there is none), by seed.

    Each class keeps its teacher's distribution; what the teacher said of a single prompt is gone.
    """
    rng = np.random.default_rng([seed, 1])
    mixed = logits.copy()
    classes = np.zeros(len(rows), np.int64) if hard is None else hard[rows]
    for value in np.unique(classes):
        members = rows[classes == value]
        mixed[members] = logits[rng.permutation(members)]
    return mixed


def _chosen(rows: NDArray[np.int64], hard: NDArray[np.int64] | None, share: float, seed: int) -> NDArray[np.int64]:
    if share >= 1:
        return rows
    rng = np.random.default_rng([seed, 2])
    classes = np.zeros(len(rows), np.int64) if hard is None else hard[rows]
    parts = []
    for value in np.unique(classes):
        members = rows[classes == value]
        parts.append(rng.permutation(members)[: math.ceil(share * len(members))])
    return np.sort(np.concatenate(parts))


def _checked_hard(hard: NDArray[Any] | None, n_texts: int) -> NDArray[np.int64] | None:
    if hard is None:
        return None
    values = np.asarray(hard)
    if values.shape != (n_texts,):
        raise LabelError(f"hard labels have shape {values.shape}, expected one for each of {n_texts} texts")
    odd = values[~np.isin(values, (0, 1, UNKNOWN))]
    if len(odd):
        raise LabelError(f"a hard label is {odd[0]}, expected 0, 1, or {UNKNOWN} for unknown; map the column's values")
    return values.astype(np.int64)


def _checked_soft(soft: NDArray[Any] | None, n_texts: int) -> NDArray[np.float32] | None:
    if soft is None:
        return None
    values = np.asarray(soft, np.float64)
    if values.shape not in ((n_texts,), (n_texts, 2)):
        raise LabelError(
            f"soft labels have shape {values.shape}, expected ({n_texts},) probabilities or ({n_texts}, 2) logits"
        )
    if values.ndim == 1:
        odd = np.flatnonzero((values < 0) | (values > 1))
        if len(odd):
            raise LabelError(f"soft label {odd[0]} is {values[odd[0]]}, expected a probability from 0 to 1")
    return as_logits(values)


def _check_classes(hard: NDArray[np.int64] | None, rows: NDArray[np.int64], stage: Stage) -> None:
    if not len(rows):
        raise LabelError("no row has every label that the stage asks for; check the label columns and their maps")
    if hard is not None and len(np.unique(hard[rows])) < 2:
        raise LabelError(
            f"all {len(rows)} labelled rows have the label {hard[rows[0]]} under '{stage.labels or 'the policy'}'; "
            "a classifier needs both classes, so check the column's value map"
        )
