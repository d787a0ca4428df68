"""One column of a batch of either kind: flat strings as a polars series, everything else as Python values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from auditkit.formats import RecordBatch
from auditkit.read.chats import CALL_KEYS, CONTENT_KEYS, canonical_role, struct_media
from auditkit.read.ids import id_text
from auditkit.read.walk import count_left_out, may_hold_text

if TYPE_CHECKING:
    from auditkit.formats.cells import CellColumn

_SLICE = 1024


class _Missing:
    """Stands for the value of a key that a record does not have; null is something else."""


MISSING = _Missing()
_FLAT = frozenset({str, type(None), _Missing})


def names_of(batch: RecordBatch) -> list[str]:
    """Return the columns of a batch in order of appearance."""
    if batch.table is not None:
        return list(batch.table.column_names)
    if batch.cells is not None:
        return batch.cells.names
    return list(dict.fromkeys(chain.from_iterable(batch.records or ())))


class Column:
    """One column of a batch.

    Attributes:
        name: its name.
        n_null: nulls of a flat column (keys that a record does not have are no nulls).
    """

    def __init__(self, batch: RecordBatch, name: str) -> None:
        self.name = name
        self._flat: pl.Series | None = None
        self.n_null = 0
        self._array: Any = None
        self._cells: CellColumn | None = None
        self._values: list[Any] = []
        if batch.table is not None:
            self._from_array(batch.table.column(name))
        elif batch.cells is not None:
            self._cells = batch.cells.column(name)
            self.n_null = self._cells.n_null
        else:
            self._from_records(batch.records or [])

    @property
    def is_flat(self) -> bool:
        """Return whether it is a column of strings."""
        return self._flat is not None or (self._cells is not None and self._cells.is_text)

    @property
    def flat(self) -> pl.Series | None:
        """Return the strings, null where there is none; None where it is not a column of strings."""
        if self._flat is None and self._cells is not None and self._cells.is_text:
            self._flat = strings(self._cells.texts()).alias(self.name)
        return self._flat

    def _from_array(self, array: Any) -> None:
        self._array = array = _storage(array)
        if is_string(array.type):
            self._flat = strings(array).alias(self.name)
            self.n_null = self._flat.null_count()

    def _from_records(self, records: Sequence[dict[str, Any]]) -> None:
        name = self.name
        values = self._values = [record.get(name, MISSING) for record in records]
        types = set(map(type, values))
        if not types <= _FLAT or str not in types:
            return
        self.n_null = values.count(None) if type(None) in types else 0
        if _Missing in types:
            values = [None if value is MISSING else value for value in values]
        self._flat = pl.Series(name, values, dtype=pl.String())

    def values(self) -> Iterator[tuple[int, Any]]:
        """Yield (position in the batch, Python value); keys that a record does not have are left out."""
        if self._cells is not None:
            yield from self._cells.values()
            return
        if self._array is None:
            yield from ((at, value) for at, value in enumerate(self._values) if value is not MISSING)
            return
        for start in range(0, len(self._array), _SLICE):
            yield from enumerate(self._array.slice(start, _SLICE).to_pylist(), start)

    @property
    def may_hold_chats(self) -> bool:
        """Return whether a value can be a chat, by the column's type."""
        if self.is_flat:
            return False
        if self._cells is not None:
            return not self._cells.is_flat
        return self._array is None or _may_be_chat(self._array.type)

    def count(self) -> tuple[int, Counter[str]]:
        """Return how many non-empty texts the column holds, and its images and audio."""
        media: Counter[str] = Counter()
        if self._cells is not None and self._cells.is_flat:
            return self._cells.n_texts, media
        if self._flat is not None:
            return int((self._flat.str.len_bytes() > 0).sum()), media
        if self._array is None or _holds_map(self._array.type):
            return sum(count_left_out(value, media) for _, value in self.values()), media
        return sum(_count(chunk, media) for chunk in self._array.chunks), media

    def ids(self) -> pl.Series:
        """Return the column as ids, see `id_text`."""
        if self._cells is not None:
            return _cell_ids(self._cells)
        if self._flat is not None:
            return self._flat
        if self._array is not None and pa.types.is_integer(self._array.type):
            integers = pl.from_arrow(self._array)
            assert isinstance(integers, pl.Series)
            return integers.cast(pl.String())
        if self._array is not None:
            return pl.Series([id_text(value) for _, value in self.values()], dtype=pl.String())
        return pl.Series([None if v is MISSING else id_text(v) for v in self._values], dtype=pl.String())


def _cell_ids(cells: CellColumn) -> pl.Series:
    """Return the values of JSON lines as ids."""
    if cells.is_text_or_integer:
        return strings(cells.texts())
    ids: list[str | None] = [None] * len(cells)
    for row, value in cells.values():
        ids[row] = id_text(value)
    return pl.Series(ids, dtype=pl.String())


def is_string(kind: Any) -> bool:
    """Return whether an Arrow type holds strings: string, large_string, string_view, or a dictionary of such."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def strings(array: Any) -> pl.Series:
    """Return an Arrow (chunked) array of any string type as a polars String series."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    series = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series.cast(pl.String())


def _storage(array: Any) -> Any:
    """Return a chunked array without extension types at its top."""
    if isinstance(array.type, pa.BaseExtensionType):
        return pa.chunked_array([chunk.storage for chunk in array.chunks], type=array.type.storage_type)
    return array


def _is_list(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        or types.is_list_view(kind) or types.is_large_list_view(kind)
    )  # fmt: skip


def _may_be_chat(kind: Any) -> bool:
    if not _is_list(kind):
        return False
    if not pa.types.is_struct(kind.value_type):
        return _may_be_chat(kind.value_type)
    names = {kind.value_type.field(i).name for i in range(kind.value_type.num_fields)}
    return bool(names & {*CONTENT_KEYS, *CALL_KEYS}) or any(canonical_role(name) == "user" for name in names)


def _holds_map(kind: Any) -> bool:
    if pa.types.is_map(kind) or isinstance(kind, pa.BaseExtensionType):
        return True
    if _is_list(kind):
        return _holds_map(kind.value_type)
    return pa.types.is_struct(kind) and any(_holds_map(kind.field(i).type) for i in range(kind.num_fields))


def _count(array: Any, media: Counter[str]) -> int:
    kind = array.type
    if is_string(kind):
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            array = array.cast(pa.large_string())
        return int(pc.sum(pc.greater(pc.binary_length(array), 0)).as_py() or 0)
    if _is_list(kind):
        return _count(array.flatten(), media)
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        found = struct_media(names)
        if found is not None:
            media[found] += len(array) - array.null_count
            return 0
        return sum(
            _count(child, media) for name, child in zip(names, array.flatten(), strict=True) if may_hold_text(name)
        )
    return 0
