"""Helpers of the tests that run whole audits: files in, matches out as plain values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from auditkit.records import AuditReport

Match = tuple[str, int, str, int, str, str]


def jsonl(path: Path, texts: Iterable[Any], column: str = "text") -> Path:
    """Write texts (or whole records) as JSON lines."""
    records = [text if isinstance(text, dict) else {column: text} for text in texts]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


def matches(report: AuditReport) -> list[Match]:
    """Return (pool, row, benchmark, item, tier, verdict) of every match."""
    return report.matches.select("pool", "row", "benchmark", "item", "tier", "verdict").rows()


def short(report: AuditReport) -> list[tuple[int, int, str, str]]:
    """Return (row, item, tier, verdict) of every match: enough where there is one file and one benchmark."""
    return report.matches.select("row", "item", "tier", "verdict").rows()


def condemned(report: AuditReport) -> set[tuple[int, int]]:
    """Return (row, item) of the contaminated matches."""
    return set(report.matches.filter(pl.col("verdict") == "contaminated").select("row", "item").rows())


def comparable(report: AuditReport, without: Sequence[str] = ()) -> list[tuple[Any, ...]]:
    """Return all that is known of every match but its labels, for equality between two audits."""
    return report.matches.drop("pool_labels", *without).rows()


def files(folder: Path) -> dict[str, bytes]:
    """Return relative path -> bytes of all files of a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
