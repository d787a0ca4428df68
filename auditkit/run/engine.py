"""How shards are worked off: read by the calling thread, scanned by a few others. What a shard is, the job knows."""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

#: Shards that wait beside those that are being scanned: the reader never idles, and memory stays bounded.
WAITING = 1

P_contra = TypeVar("P_contra", contravariant=True)
S = TypeVar("S")
R_co = TypeVar("R_co", covariant=True)
P = TypeVar("P")
R = TypeVar("R")


class Job(Protocol[P_contra, S, R_co]):
    """What is done, picklable: a piece is read as shards, and each shard scanned by itself."""

    def read(self, piece: P_contra) -> Iterator[S]:
        """Yield the shards of a piece, in order."""
        ...

    def scan(self, shard: S) -> R_co:
        """Return what a shard gives. Safe in threads."""
        ...


def cores() -> int:
    """Return how many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_local(job: Job[P, S, R], pieces: Sequence[P], workers: int) -> Iterator[tuple[P, R]]:
    """Yield (piece, result) of every shard, in order.

    The calling thread reads; `workers` threads scan, which needs kernels without the GIL. At most `workers` + WAITING
    shards are in memory besides the one that is being read. Where reading or scanning fails, the results of the shards
    before are yielded first, so that they need not be computed again; then the error is raised.
    """
    shards = ((piece, shard) for piece in pieces for shard in job.read(piece))
    # What is there now stays to the end: the collector need not walk the modules and the index again and again.
    gc.freeze()
    pending: deque[tuple[P, Future[R]]] = deque()
    pool = ThreadPoolExecutor(workers, "auditkit-scan")
    try:
        for piece, shard in shards:
            pending.append((piece, pool.submit(job.scan, shard)))
            del shard
            while pending and (len(pending) > workers + WAITING or pending[0][1].done()):
                yield _first(pending)
        while pending:
            yield _first(pending)
    except Exception:
        for piece, future in pending:
            if future.exception() is not None:
                break
            yield piece, future.result()
        raise
    finally:
        gc.unfreeze()
        pool.shutdown(wait=True, cancel_futures=True)


def _first(pending: deque[tuple[P, Future[R]]]) -> tuple[P, R]:
    piece, future = pending.popleft()
    return piece, future.result()
