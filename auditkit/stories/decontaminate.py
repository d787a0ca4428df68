"""Story 1, second half: the pool back without what an audit condemned, and the benchmarks without what leaked."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from auditkit import read, tables
from auditkit.errors import StaleAuditError, UsageError
from auditkit.formats.folders import read_folder, written_folder
from auditkit.formats.naming import MANIFEST
from auditkit.formats.remote import is_remote
from auditkit.records import AuditReport, Benchmark, ReadSettings, Source
from auditkit.report.as_json import load as load_report
from auditkit.split import SplitResult, SplitSettings
from auditkit.split.decontaminate import decontaminate as write_clean
from auditkit.split.emit import Rescan
from auditkit.stories.scan import ADDRESS, Scanner
from auditkit.stories.settings import MEMORY, AuditSettings, from_plain, lexical_only, named_folders
from auditkit.verify.records import VERIFIED
from auditkit.verify.verdicts import conclude


def decontaminate(
    report: AuditReport | str | Path,
    out: str | Path,
    *,
    action: Literal["remove", "mask"] = "remove",
    verdict: Literal["contaminated", "review"] = "contaminated",
    pool: Any = None,
    benchmarks: Any = None,
    on_rows: Callable[[int], None] | None = None,
) -> SplitResult:
    """Write the audited pool again without its condemned rows, in its own formats and under its own names.

    `out` holds the pool's files, removed.parquet with the reason for every row that is gone or masked,
    benchmarks/NAME.clean.jsonl with the items that did not leak (to evaluate models that are already trained), and
    manifest.json.

    Args:
        report: an audit, or the folder (or address) it was written to.
        out: a new or empty folder, or an address such as "s3://bucket/clean": what is written there is made in a
            temporary folder first, and put there when it is whole.
        action: "remove" the rows, or "mask" the matched spans.
        verdict: "contaminated" acts on condemned rows only, "review" on every row with a match.
        pool, benchmarks: the same as were audited; needed only where they were given in memory.
        on_rows: called with the number of rows written since the last call.

    Raises:
        UsageError: the inputs were in memory and are not given again.
        StaleAuditError: pool or benchmarks have changed since.
        OutputError: `out` is in use, or is or links to an input, or cannot be written.
    """
    with ExitStack() as opened:
        if not isinstance(report, AuditReport):
            report = load_report(opened.enter_context(read_folder(report)))
        folder = opened.enter_context(written_folder(out, MANIFEST, apart_from=report.settings["pool"]))
        result = _decontaminate(report, folder, SplitSettings(action, verdict), pool, benchmarks, on_rows)
    return replace(result, folder=out if is_remote(out) else Path(out))


def _decontaminate(
    report: AuditReport,
    out: Path,
    settings: SplitSettings,
    pool: Any,
    benchmarks: Any,
    on_rows: Callable[[int], None] | None,
) -> SplitResult:
    audited = lexical_only(from_plain(report.settings, report.rules))
    inputs, specs = again(report, "pool", pool), again(report, "benchmarks", benchmarks)
    sources = read.open_pool(inputs, audited.read)
    opened = read.open_benchmarks(specs)
    return write_clean(
        report,
        sources,
        opened,
        out,
        item_records=read.item_records,
        settings=replace(settings, bad_rows=audited.read.bad_rows),
        rescan=_rescan(report, opened, audited) if settings.action == "mask" else None,
        protected=named_folders(inputs),
        on_rows=on_rows,
    )


def again(report: AuditReport, which: str, given: Any) -> Any:
    """Return the inputs as they were named, or as they are given again.

    Raises:
        UsageError: they were in memory.
        StaleAuditError: a file of the pool is not where it was.
    """
    if given is not None:
        return given
    names = report.settings[which]
    if names == [MEMORY]:
        raise UsageError(f"the {which} of this audit came from memory; give the same data again as {which}=")
    if which == "pool":
        _check_there(names)
        return tuple(names)
    return list(names)


def _check_there(names: Sequence[str]) -> None:
    for name in names:
        is_path = not name.startswith(("hf:", "~")) and not is_remote(name) and not glob.has_magic(name)
        if is_path and not Path(name).exists():
            hint = "" if Path(name).is_absolute() else "; its path is relative: go to the folder of the audit's command"
            raise StaleAuditError(f"{name}: no such file or folder, it was there when it was audited{hint}")


def _rescan(report: AuditReport, benchmarks: Sequence[Benchmark], settings: AuditSettings) -> Rescan:
    """Return a function that audits some records again, by the lexical tiers of the audit.

    Records are read by the fields in which they matched, so that a few of them are read as their whole file was.
    """
    scanner = Scanner.make(benchmarks, settings, settings.all_rules(), n_pool_bytes=0)
    fields = report.matches.group_by("pool", "row").agg(pl.col("field").unique())
    fields_of = {(pool, row): tuple(sorted(names)) for pool, row, names in fields.iter_rows()}

    def scan_again(records: list[tuple[Source, int, dict[str, Any]]]) -> pl.DataFrame:
        alike: dict[tuple[str, tuple[str, ...]], list[tuple[int, dict[str, Any]]]] = {}
        for source, row, record in records:
            alike.setdefault((source.name, fields_of[source.name, row]), []).append((row, _texts_only(record)))
        pairs = [_no_pairs()]
        for (name, fields), members in alike.items():
            rows = pl.Series([row for row, _ in members], dtype=pl.Int64)
            memory = Source(name, MEMORY, "list", "", "", "", 0, data=[record for _, record in members])
            for batch in read.read_texts(memory, ReadSettings(fields=fields, roles=settings.read.roles)):
                found = scanner.scan(batch).pairs
                pairs.append(
                    found.select(pl.lit(name).alias("pool"), rows.gather(found["row"]).alias("row"), pl.exclude("row"))
                )
        labels = pl.DataFrame(schema={"pool": pl.String, "row": pl.Int64})
        return conclude(pl.concat(pairs), scanner.prepared, labels)

    return scan_again


def _texts_only(value: Any) -> Any:
    """Return a record as JSON values: texts and their places; times, bytes and other values hold no text."""
    if isinstance(value, dict):
        return {str(key): _texts_only(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_texts_only(child) for child in value]
    return value if isinstance(value, str) else None


def _no_pairs() -> pl.DataFrame:
    verified = {name: dtype for name, dtype in VERIFIED.items() if name != "unit"}
    return pl.DataFrame(schema={**{name: tables.TEXTS[name] for name in ("pool", *ADDRESS)}, **verified})
