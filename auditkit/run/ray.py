"""The same work on a Ray cluster: one task a piece, the job sent to each node once, nodes free to join and to die."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from auditkit.errors import AuditkitError, InputError, MissingExtraError, UsageError
from auditkit.run.digests import code_digest
from auditkit.run.engine import Job, P, R

#: Tasks in flight for each CPU of the cluster: one that runs, and one that is ready when it ends.
TASKS_PER_CPU = 2
#: Within so many seconds a cluster's head takes a connection.
ANSWER_SECONDS = 10


def run_ray(job: Job[P, Any, R], pieces: Sequence[P], workers: int, address: str) -> Iterator[tuple[P, R]]:
    """Yield (piece, result) of every shard as it comes: those of a piece in order, pieces in any.

    A piece is read and scanned by one task, which yields a result for each shard. Tasks whose node dies are run again
    elsewhere, for as long as there is a node. What the tasks read has to be there on every node under the same name;
    relative ones are looked for in this process's working folder.

    Args:
        job: what is done; its classes are importable on all nodes.
        pieces: what it is done to.
        workers: tasks in flight at most, 0 for TASKS_PER_CPU.
        address: of the cluster, "" for RAY_ADDRESS or else a new Ray on this machine.

    Raises:
        MissingExtraError: Ray is not installed.
        UsageError: no cluster answers at the address.
        AuditkitError: what the job raised.
    """
    ray = _import_ray()
    with _connected(ray, address):
        task = ray.remote(num_cpus=1, max_retries=-1, num_returns="streaming")(_scan_piece)
        # As bytes, so that each worker has arrays of its own: kernels are compiled for arrays that can be written to.
        home = _Home(str(Path.cwd()), code_digest())
        sent, waiting = ray.put(pickle.dumps(job)), list(pieces)[::-1]
        running: dict[Any, P] = {}
        try:
            while waiting or running:
                while waiting and len(running) < (workers or _most_tasks(ray)):
                    piece = waiting.pop()
                    running[task.remote([sent], home, piece)] = piece
                (ready,), _ = ray.wait(list(running), num_returns=1)
                try:
                    reference = next(ready)
                except StopIteration:
                    del running[ready]
                    continue
                yield running[ready], _result(ray, reference)
        finally:
            for stream in running:
                ray.cancel(stream)


@dataclass(frozen=True)
class _Home:
    """The process that started the run: its working folder, and the digest of its code."""

    folder: str
    code: str


def _scan_piece(sent: list[Any], home: _Home, piece: Any) -> Iterator[Any]:
    """Yield the result of each shard of a piece: runs in a worker of some node."""
    if Path(home.folder).is_dir():
        os.chdir(home.folder)
    if code_digest() != home.code:
        raise InputError("a node of the cluster has another auditkit than this machine; install the same on all")
    job = _job(sent[0])
    for shard in job.read(piece):
        yield job.scan(shard)


@lru_cache(maxsize=1)
def _job(reference: Any) -> Job[Any, Any, Any]:
    """Return the job, unpacked once in a worker."""
    import ray

    job: Job[Any, Any, Any] = pickle.loads(ray.get(reference))
    return job


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, AuditkitError):
            raise error.cause from None
        raise


def _most_tasks(ray: Any) -> int:
    return max(1, int(TASKS_PER_CPU * ray.cluster_resources().get("CPU", 1)))


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("the engine ray", "ray") from None
    return ray


@contextmanager
def _connected(ray: Any, address: str) -> Iterator[None]:
    """Connect to Ray for a while; a connection that the caller has is used, and stays.

    Raises:
        UsageError: no cluster answers.
    """
    if ray.is_initialized():
        yield
        return
    _check_answers(address)
    try:
        ray.init(address=address or None, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        raise UsageError(
            f"no Ray cluster at {address or 'RAY_ADDRESS'} ({first}); start one with ray start, or check --address"
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def _check_answers(address: str) -> None:
    """Check that something listens at HOST:PORT, since Ray itself tries for minutes.

    Raises:
        UsageError: nothing does, or the address is one of Ray's client, which does not stream results.
    """
    host, _, port = address.rpartition(":")
    if address.startswith("ray://"):
        raise UsageError(f"address {address}: results cannot be streamed to a Ray client; run this on a node of the "
                         "cluster, with HOST:PORT of its head")  # fmt: skip
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"no Ray cluster at {address} ({error}); start one with ray start --head, or check --address"
        ) from None
