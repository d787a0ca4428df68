"""The clean subset of a benchmark, for models that are already trained. The benchmark itself is never edited."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.errors import OutputError, StaleAuditError
from auditkit.formats import digest_file, streams
from auditkit.formats.naming import BENCHMARK_FOLDER
from auditkit.records import Benchmark
from auditkit.split.settings import BenchmarkSplit

#: The original records of a benchmark's items; number n is item n.
ItemRecords = Callable[[Benchmark], Iterator[Mapping[str, Any]]]


def clean_items(items: pl.DataFrame, benchmark: str, verdict: str) -> set[int]:
    """Return the items of a benchmark without a contaminated match (with "review": without any match)."""
    column = "is_found" if verdict == "contaminated" else "is_reported"
    frame = tables.check(items, tables.ITEM_RESULTS, "split: items")
    return set(frame.filter((pl.col("benchmark") == benchmark) & ~pl.col(column))["item"])


def clean_names(names: list[str]) -> dict[str, str]:
    """Return benchmark -> path below the output folder; characters that a file name cannot hold become "_".

    Raises:
        OutputError: two benchmarks would be written to one file.
    """
    stems = {name: re.sub(r"[^\w.@+-]", "_", name).lstrip(".") or "_" for name in names}
    paths = {name: f"{BENCHMARK_FOLDER}/{stem}.clean.jsonl" for name, stem in stems.items()}
    for name, path in paths.items():
        if list(paths.values()).count(path) > 1:
            raise OutputError(f"benchmark {name!r}: two benchmarks would be written to {path}; rename one")
    return paths


def write_clean(
    benchmark: Benchmark, clean: set[int], n_items: int, folder: Path, name: str, item_records: ItemRecords
) -> BenchmarkSplit:
    """Write the clean items' original records as JSON lines, in the benchmark's order.

    Raises:
        StaleAuditError: another number of items than audited.
    """
    path = folder / name
    n_read = 0
    with streams.writing(path):
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            for n_read, record in enumerate(item_records(benchmark), 1):
                if n_read - 1 in clean:
                    file.write(json.dumps(record, ensure_ascii=False, default=plain_value).encode() + b"\n")
    if n_read != n_items:
        raise StaleAuditError(
            f"{benchmark.source.location}: {n_read:,} items now, {n_items:,} when it was audited; audit it again"
        )
    return BenchmarkSplit(benchmark.name, name, n_items, len(clean), benchmark.source.digest, digest_file(path)[0])


def plain_value(value: Any) -> Any:
    """Return a value of a columnar benchmark that JSON does not know: times as ISO text, bytes as base64, else text."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
