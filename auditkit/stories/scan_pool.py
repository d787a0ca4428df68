"""The shards of a pool through a scanner, by whichever engine: read, then known again or scanned, and kept as parts."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditkit.errors import OutputError
from auditkit.read import read_texts
from auditkit.records import ReadSettings, Source, TextBatch
from auditkit.report.as_json import REPORT
from auditkit.run.engine import cores, run_local
from auditkit.run.ray import run_ray
from auditkit.run.store import FolderStore, MemoryStore, Store, check_reuse
from auditkit.stories.gather import Gathered, gather
from auditkit.stories.parts import decode, encode, is_whole, key_of
from auditkit.stories.scan import Scanner, Shard
from auditkit.stories.settings import RunSettings
from auditkit.stories.task import Piece, Task

Progress = Callable[[int, int], None]

#: Files that say that an audit, or one share of it, is done.
ENDS = (REPORT, "shard-*-of-*.json")


@dataclass(frozen=True)
class Done:
    """One shard, done.

    Attributes:
        key: of its part.
        part: its bytes, None where the store has them.
        n_rows, n_source_bytes: what was read for it.
    """

    key: str
    part: bytes | None
    n_rows: int
    n_source_bytes: int


@dataclass(frozen=True)
class PoolScan:
    """The job of an engine (see run/engine.py): pieces by their number in the pool.

    Attributes:
        pieces: of the pool.
        settings: what of them is read.
        scanner: what it is compared with; `index` its digest, as it was where the run began.
        known: keys of the shards that need not be scanned.
    """

    pieces: Sequence[Piece]
    settings: ReadSettings
    scanner: Scanner
    index: str
    known: Container[str]

    def read(self, number: int) -> Iterator[TextBatch]:
        """Yield the shards of a piece."""
        piece, several = self.pieces[number], self.pieces[0].source != self.pieces[-1].source
        return read_texts(piece.source, self.settings, may_lack_fields=several, row_groups=piece.row_groups)

    def scan(self, batch: TextBatch) -> Done:
        """Return a shard's key, and its part where no run has made it."""
        key = key_of(batch, self.index)
        part = None if key in self.known else encode(self.scanner.scan(batch))
        return Done(key, part, batch.n_rows, batch.n_source_bytes)


@dataclass(frozen=True)
class Scanned:
    """Pieces of a pool, done.

    Attributes:
        keys: number of the piece -> keys of its shards, in order.
        run: how it was run, for timing.json.
    """

    keys: dict[int, list[str]]
    run: dict[str, Any]


def open_store(task: Task, out: Path | None, how: RunSettings) -> FolderStore | MemoryStore:
    """Return where the parts of a run are kept: in `out`, or in memory where nothing is written.

    Raises:
        UsageError: a folder to reuse holds no parts.
    """
    others = [Path(folder) for folder in how.reuse]
    check_reuse(others)
    return MemoryStore() if out is None else FolderStore(out, is_whole, task.claim, ENDS, others)


def scan_pieces(
    task: Task, scanner: Scanner, numbers: Sequence[int], store: Store, how: RunSettings, on_progress: Progress | None
) -> Scanned:
    """Return which parts hold the shards of some pieces, all in `store`; what it had before is not scanned again."""
    keys: dict[int, list[str]] = {number: [] for number in numbers}
    n_reused = 0
    for number, done in _run(task, scanner, numbers, store, how):
        if done.part is None:
            store.adopt(done.key)
            n_reused += 1
        else:
            store.put(done.key, done.part)
        keys[number].append(done.key)
        if on_progress is not None:
            on_progress(done.n_rows, done.n_source_bytes)
    n_shards = sum(map(len, keys.values()))
    return Scanned(keys, {"engine": how.engine, "n_shards": n_shards, "n_shards_reused": n_reused})


def _run(
    task: Task, scanner: Scanner, numbers: Sequence[int], store: Store, how: RunSettings
) -> Iterator[tuple[int, Done]]:
    if how.engine == "local":
        job = PoolScan(task.pieces, task.settings.read, scanner, scanner.digest, store)
        return run_local(job, numbers, how.workers or cores())
    # The store lies on this machine: other nodes get the keys of what it has.
    job = PoolScan(task.pieces, task.settings.read, scanner, scanner.digest, frozenset(store.keys()))
    return run_ray(job, numbers, how.workers, how.address)


def gather_parts(
    sources: Sequence[Source], names: Mapping[int, str], keys: Mapping[int, Sequence[str]], store: Store
) -> Gathered:
    """Return the sums over a pool's parts.

    Args:
        sources: of the pool, in order.
        names: number of the piece -> name of its source.
        keys: number of the piece -> keys of its shards.
        store: has the parts.
    """

    def shards() -> Iterator[tuple[str, Shard]]:
        for number in sorted(keys):
            for key in keys[number]:
                part = store.get(key)
                if part is None:
                    raise OutputError(f"part {key} is gone or damaged since it was made; run the same command again")
                yield names[number], decode(part)

    return gather(sources, shards())
