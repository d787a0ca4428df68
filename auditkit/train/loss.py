"""The loss of docs/definitions.md, "Teacher inheritance": one place, used by every trainer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def stage_loss(logits: Any, hard: Any | None, soft: Any | None, *, temperature: float, weight: float) -> Any:
    """Return alpha * T^2 * KL(teacher_T || student_T) + (1 - alpha) * cross-entropy, both as means over the batch.

    Where only one kind of label is given its term stands alone, at weight 1.

    Args:
        logits: the student's, tensor [n, 2].
        hard: labels 0 or 1, long tensor [n], or None.
        soft: the teacher's logits, tensor [n, 2], or None; -inf stands for a probability of 0.
        temperature, weight: T and alpha.

    Raises:
        ValueError: neither kind of label (a defect of the caller).

    Source: Hinton, Vinyals and Dean 2015, section 2; torch.nn.functional.kl_div with reduction="batchmean".
    """
    if hard is None and soft is None:
        raise ValueError("a loss needs hard or soft labels")
    import torch.nn.functional as functional

    if soft is None:
        return functional.cross_entropy(logits, hard)
    # One softmax on each side: kl_div takes the student's logs and the teacher's probabilities.
    teacher = functional.softmax(soft / temperature, dim=-1)
    student = functional.log_softmax(logits / temperature, dim=-1)
    distance = functional.kl_div(student, teacher, reduction="batchmean") * temperature**2
    if hard is None:
        return distance
    return weight * distance + (1.0 - weight) * functional.cross_entropy(logits, hard)


def as_logits(soft: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return teacher logits [n, 2]: as they are, or of probabilities [n] of "flagged" (log p, log(1 - p)).

    NaN (no label) stays NaN in both columns.
    """
    if soft.ndim == 2:
        return np.asarray(soft, np.float32)
    p = np.asarray(soft, np.float64)
    with np.errstate(divide="ignore"):
        return np.stack([np.log1p(-p), np.log(p)], axis=1).astype(np.float32)
