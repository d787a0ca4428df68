"""An audit in N parts, for any scheduler: each takes every Nth piece of the pool, `merge` makes the report of all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditkit.errors import InputError, UsageError
from auditkit.formats.remote import is_remote
from auditkit.run.store import FolderStore
from auditkit.stories.scan import Scanner
from auditkit.stories.scan_pool import Progress, Scanned, open_store, scan_pieces
from auditkit.stories.settings import AuditSettings, RunSettings
from auditkit.stories.task import Task, open_task

_NAME = re.compile(r"shard-(\d+)-of-(\d+)\.json")


@dataclass(frozen=True)
class ShardResult:
    """What one of N runs did.

    Attributes:
        number, of: this is run `number` of `of`, from 1.
        n_pieces: pieces of the pool that it took.
        n_rows: their rows.
        run: how it was run: shards, and those that were known.
        folder: where it wrote.
    """

    number: int
    of: int
    n_pieces: int
    n_rows: int
    run: Mapping[str, Any]
    folder: Path


@dataclass(frozen=True)
class Manifest:
    """What one of N runs left for `merge`: shard-I-of-N.json.

    Attributes:
        number, of: this is run `number` of `of`.
        plan: digest of the plan.
        index: digest of what the shards were compared with.
        keys: number of the piece -> keys of its shards.
        names: number of the piece -> name of its source.
    """

    number: int
    of: int
    plan: str
    index: str
    keys: Mapping[int, Sequence[str]]
    names: Mapping[int, str]


def audit_shard(
    pool: Any,
    benchmarks: Any,
    settings: AuditSettings | None = None,
    *,
    shard: tuple[int, int],
    out: str | Path,
    overwrite: bool = False,
    run: RunSettings | None = None,
    on_start: Callable[[int], None] | None = None,
    on_progress: Progress | None = None,
) -> ShardResult:
    """Scan one of N shares of a pool into parts: no report, which `auditkit.merge` makes when all N are done.

    Shares may be run at the same time, on any machines, into one folder or into one each.

    Args:
        pool, benchmarks, settings, overwrite, run, on_progress: see `audit`; inputs have to be named, not in memory.
        shard: (I, N), I from 1 to N: every Nth piece of the pool, from the Ith.
        out: folder for the parts and shard-I-of-N.json.
        on_start: called with the bytes of this share, about.

    Raises:
        UsageError: I is not from 1 to N, or the pool has fewer than N pieces.
        AuditkitError: as `audit`.
    """
    how, folder = run or RunSettings(), Path(out)
    number, of = shard
    if is_remote(out):
        raise UsageError(f"{out}: a shard's parts are kept on a disk; give a folder, and the address to auditkit merge")
    if not 1 <= number <= of:
        raise UsageError(f"shard {number}/{of}: expected I/N with I from 1 to N, for example 2/8")
    settings = settings or AuditSettings()
    if settings.upstream:
        raise UsageError("a shard has no chain; audit the upstream pools beside the shards, or without --shard")
    task = open_task(pool, benchmarks, settings, folder, overwrite)
    if len(task.pieces) < of:
        raise UsageError(
            f"shard {number}/{of}: the pool has {len(task.pieces)} pieces (files, and runs of row groups in Parquet "
            f"files), fewer than {of}; give an N of {len(task.pieces)} at most"
        )
    store = open_store(task, folder, how)
    assert isinstance(store, FolderStore)
    if on_start is not None:
        on_start(task.pool.n_bytes // of)
    scanner = Scanner.make(task.benchmarks, task.settings, task.rules, task.pool.n_bytes)
    numbers = range(number - 1, len(task.pieces), of)
    n_rows = 0

    def count(rows: int, n_bytes: int) -> None:
        nonlocal n_rows
        n_rows += rows
        if on_progress is not None:
            on_progress(rows, n_bytes)

    scanned = scan_pieces(task, scanner, numbers, store, how, count)
    _write_manifest(shard, task, scanner, scanned, store)
    return ShardResult(number, of, len(numbers), n_rows, scanned.run, folder)


def _write_manifest(shard: tuple[int, int], task: Task, scanner: Scanner, scanned: Scanned, store: FolderStore) -> None:
    number, of = shard
    content = {
        "plan": json.loads(task.claim)["plan"],
        "index": scanner.digest,
        "keys": scanned.keys,
        "names": {piece: task.pieces[piece].source.name for piece in scanned.keys},
    }
    store.begin()  # where every shard was known, plan.json may still be that of another audit
    store.write(f"shard-{number}-of-{of}.json", (json.dumps(content, indent=1) + "\n").encode())


def read_manifests(folder: Path) -> list[Manifest]:
    """Return what the runs of N left in a folder, by their numbers.

    Raises:
        InputError: a file is no manifest.
    """
    found = []
    for path in folder.glob("shard-*-of-*.json"):
        named = _NAME.fullmatch(path.name)
        if named is not None:
            found.append(_manifest(path, int(named[1]), int(named[2])))
    return sorted(found, key=lambda manifest: (manifest.of, manifest.number))


def _manifest(path: Path, number: int, of: int) -> Manifest:
    try:
        raw = json.loads(path.read_bytes())
        keys, names = ({int(piece): value for piece, value in raw[name].items()} for name in ("keys", "names"))
        return Manifest(number, of, str(raw["plan"]), str(raw["index"]), keys, names)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise InputError(f"{path}: cannot be read as what auditkit audit --shard writes; run that again") from None
