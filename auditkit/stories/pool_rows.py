"""A whole pool in memory, as the stories of one pool need it: its rows with labels and source, and its prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import polars as pl

from auditkit.errors import FieldError, LabelError
from auditkit.formats import RecordBatch, read_records
from auditkit.read import read_texts
from auditkit.read.columns import find_column, nearest_column, show_name
from auditkit.read.ids import DUPLICATE_ID, SeenIds
from auditkit.read.prompts import prompt_texts
from auditkit.read.values import names_of
from auditkit.records import BadRow, LabelRule, Pool, ReadSettings, Source, TextBatch
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


@dataclass(frozen=True)
class RowBatch:
    """One shard of a pool: `rows`, `texts`, `not_examined` and `bad_rows` are of it what PoolRows has of all.

    `n_beside` counts the texts that are no prompts.
    """

    rows: pl.DataFrame
    texts: pl.DataFrame
    not_examined: Mapping[str, int]
    bad_rows: tuple[BadRow, ...]
    n_beside: int


def read_rows(pool: Pool, settings: ReadSettings, source_column: str = "") -> PoolRows:
    """Return the rows and prompts of a pool.

    Raises:
        FieldError: no source has the source column.
        LabelError: a label column is missing, or none of its values is a label.
        InputError: a source cannot be read.
    """
    counts, batches = Counter[str](), list(row_batches(pool, settings, source_column))
    for batch in batches:
        counts.update(batch.not_examined)
    table = pl.concat([batch.rows for batch in batches])
    for rule in settings.labels:
        check_labels(rule, len(table), table[rule.policy].null_count(), counts)
    policies = tuple(rule.policy for rule in settings.labels)
    bad = tuple(row for batch in batches for row in batch.bad_rows)
    return PoolRows(table, pl.concat([batch.texts for batch in batches]), policies, dict(sorted(counts.items())), bad)


def row_batches(pool: Pool, settings: ReadSettings, source_column: str = "") -> Iterator[RowBatch]:
    """Yield the rows and prompts of a pool shard by shard, in order; at least one batch.

    Raises:
        FieldError: no source has the source column; known, and raised, when all are read.
        LabelError: a label column is missing.
        InputError: a source cannot be read.
    """
    column = _Column(source_column, "source column")
    for source in pool.sources:
        seen = SeenIds()
        texts = read_texts(source, settings, may_lack_fields=len(pool.sources) > 1)
        for batch, names in zip(texts, column.values(source, settings), strict=False):
            repeated = Counter(batch.not_examined) + Counter({DUPLICATE_ID: seen.add(batch.id_hashes)})
            prompts = prompt_texts(batch.texts, settings)
            prompts = prompts.with_columns(pl.Series("n_tokens", tokenise(prompts["text"]).lengths, dtype=pl.Int64))
            n_beside = len(batch.texts) - len(prompts)
            yield RowBatch(_rows(batch, prompts, names, settings), prompts, repeated, batch.bad_rows, n_beside)
    column.check(pool.sources)


def _rows(batch: TextBatch, prompts: pl.DataFrame, names: pl.Series | None, settings: ReadSettings) -> pl.DataFrame:
    """Return frame PoolRows.rows of a shard; `names` are its sources, None for the pool's own name."""
    pool = pl.lit(batch.source.name).alias("pool")
    source = pool if names is None else names.fill_null(NO_SOURCE)
    rows = batch.labels.with_columns(pool, source.alias("source"))
    n_tokens = prompts.group_by("row").agg(pl.col("n_tokens").sum())
    rows = rows.join(n_tokens, on="row", how="left", maintain_order="left")
    policies = (rule.policy for rule in settings.labels)
    return rows.select("pool", "row", "source", pl.col("n_tokens").fill_null(0), *policies)


def inputs_on_disk(pool: Pool, named: Any) -> list[Path]:
    """Return what must not be written to: the pool's files, and the folders among what the user named."""
    files = [Path(source.location) for source in pool.sources if source.data is None]
    several: Sequence[Any] = named if isinstance(named, (list, tuple)) else [named]
    folders = [Path(one) for one in several if isinstance(one, (str, Path)) and Path(one).is_dir()]
    return [path for path in [*files, *folders] if path.exists()]


# ---------------------------------------------------------------- columns beside the texts


def column_values(pool: Pool, settings: ReadSettings, name: str, what: str) -> pl.Series:
    """Return a column of the good rows of a pool as text, in order: String [n], null where a row has none.

    Raises:
        FieldError: no source has it; the message calls it `what`.
    """
    column = _Column(name, what)
    found = [values for source in pool.sources for values in column.values(source, settings) if values is not None]
    column.check(pool.sources)
    return pl.concat([pl.Series("value", [], pl.String), *found])


class _Column:
    """A column that the user named, looked for in every source; none where its name is ""."""

    def __init__(self, name: str, what: str) -> None:
        self._name, self._what = name, what
        self._seen: dict[str, None] = {}
        self._is_found = False

    def values(self, source: Source, settings: ReadSettings) -> Iterator[pl.Series | None]:
        """Yield the values of each shard, null where a row has none; None for ever where no column was named."""
        if not self._name:
            yield from repeat(None)
        for batch in read_records(source, settings.bad_rows, settings.shard_bytes):
            names = names_of(batch)
            self._seen.update(dict.fromkeys(names))
            name = find_column(self._name, names)
            self._is_found = self._is_found or name is not None
            yield pl.Series("value", _values(batch, name), dtype=pl.String)

    def check(self, sources: Sequence[Source]) -> None:
        """Raise FieldError where a column was named and no source had it."""
        if self._name and not self._is_found:
            raise FieldError(f"{_locations(sources)}: no {self._what} '{show_name(self._name)}'"
                             f"{nearest_column(self._name, list(self._seen))}")  # fmt: skip


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


def check_labels(rule: LabelRule, n_rows: int, n_null: int, counts: Mapping[str, int]) -> None:
    """Check that a policy has labels at all.

    Args:
        n_rows, n_null: rows of the pool, and those without a label under it.
        counts: reason -> count, as PoolRows.not_examined.

    Raises:
        LabelError: none of the column's values could be read as a label.
    """
    if n_rows and n_null == n_rows:
        raise LabelError(
            f"policy {rule.policy}: none of the {n_rows:,} values of column '{show_name(rule.column)}' is a "
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
