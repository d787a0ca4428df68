"""Audits with known answers, made by hand: which rows and items match is what the test says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.formats import bare_name, detect_format, digest_file, digest_source, read_records
from auditkit.formats.fields import get_text
from auditkit.records import AuditReport, Benchmark, BenchmarkResult, Pool, Source, SourceResult
from auditkit.split import SplitResult, SplitSettings, decontaminate

SECRET = "the leaked item"


def file_source(path: Path, relative: str = "") -> Source:
    kind, compression = detect_format(path)
    relative = relative or path.name
    return Source(bare_name(relative), str(path), kind, compression, relative, *digest_file(path))


def memory_source(data: Any, kind: str, name: str = "pool") -> Source:
    source = Source(name, "memory", kind, "", "", "", 0, data)
    return Source(name, "memory", kind, "", "", *digest_source(source), data)


def match(pool: str, row: int, **values: Any) -> dict[str, Any]:
    """One match; the whole text of field `text` unless told otherwise."""
    plain = {"row_id": f"id{row}", "field": "text", "benchmark": "bench", "item": 0, "item_id": "0", "part": "question",
             "tier": "exact", "verdict": "contaminated", "rule": "r1", "threshold": 1.0, "ratio": 1.0,
             "containment": 1.0, "view": "plain"}  # fmt: skip
    return dict.fromkeys(tables.MATCHES) | plain | {"pool": pool, "row": row} | values


def matches_frame(matches: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    frame = pl.DataFrame(list(matches), schema=tables.MATCHES, orient="row")
    return frame.with_columns(pl.lit(None, pl.Struct({"harm": pl.Int8})).alias("pool_labels"))


def benchmark_of(folder: Path, records: Sequence[Mapping[str, Any]], name: str = "bench") -> Benchmark:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return Benchmark(name, file_source(path), tables.empty(tables.ITEMS), len(records))


def item_records(benchmark: Benchmark) -> Iterator[Mapping[str, Any]]:
    for batch in read_records(benchmark.source):
        yield from batch.rows()


def report_of(
    pool: Pool, benchmarks: Sequence[Benchmark], matches: Sequence[Mapping[str, Any]], folder: Path | None = None
) -> AuditReport:
    """The report that an audit with these matches would have made."""
    sources = []
    for source in pool.sources:
        n_rows = sum(batch.n_records for batch in read_records(source, "skip"))
        sources.append(
            SourceResult(source.name, source.location, source.relative, source.format, source.compression,
                         source.digest, source.n_bytes, n_rows, n_rows, 0, 0)
        )  # fmt: skip
    results = [
        BenchmarkResult(b.name, b.n_items, 0, 0.0, {}, 0, 0.0, 0, 0, 0, b.source.location, b.source.digest, "", "", "",
                        "", "", False, (), {}, {})
        for b in benchmarks
    ]  # fmt: skip
    frame = matches_frame(matches)
    n_rows = sum(source.n_rows for source in sources)
    return AuditReport(
        tuple(sources), tuple(results), n_rows, n_rows, 0, 0, None, "sha256:pool", {}, {}, {}, "v1", {}, (), ("exact",),
        {}, {}, {}, "n1", {}, {}, frame, item_results(benchmarks, frame), folder,
    )  # fmt: skip


def item_results(benchmarks: Sequence[Benchmark], matches: pl.DataFrame) -> pl.DataFrame:
    lines = []
    for benchmark in benchmarks:
        for item in range(benchmark.n_items):
            mine = matches.filter((pl.col("benchmark") == benchmark.name) & (pl.col("item") == item))
            lines.append(
                dict.fromkeys(tables.ITEM_RESULTS)
                | {"benchmark": benchmark.name, "item": item, "is_reported": not mine.is_empty()}
                | {"is_found": "contaminated" in mine["verdict"]}
            )
    return pl.DataFrame(lines, schema=tables.ITEM_RESULTS, orient="row")


def split(
    sources: Sequence[Source], matches: Sequence[Mapping[str, Any]], out: Path, folder: Path, **more: Any
) -> SplitResult:
    """Decontaminate sources for these matches with a benchmark of three items."""
    names = ("rescan", "protected", "on_rows", "benchmarks", "report")
    passed = {name: more.pop(name) for name in names if name in more}
    benchmarks = passed.pop("benchmarks", None)
    if benchmarks is None:
        benchmarks = [benchmark_of(folder, [{"q": f"item {i}"} for i in range(3)])]
    pool = Pool(tuple(sources))
    report = passed.pop("report", None) or report_of(pool, benchmarks, matches)
    return decontaminate(
        report, pool, benchmarks, out, item_records=item_records, settings=SplitSettings(**more), **passed
    )


def rescan_for(secret: str, field: str = "text", turn: int | None = None) -> Any:
    """An audit that finds the first occurrence of `secret`, ignoring case."""

    def rescan(records: list[tuple[Source, int, dict[str, Any]]]) -> pl.DataFrame:
        found = []
        for source, row, record in records:
            at = get_text(record, field, turn).lower().find(secret.lower())
            if at >= 0:
                place = {
                    "field": field,
                    "turn": turn,
                    "row_start": at,
                    "row_end": at + len(secret),
                    "tier": "contained",
                }
                found.append(match(source.name, row, **place))
        return matches_frame(found)

    return rescan
