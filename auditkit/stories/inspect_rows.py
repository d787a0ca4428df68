"""The rows of a pool, one shard after another: what is known of each, written and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from auditkit import tables
from auditkit.errors import StaleAuditError
from auditkit.formats.row_groups import RowGroupWriter
from auditkit.inspection import Counts, Limits, row_facts
from auditkit.records import BadRow, Pool
from auditkit.stories.inspect_families import Kin
from auditkit.stories.inspect_settings import InspectSettings
from auditkit.stories.labels import length_band
from auditkit.stories.pool_rows import RowBatch, cells, check_labels, row_batches

_FAMILY = ("family", "family_kind", "family_size")
CHANGED = "the pool changed while it was read; inspect it again"
#: Why a text is not examined.
BESIDE = "text beside the prompts (answers, system prompts)"


@dataclass
class Seen:
    """What was read of a pool.

    Attributes:
        counts: rows by what is known of them, by policy, and of two policies by `cell`.
        n_rows: source's name -> rows.
        not_examined: reason -> count.
        bad_rows: records set aside.
    """

    counts: Counts
    n_rows: Counter[str] = field(default_factory=Counter)
    not_examined: Counter[str] = field(default_factory=Counter)
    bad_rows: list[BadRow] = field(default_factory=list)


def write_rows(
    pool: Pool,
    settings: InspectSettings,
    limits: Limits,
    kin: Kin | None,
    path: Path,
    on_rows: Callable[[int], None] | None = None,
) -> Seen:
    """Write every row of a pool to a Parquet file (frame tables.INSPECTED) and return counts of them.

    In memory are the texts of one shard, one group of rows, and the counts; the file does not depend on the shards.

    Raises:
        StaleAuditError: the rows are not those whose families are known.
    """
    rules = settings.near.read.labels
    policies = [rule.policy for rule in rules]
    seen = Seen(Counts([*policies, "cell"] if len(policies) == 2 else policies))
    with RowGroupWriter(path, _schema(policies)) as writer:
        for batch in row_batches(pool, settings.near.read, settings.source_column):
            rows = _known(batch, limits, policies, kin, seen.n_rows.total())
            writer.write(_as_written(rows, policies))
            _count(seen, rows, batch)
            if on_rows is not None:
                on_rows(len(rows))
    if kin is not None and len(kin.rows) != seen.n_rows.total():
        raise StaleAuditError(CHANGED)
    for rule in rules:
        n_null = sum(int(str(n)) for label, n in seen.counts.by(rule.policy) if label is None)
        check_labels(rule, seen.n_rows.total(), n_null, seen.not_examined)
    return seen


def _known(batch: RowBatch, limits: Limits, policies: list[str], kin: Kin | None, start: int) -> pl.DataFrame:
    """Return what is known of the rows of a shard that begins at row `start` of the pool."""
    rows = row_facts(batch.rows, batch.texts, limits).with_columns(length_band().alias("length"))
    if len(policies) == 2:
        rows = rows.with_columns(cells(rows, *policies).alias("cell"))
    if kin is None:
        return rows.with_columns(pl.lit(None, tables.INSPECTED[name]).alias(name) for name in _FAMILY)
    mine = kin.rows.slice(start, len(rows))
    if not mine.select("pool", "row").equals(rows.select("pool", "row")):
        raise StaleAuditError(CHANGED)
    return rows.hstack(mine.select(_FAMILY))


def _count(seen: Seen, rows: pl.DataFrame, batch: RowBatch) -> None:
    seen.counts.add(rows)
    seen.n_rows.update(dict(rows.group_by("pool").len().iter_rows()))
    seen.not_examined.update(batch.not_examined)
    seen.not_examined[BESIDE] += batch.n_beside
    seen.bad_rows += batch.bad_rows


# ---------------------------------------------------------------- as written


def _schema(policies: list[str]) -> tables.Schema:
    if not policies:
        return tables.INSPECTED
    return {**tables.INSPECTED, "pool_labels": pl.Struct(dict.fromkeys(policies, pl.Int8()))}


def _as_written(rows: pl.DataFrame, policies: list[str]) -> pl.DataFrame:
    labelled = rows.with_columns(pl.struct(policies).alias("pool_labels")) if policies else rows
    return tables.check(labelled, tables.INSPECTED, "write_rows").select(_schema(policies).keys())
