"""Conflicting labels as lines of one table: rows with rows, and rows with the items of benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.records import TIERS, AuditReport
from auditkit.stories.audit import audit
from auditkit.stories.inspect_settings import InspectSettings
from auditkit.stories.settings import AuditSettings

_ROW = ["pool", "row"]
_OTHER = {"pool": "other", "row": "other_row"}
#: What makes a line of a conflict with an item; several texts of one row may match it.
_PAIR = ["policy", *_ROW, "other", "other_row"]


def audit_of(pool: Any, benchmarks: Any, settings: InspectSettings) -> AuditReport:
    """Return the audit of the pool against the benchmarks, by the same rules, of the same texts."""
    asked = AuditSettings(rules=settings.near.rules, read=settings.near.read, decoys=0)
    return audit(pool, benchmarks, asked)


def with_items(report: AuditReport, policies: Sequence[str]) -> pl.DataFrame:
    """Return the matches whose labels conflict, a line for each policy: columns of tables.CONFLICTS."""
    digests = report.items.select("benchmark", "item", "digest")
    matches = report.matches.filter(pl.col("label_conflict").fill_null(False)).join(
        digests, on=["benchmark", "item"], how="left", maintain_order="left"
    )
    tier = pl.col("tier").cast(pl.Enum(TIERS))
    lines = pl.concat([_under(matches, policy) for policy in policies])
    return lines.sort(*_PAIR, "verdict", tier, maintain_order=True).unique(_PAIR, keep="first", maintain_order=True)


def _under(matches: pl.DataFrame, policy: str) -> pl.DataFrame:
    label = pl.col("pool_labels").struct.field(policy)
    one = pl.lit(1, pl.Int64)
    return matches.filter((label != pl.col("item_label")).fill_null(False)).select(
        pl.lit(policy).alias("policy"), pl.lit("item").alias("kind"), *_ROW, label.alias("label"), one.alias("n_rows"),
        pl.col("benchmark").alias("other"), pl.col("item").alias("other_row"), pl.col("item_id").alias("other_id"),
        pl.col("item_label").alias("other_label"), pl.col("digest").alias("other_digest"), one.alias("n_other_rows"),
        "tier", "verdict", "rule", "ratio", "numbers_differ",
    )  # fmt: skip


def completed(found: Sequence[pl.DataFrame], rows_file: Path) -> pl.DataFrame:
    """Return conflicts with ids, digests and families of their rows: frame tables.CONFLICTS.

    Args:
        found: conflicts without these columns.
        rows_file: rows.parquet of the pool.
    """
    every = pl.concat([tables.empty(tables.CONFLICTS), *found], how="diagonal").drop("family", "row_id", "digest")
    known = pl.scan_parquet(rows_file)
    mine = known.select(*_ROW, "family", "row_id", "digest")
    theirs = known.select(
        pl.lit("row").alias("kind"),
        *(pl.col(name).alias(new) for name, new in _OTHER.items()),
        pl.col("row_id").alias("id of other"),
        pl.col("digest").alias("digest of other"),
    )
    placed = _looked_up(_looked_up(every, mine, _ROW), theirs, ["kind", *_OTHER.values()])
    whole = placed.with_columns(
        pl.coalesce("id of other", "other_id").alias("other_id"),
        pl.coalesce("digest of other", "other_digest").alias("other_digest"),
    )
    return tables.check(whole, tables.CONFLICTS, "conflicts").select(tables.CONFLICTS.keys())


def _looked_up(frame: pl.DataFrame, known: pl.LazyFrame, on: list[str]) -> pl.DataFrame:
    """Return the frame with the columns of the few lines of a large file that belong to it."""
    found = known.join(frame.lazy().select(on).unique(), on=on, how="semi").collect()
    return frame.join(found, on=on, how="left", maintain_order="left")
