"""Story 1: read a pool and benchmarks, find what leaked, decide, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from auditkit.formats.folders import written_folder
from auditkit.formats.remote import is_remote
from auditkit.records import AuditReport
from auditkit.report.as_json import REPORT
from auditkit.report.write import write_all
from auditkit.run.plan import PLAN
from auditkit.run.store import PARTS, FolderStore
from auditkit.stories.chain import UPSTREAM, settings_for, with_chain
from auditkit.stories.report import make_report
from auditkit.stories.scan import Scanner
from auditkit.stories.scan_pool import Progress, gather_parts, open_store, scan_pieces
from auditkit.stories.settings import AuditSettings, RunSettings, named_inputs
from auditkit.stories.task import Task, open_task


def audit(
    pool: Any,
    benchmarks: Any,
    settings: AuditSettings | None = None,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    run: RunSettings | None = None,
    on_start: Callable[[int], None] | None = None,
    on_progress: Progress | None = None,
) -> AuditReport:
    """Return which benchmark items are in a pool, where, and what condemns them.

    A run that was stopped goes on in the same `out`: shards whose parts stand there are read, not scanned again.

    Args:
        pool: paths, folders, globs, "hf:..." names; polars, pandas or Arrow frames; `datasets`; lists.
        benchmarks: registered names, paths, "name=path", "hf:..." names, frames, lists; one or several.
        settings: what to do; the defaults are those of the command line.
        out: folder for matches.parquet, items.parquet, report.json, report.md, report.html and the parts (see
            docs/files.md); None writes nothing. Of an address such as "s3://bucket/audit" these are made in a temporary
            folder and, but for the parts, put there in the end: a run that is stopped starts anew.
        overwrite: replace an audit of other inputs or settings in `out`; its parts are used where they fit.
        run: how to do it: threads or Ray, and parts of earlier audits; it changes no result.
        on_start: called with the bytes of the pool when all inputs are opened.
        on_progress: called with the numbers of rows and bytes done since the last call.

    Raises:
        AuditkitError: one of its kinds (see errors.py). No report is written then, only parts of the shards before.
    """
    settings, run = settings or AuditSettings(), run or RunSettings()

    def audit_to(folder: Path | None) -> AuditReport:
        return _audit(pool, benchmarks, settings, folder, overwrite, run, on_start, on_progress)

    if out is None:
        return audit_to(None)
    with written_folder(out, REPORT, claim=PLAN, without=PARTS, apart_from=named_inputs(pool)) as folder:
        report = audit_to(folder)
    return replace(report, folder=None) if is_remote(out) else report


def _audit(
    pool: Any,
    benchmarks: Any,
    settings: AuditSettings,
    folder: Path | None,
    overwrite: bool,
    how: RunSettings,
    on_start: Callable[[int], None] | None,
    on_progress: Progress | None,
) -> AuditReport:
    task = open_task(pool, benchmarks, settings, folder, overwrite)
    before = {
        one.name: open_task(one.pools, benchmarks, settings_for(settings, one), _place(folder, one.name), True)
        for one in settings.upstream
    }
    if on_start is not None:
        on_start(task.pool.n_bytes)
    store = open_store(task, folder, how)
    if before and isinstance(store, FolderStore):
        store.begin()  # their audits lie inside of the folder, which has to be this audit's by then
    alike = replace(how, reuse=())
    upstream = {name: _audit_task(link, _place(folder, name), alike, None, {}) for name, link in before.items()}
    return _audit_task(task, folder, how, on_progress, upstream)


def _place(folder: Path | None, name: str) -> Path | None:
    """Return where the audit of an upstream pool is written."""
    return None if folder is None else folder / UPSTREAM / name


def _audit_task(
    task: Task,
    folder: Path | None,
    how: RunSettings,
    on_progress: Progress | None,
    upstream: Mapping[str, AuditReport],
) -> AuditReport:
    """Return the report of one pool, and write it to its folder; `upstream` are the audits of those before it."""
    clock = _Clock()
    store = open_store(task, folder, how)
    scanner = Scanner.make(task.benchmarks, task.settings, task.rules, task.pool.n_bytes)
    clock.stop("index")
    scanned = scan_pieces(task, scanner, range(len(task.pieces)), store, how, on_progress)
    clock.stop("scan")
    names = {number: piece.source.name for number, piece in enumerate(task.pieces)}
    gathered = gather_parts(task.pool.sources, names, scanned.keys, store)
    report = make_report(task.pool, task.benchmarks, scanner, gathered, task.plan)
    clock.stop("report")
    report = replace(report, seconds=clock.seconds, run=scanned.run)
    if upstream:
        report = with_chain(report, upstream)
    if folder is None:
        return report
    write_all(report, folder, {PLAN: task.claim})
    if isinstance(store, FolderStore):
        store.keep_only({key for keys in scanned.keys.values() for key in keys})
    return replace(report, folder=folder)


class _Clock:
    """Wall time of the stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stop(self, stage: str) -> None:
        """End a stage; the next one begins."""
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
