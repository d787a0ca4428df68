"""decontaminate: the pool without its condemned rows, clean benchmark subsets, what was removed and why."""

from __future__ import annotations

import importlib.metadata
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.errors import InputError, StaleAuditError
from auditkit.formats import digest_file, digest_source, source_path, streams
from auditkit.formats.naming import MANIFEST, MANIFEST_KIND, REMOVED_FILE
from auditkit.records import AuditReport, Benchmark, Pool, Source, SourceResult
from auditkit.split.clean import ItemRecords, clean_items, clean_names, write_clean
from auditkit.split.condemn import check_condemned, condemned_rows
from auditkit.split.emit import Emitted, Emitter, Rescan, check_counts
from auditkit.split.guard import check_output_folder, output_names, whole_folder
from auditkit.split.settings import BenchmarkSplit, SourceSplit, SplitResult, SplitSettings


def decontaminate(
    report: AuditReport,
    pool: Pool,
    benchmarks: Sequence[Benchmark],
    out: Path | str,
    *,
    item_records: ItemRecords,
    settings: SplitSettings | None = None,
    rescan: Rescan | None = None,
    protected: Iterable[Path] = (),
    on_rows: Callable[[int], None] | None = None,
) -> SplitResult:
    """Write the decontaminated pool to `out` and return what became of every row.

    `out` then holds the pool's files under their own names and in their own formats, removed.parquet
    (tables.REMOVED), benchmarks/NAME.clean.jsonl and manifest.json. It appears whole or not at all.

    Args:
        report: the audit.
        pool: the same pool, read again.
        benchmarks: the same benchmarks, read again.
        out: a new or empty folder.
        item_records: gives a benchmark's original records; number n is item n.
        settings: what to do with condemned rows.
        rescan: audits records again and returns their matches; needed for masking. Rows that stay condemned are masked
            again where the new matches lie, then removed.
        protected: further files and folders that must not be written to (folders the user named).
        on_rows: called with the number of rows of each batch that was written.

    Raises:
        OutputError: `out` is in use, is an input or the audit or links to one, or cannot be written.
        StaleAuditError: the pool or a benchmark is no longer what was audited.
        InputError: a source cannot be read.
    """
    settings = settings or SplitSettings()
    if settings.action == "mask" and rescan is None:
        raise ValueError("masking needs `rescan`, to see whether a masked row still matches")
    out = Path(out)
    check_output_folder(out, [*_own_paths(report, pool, benchmarks), *protected])
    names = output_names(pool.sources)
    condemned = condemned_rows(report.matches, settings.verdict)
    check_condemned(condemned, report, pool)
    check_unchanged(report, pool, benchmarks)
    with whole_folder(out) as spare:
        sources: list[SourceSplit] = []
        lines: list[dict[str, Any]] = []
        for source, audited in zip(pool.sources, report.sources, strict=True):
            emitter = Emitter(source, condemned.get(source.name, {}), settings, rescan)
            done = emitter.write(spare / names[source.name], on_rows)
            check_counts(done, audited)
            sources.append(_source_split(source, audited, names[source.name], done, spare))
            lines += done.removed
        _write_dataset_dicts(pool, names, spare)
        removed = pl.DataFrame(lines, schema=tables.REMOVED, orient="row")
        _write_removed(removed, spare / REMOVED_FILE)
        clean = _write_benchmarks(report, benchmarks, settings, spare, item_records)
        result = SplitResult(out, settings, tuple(sources), clean, removed)
        _write_manifest(report, result, spare)
    return result


def _own_paths(report: AuditReport, pool: Pool, benchmarks: Sequence[Benchmark]) -> list[Path]:
    """Return the files and folders of the inputs and of the audit."""
    sources = [*pool.sources, *(benchmark.source for benchmark in benchmarks)]
    paths = [Path(source.location) for source in sources if _is_on_disk(source)]
    return paths + ([report.folder] if report.folder else [])


def _is_on_disk(source: Source) -> bool:
    return source.data is None and Path(source.location).exists()


def check_unchanged(report: AuditReport, pool: Pool, benchmarks: Sequence[Benchmark]) -> None:
    """Check by digest that pool and benchmarks are still those of the audit.

    Raises:
        StaleAuditError: a source or benchmark has changed, is gone, or was not audited.
    """
    for source, audited in zip(pool.sources, report.sources, strict=True):
        _check_digest(source, audited.digest)
    digests = {result.name: result.digest for result in report.benchmarks}
    if sorted(digests) != sorted(benchmark.name for benchmark in benchmarks):
        given = ", ".join(benchmark.name for benchmark in benchmarks) or "(none)"
        raise StaleAuditError(f"benchmarks given: {given}; the audit has {', '.join(digests) or '(none)'}; audit again")
    for benchmark in benchmarks:
        _check_digest(benchmark.source, digests[benchmark.name])


def _check_digest(source: Source, audited: str) -> None:
    try:
        now = digest_source(source)[0]
    except InputError as exc:
        raise StaleAuditError(f"{exc}; it was there when it was audited") from exc
    if now != audited:
        raise StaleAuditError(
            f"{source.location}: changed since it was audited (digest {now[:19]}..., audited {audited[:19]}...); "
            "audit it again"
        )


def _source_split(source: Source, audited: SourceResult, output: str, done: Emitted, folder: Path) -> SourceSplit:
    return SourceSplit(
        source.name, source.location, source.format, source.compression, output,
        n_rows=done.n_rows, n_kept=done.n_kept, n_removed=done.n_removed, n_masked=done.n_masked,
        n_set_aside=done.n_set_aside, digest=audited.digest, output_digest=digest_file(folder / output)[0],
    )  # fmt: skip


def _write_removed(removed: pl.DataFrame, path: Path) -> None:
    # By way of memory: polars reports a full disk as a ComputeError, Python as an OSError.
    content = io.BytesIO()
    removed.write_parquet(content)
    with streams.writing(path):
        path.write_bytes(content.getvalue())


def _write_dataset_dicts(pool: Pool, names: Mapping[str, str], folder: Path) -> None:
    """Write what makes folders of splits a DatasetDict again, where the input was one."""
    splits: dict[str, list[str]] = {}
    for source in pool.sources:
        if source.format == "arrow" and source.data is None and source_path(source) != Path(source.location):
            name = PurePosixPath(names[source.name])
            splits.setdefault(str(name.parent), []).append(name.name)
    for parent, members in splits.items():
        path = folder / parent / "dataset_dict.json"
        with streams.writing(path):
            path.write_text(json.dumps({"splits": members}), "utf-8")


def _write_benchmarks(
    report: AuditReport,
    benchmarks: Sequence[Benchmark],
    settings: SplitSettings,
    folder: Path,
    item_records: ItemRecords,
) -> tuple[BenchmarkSplit, ...]:
    paths = clean_names([benchmark.name for benchmark in benchmarks])
    n_items = {result.name: result.n_items for result in report.benchmarks}
    return tuple(
        write_clean(
            benchmark, clean_items(report.items, benchmark.name, settings.verdict), n_items[benchmark.name],
            folder, paths[benchmark.name], item_records,
        )
        for benchmark in benchmarks
    )  # fmt: skip


def _write_manifest(report: AuditReport, result: SplitResult, folder: Path) -> None:
    """Write manifest.json: what went in, what came out, how many of what, under which rules. No times, no texts."""
    audit = report.folder / "report.json" if report.folder else None
    settings = result.settings
    manifest = {
        "kind": MANIFEST_KIND,
        "auditkit": _own_version(),
        "audit": {
            "report_digest": digest_file(audit)[0] if audit and audit.is_file() else None,
            "pool_digest": report.pool_digest,
            "rules_version": report.rules_version,
            "normalisation": report.normalisation,
            "tiers_run": list(report.tiers_run),
        },
        "action": settings.action,
        "verdict": settings.verdict,
        "mask_token": settings.mask_token if settings.action == "mask" else None,
        "bad_rows": settings.bad_rows,
        "counts": {
            name: getattr(result, name) for name in ("n_rows", "n_kept", "n_removed", "n_masked", "n_set_aside")
        },
        "sources": [asdict(source) for source in result.sources],
        "benchmarks": [asdict(benchmark) for benchmark in result.benchmarks],
        "removed": {"output": REMOVED_FILE, "output_digest": digest_file(folder / REMOVED_FILE)[0]},
    }
    path = folder / MANIFEST
    with streams.writing(path):
        path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _own_version() -> str:
    try:
        return importlib.metadata.version("benchmark-auditkit")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
