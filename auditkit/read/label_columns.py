"""The labels of a batch: each declared column mapped to Int8, and what could not be mapped counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from auditkit.errors import FieldError, LabelError
from auditkit.formats import RecordBatch
from auditkit.formats.fields import parse_path
from auditkit.read.columns import find_column, nearest_column, show_name
from auditkit.read.labels import UNMAPPED, label_of, value_text
from auditkit.read.tally import Tally
from auditkit.records import LabelRule

#: Distinct unmapped values that are named one by one; the others are counted.
MAX_VALUES = 20
#: Longer values are never named: a label column that is declared by mistake may hold the pool's texts.
MAX_CHARACTERS, MAX_WORDS = 24, 3
_MISSING: Any = object()


@dataclass
class LabelColumn:
    """One policy's labels in one source.

    Attributes:
        rule: the declaration.
        path: keys of the column, as the first records spell them.
        is_seen: whether a record has had it.
    """

    rule: LabelRule
    path: tuple[str, ...]
    is_seen: bool
    _named: set[str] = field(default_factory=set)

    def read(self, batch: RecordBatch, tally: Tally) -> pl.Series:
        """Return the labels of the good records of a batch, and count nulls and unmapped values."""
        if batch.table is not None:
            labels, unmapped = self._of_table(batch.table)
        else:
            labels, unmapped = self._of_values(_values(batch, self.path))
        n_unmapped = unmapped.total()
        tally.add(f"label {self.rule.policy} null", labels.null_count() - n_unmapped)
        tally.add(f"label {self.rule.policy} unmapped", n_unmapped)
        self._name(unmapped, tally)
        return labels

    def _of_values(self, values: Sequence[Any]) -> tuple[pl.Series, Counter[str]]:
        known: dict[tuple[type, Any], int | None] = {}
        unmapped: Counter[str] = Counter()
        labels: list[int | None] = []
        for value in values:
            key = (type(value), value if isinstance(value, (str, int, float)) else str(value))
            if key in known:
                labels.append(known[key])
                continue
            self.is_seen = self.is_seen or value is not _MISSING
            label = label_of(None if value is _MISSING else value, self.rule)
            if label == UNMAPPED:
                unmapped[value_text(value) or ""] += 1
                labels.append(None)
            else:
                assert not isinstance(label, str)
                known[key] = label
                labels.append(label)
        return pl.Series(self.rule.policy, labels, dtype=pl.Int8()), unmapped

    def _of_table(self, table: Any) -> tuple[pl.Series, Counter[str]]:
        column = _column(table, self.path)
        if column is None:
            return pl.Series(self.rule.policy, [None] * table.num_rows, dtype=pl.Int8()), Counter()
        self.is_seen = True
        if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
            return self._of_values(column.to_pylist())
        coded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
        coded = coded.unify_dictionaries().combine_chunks()
        if isinstance(coded, pa.ChunkedArray):
            coded = pa.concat_arrays(coded.chunks) if coded.num_chunks else pa.array([], coded.type)
        values = coded.dictionary.to_pylist()
        labels = [label_of(value, self.rule) for value in values]
        indices = pl.from_arrow(coded.indices)
        assert isinstance(indices, pl.Series)
        counts = dict(indices.drop_nulls().value_counts().iter_rows())
        unmapped: Counter[str] = Counter()
        for index, label in enumerate(labels):
            if label == UNMAPPED and counts.get(index):
                unmapped[value_text(values[index]) or ""] += counts[index]
        mapped = pl.Series([None if label == UNMAPPED else label for label in labels], dtype=pl.Int8(), strict=False)
        return mapped.gather(indices.cast(pl.UInt32())).alias(self.rule.policy), unmapped

    def _name(self, unmapped: Counter[str], tally: Tally) -> None:
        """Count unmapped values by name, the first MAX_VALUES distinct short ones; of the others the rows."""
        before = f"label {self.rule.policy} unmapped"
        for value, n in unmapped.items():
            if len(value) > MAX_CHARACTERS or len(value.split()) > MAX_WORDS:
                tally.add(f"{before}: longer values", n)
            elif value in self._named or len(self._named) < MAX_VALUES:
                self._named.add(value)
                tally.add(f"{before} value {_shown(value)}", n)
            else:
                tally.add(f"{before}: short values beyond the first {MAX_VALUES}", n)


def label_column(
    rule: LabelRule, names: Sequence[str], records: Sequence[Mapping[str, Any]], is_whole: bool, location: str
) -> LabelColumn:
    """Return where `rule` reads its labels in a source, from its column names and first records.

    Args:
        rule: the declaration.
        names: columns of the first records.
        records: the first records.
        is_whole: whether all records have these columns, so that one that is not there never comes.
        location: of the source.

    Raises:
        LabelError: the column is missing.
    """
    path = _path_of(rule.column, names, records)
    if path is None and is_whole and names:
        raise missing_label(location, rule, names)
    return LabelColumn(rule, path or (rule.column,), path is not None)


def missing_label(location: str, rule: LabelRule, names: Sequence[str]) -> LabelError:
    """Return the error for a label column that a source does not have."""
    return LabelError(
        f"{location}: no label column '{show_name(rule.column)}' for policy '{rule.policy}'"
        f"{nearest_column(rule.column, names)}"
    )


def _path_of(column: str, names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    name = find_column(column, names)
    if name is not None:
        return (name,)
    try:
        parts = parse_path(column)
    except FieldError:
        return None
    keys = tuple(part for part in parts if isinstance(part, str))
    is_there = len(keys) == len(parts) and any(_get(record, keys) is not _MISSING for record in records)
    return keys if is_there else None


def _values(batch: RecordBatch, path: tuple[str, ...]) -> list[Any]:
    """Return the value at a path of each record of a row format."""
    if batch.cells is None or len(path) > 1:
        return [_get(record, path) for record in batch.records or []]
    values = [_MISSING] * len(batch.numbers)
    for row, value in batch.cells.column(path[0]).values():
        values[row] = value
    return values


def _get(record: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(record, Mapping) or key not in record:
            return _MISSING
        record = record[key]
    return record


def _column(table: Any, path: tuple[str, ...]) -> Any:
    if path[0] not in table.column_names:
        return None
    column = table.column(path[0])
    for key in path[1:]:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(key) < 0:
            return None
        column = pc.struct_field(column, key)
    return column


def _shown(text: str) -> str:
    """Return an unmapped value for a report, escaped."""
    return ascii(text) if not text.isprintable() else f"'{text}'"
