"""The steps of a stage: one loop of batches, loss, update and schedule, whichever trainer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import UsageError
from auditkit.study_records.settings import Optimizer
from auditkit.train.batches import batch_order, rate_factor, step_count
from auditkit.train.labels import StageLabels
from auditkit.train.loss import stage_loss
from auditkit.train.record import StageRun

#: Logits of a batch, given by its row indices: tensor [n, 2].
LogitsOf = Callable[[NDArray[np.int64]], Any]


def run_steps(
    model: Any,
    logits_of: LogitsOf,
    lengths: Sequence[int],
    labels: StageLabels,
    run: StageRun,
    *,
    where: str = "cpu",
    max_norm: float = math.inf,
) -> Iterator[float]:
    """Run the steps of a stage; yield the loss of each.

    Args:
        model: the module whose unfrozen parameters are trained.
        lengths: of the rows, in tokens; rows of like length share a batch.
        labels: of the rows, in the same order.
        where: device of the logits.
        max_norm: gradients are clipped to it; no clipping at infinity.

    Raises:
        UsageError: a loss that is not finite.
    """
    import torch

    n_steps = step_count(len(lengths), run.optimizer.batch_size, run.stage.epochs)
    update, schedule = adamw(model, run.stage.learning_rate, run.optimizer, n_steps)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    hard = None if labels.hard is None else torch.from_numpy(labels.hard).to(where)
    soft = None if labels.soft is None else torch.from_numpy(labels.soft).to(where)
    teacher = run.stage.teacher
    temperature, weight = (teacher.temperature, teacher.weight) if teacher is not None else (1.0, 1.0)
    order = batch_order(lengths, batch_size=run.optimizer.batch_size, n_steps=n_steps, seed=run.seed)
    for step, rows in enumerate(order, 1):
        batch = torch.from_numpy(rows).to(where)
        loss = stage_loss(
            logits_of(rows),
            None if hard is None else hard[batch],
            None if soft is None else soft[batch],
            temperature=temperature,
            weight=weight,
        )
        value = check_loss(float(loss.detach()), step, n_steps, run.stage.learning_rate)
        loss.backward()
        if max_norm < math.inf:
            torch.nn.utils.clip_grad_norm_(trained, max_norm)
        update.step()
        schedule.step()
        update.zero_grad(set_to_none=True)
        yield value
        if run.on_step is not None:
            run.on_step(step, n_steps, value)


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
