"""Small invented frames of predictions and targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from auditkit.tables import PREDICTIONS, TARGETS


def targets(
    label_a: Sequence[int | None],
    label_b: Sequence[int | None],
    set_name: str = "test",
    expected: Sequence[int | None] | None = None,
    group: Sequence[str] | None = None,
    source: Sequence[str | None] | None = None,
) -> pl.DataFrame:
    n = len(label_a)
    return pl.DataFrame(
        {
            "set": [set_name] * n,
            "item": range(n),
            "group": group if group is not None else [f"{set_name}-{i}" for i in range(n)],
            "source": source if source is not None else [None] * n,
            "label_a": label_a,
            "label_b": label_b,
            "expected": expected if expected is not None else [None] * n,
        },
        schema=TARGETS,
    )


def predictions(
    score: Sequence[float | None],
    arm: str = "arm",
    seed: int = 1,
    set_name: str = "test",
    decision: Sequence[int | None] | None = None,
    status: Sequence[str] | None = None,
) -> pl.DataFrame:
    n = len(score)
    return pl.DataFrame(
        {
            "arm": [arm] * n,
            "seed": [seed] * n,
            "set": [set_name] * n,
            "item": range(n),
            "score": score,
            "decision": decision if decision is not None else [None] * n,
            "status": status if status is not None else ["ok"] * n,
        },
        schema=PREDICTIONS,
    )


def invented(n: int = 400, seed: int = 0, set_name: str = "test") -> tuple[Any, Any]:
    """Return (label_a, label_b) arrays with all four cells, most prompts concordant."""
    random = np.random.default_rng(seed)
    a = random.integers(0, 2, n)
    b = np.where(random.random(n) < 0.7, a, 1 - a)
    return a, b
