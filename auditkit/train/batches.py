"""The order of training rows: shuffled by seed, bucketed by length so that batches need little padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

#: Rows are shuffled, cut into buckets of this many batches, sorted by length inside a bucket, and batches shuffled.
BUCKET_BATCHES = 16


def step_count(n_rows: int, batch_size: int, epochs: float) -> int:
    """Return the number of steps of a stage, at least 1. It is fixed before training: no metric stops it early."""
    return max(1, round(epochs * -(-n_rows // batch_size)))


def batch_order(lengths: Sequence[int], *, batch_size: int, n_steps: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield `n_steps` batches of row indices; every epoch visits each row once, in an order of its own."""
    n_done, epoch = 0, 0
    sizes = np.asarray(lengths, np.int64)
    while n_done < n_steps:
        batches = _epoch(sizes, batch_size, np.random.default_rng([seed, 3, epoch]))
        yield from batches[: n_steps - n_done]
        n_done, epoch = n_done + len(batches), epoch + 1


def _epoch(sizes: NDArray[np.int64], batch_size: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    order = rng.permutation(len(sizes))
    batches = []
    for start in range(0, len(order), batch_size * BUCKET_BATCHES):
        bucket = order[start : start + batch_size * BUCKET_BATCHES]
        bucket = bucket[np.argsort(sizes[bucket], kind="stable")]
        batches += [bucket[i : i + batch_size] for i in range(0, len(bucket), batch_size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def rate_factor(step: int, n_steps: int, warmup_share: float) -> float:
    """Return the learning rate's factor at a 0-based step: up in a line, then down in a line to nearly 0."""
    n_warm = int(np.ceil(warmup_share * n_steps))
    if step < n_warm:
        return (step + 1) / n_warm
    return (n_steps - step) / max(1, n_steps - n_warm)
