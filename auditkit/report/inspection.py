"""A pool that was inspected: the record of it, and as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from auditkit.records import BadRow
from auditkit.report.as_json import json_bytes, plain
from auditkit.report.labels import Agreement

INSPECTION, VIEW = "inspection.json", "inspection.md"
ROW_FILE, FAMILY_FILE, CONFLICT_FILE = "rows.parquet", "families.parquet", "conflicts.parquet"
_KIND = "auditkit inspection"
#: Not in inspection.json: where it lies, and what has a file of its own.
_ELSEWHERE = ("folder", "pairs")


@dataclass(frozen=True)
class InspectedSource:
    """One source of the pool."""

    name: str
    location: str
    digest: str
    n_rows: int


@dataclass(frozen=True)
class FamilyCounts:
    """Near-duplicate families of a pool.

    Attributes:
        kinds: single, exact and near -> {"n_families", "n_rows"}.
        n_repeated: rows beyond the first of each family: what one row a family would leave out.
        largest: (family, kind, rows) of the largest ones of several rows.
        cells: of two policies, the cells that the rows of a family of several rows have ("C1 + D10") -> families.
        n_measured: pairs of unlike texts under both labels that were measured.
    """

    kinds: Mapping[str, Mapping[str, int]]
    n_repeated: int
    largest: tuple[tuple[str, str, int], ...]
    cells: Mapping[str, int]
    n_measured: int


@dataclass(frozen=True)
class Cells:
    """Two policies, A and B, on the rows of a pool: in all, by source and by length."""

    a: str
    b: str
    total: Agreement
    by_source: Mapping[str, Agreement]
    by_length: Mapping[str, Agreement]


@dataclass(frozen=True)
class ConflictCount:
    """Conflicting labels under one policy: with other rows (`other` is ""), or with a benchmark.

    Attributes:
        by_tier: tier -> pairs of verdict contaminated. `n_review`: pairs for review.
        n_families: families with a pair; None where families are not known.
    """

    policy: str
    other: str
    by_tier: Mapping[str, int]
    n_review: int
    n_families: int | None


@dataclass(frozen=True)
class Inspection:
    """What `inspect_pool` found: counts of rows unless another unit is named.

    Attributes:
        folder: where its files stand.
        flags: flag -> rows; without `truncated` where no limit was given. `by_source`: source -> flag -> rows, "" for
            all rows of the source.
        lengths: band of tokens -> {"n_rows", "n_truncated"}, the latter where a limit was given.
        scripts: script ("" for rows without a letter) -> {"n_rows", "n_mixed"}; mixed rows have letters of others too.
        languages: ISO 639 code or "unknown" -> rows.
        labels: policy -> "1", "0", "null" -> rows.
        families, cells: None where they were not asked for.
        conflicts: one for each policy and what it conflicts with.
        not_examined: reason -> count.
        notes: what a reader must know.
    """

    folder: Path
    sources: tuple[InspectedSource, ...]
    n_rows: int
    n_texts: int
    n_characters: int
    n_tokens: int
    flags: Mapping[str, int]
    by_source: Mapping[str, Mapping[str, int]]
    lengths: Mapping[str, Mapping[str, int]]
    scripts: Mapping[str, Mapping[str, int]]
    languages: Mapping[str, int]
    labels: Mapping[str, Mapping[str, int]]
    families: FamilyCounts | None
    cells: Cells | None
    conflicts: tuple[ConflictCount, ...]
    settings: Mapping[str, Any]
    rules_version: str
    rules_changed: Mapping[str, Any]
    normalisation: str
    versions: Mapping[str, str]
    not_examined: Mapping[str, int]
    bad_rows: tuple[BadRow, ...]
    notes: tuple[str, ...]
    pairs: pl.DataFrame = field(repr=False, compare=False)

    @property
    def rows(self) -> pl.LazyFrame:
        """Every row of the pool: frame tables.INSPECTED, read when it is collected."""
        return pl.scan_parquet(self.folder / ROW_FILE)


def dumps(found: Inspection) -> bytes:
    """Return the bytes of inspection.json: every count, in a fixed order; no text of the pool."""
    body = {
        name: plain(value, is_ordered=True) for name, value in vars(found).items() if name not in ("folder", "pairs")
    }
    return json_bytes({"kind": _KIND, **body, "files": [ROW_FILE, FAMILY_FILE, CONFLICT_FILE]})
