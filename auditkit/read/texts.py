"""read_texts: a source as batches of texts, each with its address, and a count of everything that is not examined.

Columns of plain strings stay in Arrow and polars; nested values and chats are walked in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

import polars as pl

from auditkit import tables
from auditkit.formats import RecordBatch, read_records
from auditkit.formats.fields import build_path
from auditkit.read import chats
from auditkit.read.ids import MAX_COMPARED_ROWS, NOT_COMPARED, id_hashes, short_ids
from auditkit.read.plan import FIRST_RECORDS, Plan, make_plan
from auditkit.read.tally import Tally
from auditkit.read.values import Column, names_of
from auditkit.read.walk import JSON_CHAT, Walker
from auditkit.records import ReadSettings, Source, TextBatch

#: Of a Parquet file that is read in pieces: what is decoded for its first records.
_FIRST_BYTES = 1 << 20
_FOUND: dict[str, pl.DataType] = {
    "at": pl.UInt32(),
    "field": pl.String(),
    "turn": pl.Int32(),
    "role": pl.String(),
    "text": pl.String(),
}


def read_texts(
    source: Source, settings: ReadSettings, *, may_lack_fields: bool = False, row_groups: range | None = None
) -> Iterator[TextBatch]:
    """Yield the texts of a source or of a piece of it, batch after batch, in record order; at least one batch.

    Which columns are scanned is decided from the first 100 records of the source; usual text columns and chats that
    come later are scanned as well. The texts do not depend on the size of the batches, nor on the pieces. Counts of
    `not_examined` are per batch and add up over a source.

    Args:
        source: what is read.
        settings: what of it.
        may_lack_fields: take it that another source of the pool has the fields that this one has not (`open_pool`
            checks it). A source that has none of them is read without texts, and its last batch says so.
        row_groups: a piece of a Parquet file (see formats.pieces), None for the whole source.

    Raises:
        BadRecordError: a broken record, where `settings.bad_rows` is "error".
        FieldError: no column is clearly text, or a field or the id column is missing.
        LabelError: a label column is missing.
        UsageError: a policy is declared twice, or a role is unknown.
    """
    batches = read_records(source, settings.bad_rows, settings.shard_bytes, row_groups)
    if row_groups is None:
        first, is_all = _first_batches(batches)
        batches = chain(first, batches)
    else:
        first, is_all = _first_batches(read_records(source, settings.bad_rows, _FIRST_BYTES))
    reader = _Reader(source, make_plan(source, settings, first, is_all, may_lack_fields))
    held: TextBatch | None = None
    for batch in batches:
        if held is not None:
            yield held
        held = reader.read(batch)
    # The last batch waits until all columns are known.
    assert held is not None
    yield reader.end(held)


def _first_batches(batches: Iterable[RecordBatch]) -> tuple[list[RecordBatch], bool]:
    """Return the batches that hold the first records, and whether there are no others."""
    first: list[RecordBatch] = []
    n_records = 0
    for batch in batches:
        first.append(batch)
        n_records += len(batch.numbers)
        if n_records >= FIRST_RECORDS:
            return first, False
    return first, True


class _Reader:
    """Reads the batches of one source or piece, and knows what came before."""

    def __init__(self, source: Source, plan: Plan) -> None:
        self.source, self.plan = source, plan
        self.seen: set[str] = set()
        self.n_rows = 0
        self._known: set[str] = set()

    def read(self, batch: RecordBatch) -> TextBatch:
        """Return the texts of one batch."""
        tally = Tally(self._known)
        names = self.plan.ordered(names_of(batch))
        self.seen.update(names)
        self.n_rows += batch.n_records
        frames = [frame for name in names for frame in self._column(batch, name, tally)]
        found = pl.concat(frames) if frames else pl.DataFrame(schema=_FOUND)
        if len(frames) > 1:
            found = found.sort("at", maintain_order=True)
        tally.add("row without text", len(batch.numbers) - found["at"].n_unique())
        rows = pl.Series("row", batch.numbers, dtype=pl.Int64())
        ids = self._row_ids(batch, names)
        texts = self._texts(found, rows, ids)
        labels = pl.DataFrame([rows, *(label.read(batch, tally) for label in self.plan.labels)])
        compared = ids.filter(rows < MAX_COMPARED_ROWS)
        tally.add(NOT_COMPARED, len(ids) - ids.null_count() - (len(compared) - compared.null_count()))
        return TextBatch(
            self.source, batch.n_records, texts, labels, id_hashes(compared), batch.bad, dict(tally.counts),
            batch.n_source_bytes,
        )  # fmt: skip

    def end(self, last: TextBatch) -> TextBatch:
        """Return the last batch, with what is known of the whole source only.

        Raises:
            FieldError, LabelError: a field or a label column never came.
        """
        self.plan.check_end(self.seen)
        if not self.plan.has_no_field(self.seen) or not self.n_rows:
            return last
        name = self.source.name if self.source.name.isprintable() else ascii(self.source.name)
        reason = f"row of source {name}, which has none of the fields"
        return replace(last, not_examined={**last.not_examined, reason: self.n_rows})

    def _texts(self, found: pl.DataFrame, rows: pl.Series, ids: pl.Series) -> pl.DataFrame:
        texts = found.select(
            pl.lit(self.source.name).alias("pool"),
            rows.gather(found["at"]).alias("row"),
            ids.gather(found["at"]).alias("row_id"),
            "field", "turn", "role", "text",
        )  # fmt: skip
        return tables.check(texts, tables.TEXTS, "read_texts")

    def _row_ids(self, batch: RecordBatch, names: list[str]) -> pl.Series:
        if self.plan.id_name not in names or self.plan.id_name is None:
            return pl.Series([None] * len(batch.numbers), dtype=pl.String())
        return short_ids(Column(batch, self.plan.id_name).ids())

    def _column(self, batch: RecordBatch, name: str, tally: Tally) -> Iterator[pl.DataFrame]:
        """Yield the texts of a column, if there are any, and count the rest."""
        column = Column(batch, name)
        use = self.plan.use(name)
        if use == "scan":
            yield from self._flat(column, tally) if column.flat is not None else self._nested(column, tally, False)
        elif use == "exclude" and self.plan.selectors is None and column.may_hold_chats:
            yield from self._nested(column, tally, True)
        else:
            n_texts, media = column.count()
            (tally.metadata if use == "metadata" else tally.excluded)(build_path([name]), n_texts)
            for kind, n in media.items():
                tally.add(kind, n)

    def _flat(self, column: Column, tally: Tally) -> Iterator[pl.DataFrame]:
        path = build_path([column.name])
        texts = column.flat
        assert texts is not None
        tally.null(path, column.n_null)
        if self.plan.selectors is not None and not self.plan.selectors.take(path):
            tally.excluded(path, column.count()[0])
            return
        is_text = texts.is_not_null()
        at = is_text.arg_true()
        if texts.null_count():
            texts = texts.drop_nulls()
        for text in texts.filter(texts.str.starts_with("[")):
            tally.add(JSON_CHAT, 1 if chats.is_json_chat(text) else 0)
        if len(texts):
            yield pl.DataFrame({"at": at.cast(pl.UInt32()), "text": texts}).select(
                "at", pl.lit(path).alias("field"), pl.lit(None, pl.Int32()).alias("turn"),
                pl.lit(None, pl.String()).alias("role"), "text",
            )  # fmt: skip

    def _nested(self, column: Column, tally: Tally, only_chats: bool) -> Iterator[pl.DataFrame]:
        """Yield the texts of a column of nested values; of a column that is not scanned only its chats."""
        walker = Walker(tally, self.plan.roles, self.plan.selectors)
        for at, value in column.values():
            if not only_chats or chats.is_chat(value):
                walker.walk(at, column.name, value)
            else:
                walker.leave_out(column.name, value)
        found = walker.found
        if found.at:
            data = [found.at, found.path, found.turn, found.role, found.text]
            yield pl.DataFrame(dict(zip(_FOUND, data, strict=True)), schema=_FOUND)
