"""A whole pool in memory, as the stories of one pool need it: its rows with labels and source, and its prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from auditkit.errors import FieldError, LabelError
from auditkit.formats import RecordBatch, read_records
from auditkit.read import read_texts
from auditkit.read.columns import find_column, nearest_column, show_name
from auditkit.read.ids import DUPLICATE_ID, SeenIds
from auditkit.read.prompts import prompt_texts
from auditkit.read.values import names_of
from auditkit.records import BadRow, Pool, ReadSettings, Source
from auditkit.text.normalise import tokenise

#: Cells of two policies: both flag, none does, only the first, only the second, and no label under one of them.
CELLS = ("C1", "C0", "D10", "D01", "unknown")
#: In place of a source that a row does not name.
NO_SOURCE = "(none)"


@dataclass(frozen=True)
class PoolRows:
    """A pool, read.

    Attributes:
        rows: pool, row, `source` (String; the value of the source column, else the pool's name), `n_tokens` (Int64, of
            the row's prompts) and an Int8 column per policy; a line for every good row, in order.
        texts: frame tables.TEXTS of the prompts, in order, plus `n_tokens`.
        policies: the policies' names.
        not_examined: reason -> count.
        bad_rows: records set aside.
    """

    rows: pl.DataFrame
    texts: pl.DataFrame
    policies: tuple[str, ...]
    not_examined: Mapping[str, int]
    bad_rows: tuple[BadRow, ...]

    @property
    def cell(self) -> pl.Series:
        """The joint label cell of each row: one of CELLS for two policies, else "a=1 b=0" or ""."""
        if len(self.policies) == 2:
            return cells(self.rows, *self.policies)
        values = [self.rows[policy].cast(pl.String).fill_null("?").to_list() for policy in self.policies]
        rows = zip(*values, strict=True) if values else (() for _ in range(len(self.rows)))
        named = [" ".join(f"{p}={v}" for p, v in zip(self.policies, row, strict=True)) for row in rows]
        return pl.Series("cell", named, dtype=pl.String)


def cells(rows: pl.DataFrame, a: str, b: str) -> pl.Series:
    """Return the cell of each row under policies A and B: String series, one of CELLS."""
    flagged = pl.when(pl.col(b) == 1).then(pl.lit("C1")).otherwise(pl.lit("D10"))
    passed = pl.when(pl.col(b) == 1).then(pl.lit("D01")).otherwise(pl.lit("C0"))
    known = pl.when(pl.col(a) == 1).then(flagged).otherwise(passed)
    is_unknown = pl.col(a).is_null() | pl.col(b).is_null()
    return rows.select(pl.when(is_unknown).then(pl.lit("unknown")).otherwise(known).alias("cell"))["cell"]


def read_rows(pool: Pool, settings: ReadSettings, source_column: str = "") -> PoolRows:
    """Return the rows and prompts of a pool.

    Raises:
        FieldError: no source has the source column.
        LabelError: a label column is missing, or none of its values is a label.
        InputError: a source cannot be read.
    """
    rows, texts, counts, bad = [], [], Counter[str](), list[BadRow]()
    for source in pool.sources:
        seen = SeenIds()
        for batch in read_texts(source, settings, may_lack_fields=len(pool.sources) > 1):
            rows.append(batch.labels.select(pl.lit(source.name).alias("pool"), pl.all()))
            texts.append(prompt_texts(batch.texts, settings))
            counts.update(batch.not_examined)
            counts[DUPLICATE_ID] += seen.add(batch.id_hashes)
            bad += batch.bad_rows
    policies = tuple(rule.policy for rule in settings.labels)
    table, prompts = pl.concat(rows), pl.concat(texts)
    prompts = prompts.with_columns(pl.Series("n_tokens", tokenise(prompts["text"]).lengths, dtype=pl.Int64))
    table = _with_source(table, pool, settings, source_column)
    _check_labels(table, settings, counts)
    n_tokens = prompts.group_by("pool", "row").agg(pl.col("n_tokens").sum())
    table = table.join(n_tokens, on=["pool", "row"], how="left", maintain_order="left")
    table = table.select("pool", "row", "source", pl.col("n_tokens").fill_null(0), *policies)
    return PoolRows(table, prompts, policies, dict(sorted((+counts).items())), tuple(bad))


# ---------------------------------------------------------------- source column


def _with_source(rows: pl.DataFrame, pool: Pool, settings: ReadSettings, column: str) -> pl.DataFrame:
    """Return the rows with `source`: the value of a column, or the name of the pool's source."""
    if not column:
        return rows.with_columns(pl.col("pool").alias("source"))
    values: list[str | None] = []
    seen: dict[str, None] = {}
    is_found = False
    for source in pool.sources:
        for batch in read_records(source, settings.bad_rows, settings.shard_bytes):
            names = names_of(batch)
            seen.update(dict.fromkeys(names))
            name = find_column(column, names)
            is_found = is_found or name is not None
            values += _values(batch, name)
    if not is_found:
        raise FieldError(f"{_locations(pool.sources)}: no source column '{show_name(column)}'"
                         f"{nearest_column(column, list(seen))}")  # fmt: skip
    return rows.with_columns(pl.Series("source", values, dtype=pl.String).fill_null(NO_SOURCE))


def _values(batch: RecordBatch, name: str | None) -> Iterator[str | None]:
    """Yield the column of the good records of a batch as text; null where a record has none."""
    found: Sequence[Any]
    if name is None:
        found = [None] * len(batch.numbers)
    elif batch.table is not None:
        found = batch.table.column(name).to_pylist()
    else:
        found = [record.get(name) for record in batch.records or []]
    return (None if value is None or value == "" else str(value) for value in found)


def _locations(sources: Sequence[Source]) -> str:
    first = sources[0].location
    return first if len(sources) == 1 else f"{first} and {len(sources) - 1} more"


# ---------------------------------------------------------------- labels


def _check_labels(rows: pl.DataFrame, settings: ReadSettings, counts: Mapping[str, int]) -> None:
    """Check that each policy has labels at all.

    Raises:
        LabelError: none of a column's values could be read as a label.
    """
    for rule in settings.labels:
        if len(rows) and rows[rule.policy].null_count() == len(rows):
            raise LabelError(
                f"policy {rule.policy}: none of the {len(rows):,} values of column '{show_name(rule.column)}' is a "
                f"known label ({unmapped(rule.policy, counts) or 'all are null'}); map them, for example "
                f"{rule.policy}={rule.column}:VALUE=1,VALUE=0 (in a study file values = {{ VALUE = 1, VALUE = 0 }})"
            )


def unmapped(policy: str, counts: Mapping[str, int]) -> str:
    """Return the values of a policy's column that no map names, "" where there is none."""
    head = f"label {policy} unmapped value "
    named = [reason.removeprefix(head) for reason in counts if reason.startswith(head)]
    n = counts.get(f"label {policy} unmapped", 0)
    if not n:
        return ""
    return f"{n:,} unmapped" + (f": {', '.join(named[:5])}" if named else "")
