"""The values of a batch of JSON lines, left in the bytes of the file until a column is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from auditkit.kernels.json_lines import (
    CELL_NAME,
    END,
    ESCAPED,
    INTEGER,
    KIND,
    LINE_END,
    LINE_START,
    MISSING,
    N_KINDS,
    NESTED,
    NULL,
    START,
    TEXT,
    places_of,
    text_of,
)

_SLICE = 1024
Record = dict[str, Any]


class RawLines(Sequence[bytes]):
    """The bytes of each row's line, cut out when they are asked for."""

    def __init__(self, block: bytes, rows: NDArray[np.int64]) -> None:
        self._block, self._rows = block, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._block[self._rows[index, LINE_START] : self._rows[index, LINE_END]]

    def __iter__(self) -> Iterator[bytes]:
        for first in range(0, len(self), _SLICE):
            for start, end in self._rows[first : first + _SLICE, [LINE_START, LINE_END]].tolist():
                yield self._block[start:end]


class LazyRecords(Sequence[Record]):
    """The records of lines, each parsed whenever it is asked for, but for those that had to be parsed already."""

    def __init__(self, raw: Sequence[bytes], odd: Mapping[int, Record]) -> None:
        self._raw, self._odd = raw, odd

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._record(range(len(self))[index], self._raw[index])

    def __iter__(self) -> Iterator[Record]:
        for index, raw in enumerate(self._raw):
            yield self._record(index, raw)

    def _record(self, index: int, raw: bytes) -> Record:
        record: Record = self._odd[index] if index in self._odd else orjson.loads(raw)
        return record


@dataclass(frozen=True)
class Cells:
    """Where the values of n rows stand.

    Attributes:
        block: the bytes that hold the rows' lines.
        rows: int64 [n, 5], lines of `scan_lines`; no cells where a row is odd.
        cells: int64 [n_cells, 4], cells of `scan_lines`.
        keys: key -> its number in `cells`.
        odd: row -> record, where a line was parsed as a whole.
    """

    block: bytes
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]
    keys: Mapping[str, int]
    odd: Mapping[int, Record]

    @property
    def names(self) -> list[str]:
        """Return every key that a row has."""
        n_uses = np.bincount(self.cells[:, CELL_NAME], minlength=len(self.keys))
        known = [name for name, number in self.keys.items() if n_uses[number]]
        return list(dict.fromkeys([*known, *(name for record in self.odd.values() for name in record)]))

    def column(self, name: str) -> CellColumn:
        """Return the values of one key."""
        places = places_of(self.rows, self.cells, self.keys.get(name, -1))
        odd = {row: record[name] for row, record in self.odd.items() if name in record}
        return CellColumn(self.block, places, odd)


@dataclass(frozen=True)
class CellColumn:
    """The values of one key in n rows.

    Attributes:
        block: the bytes that hold them.
        places: int64 [n, 3], see `places_of`.
        odd: row -> value, of rows that have no place.
    """

    block: bytes
    places: NDArray[np.int64]
    odd: Mapping[int, Any]

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def _counts(self) -> list[int]:
        """Return how many places are of each kind."""
        counts: list[int] = np.bincount(self.places[:, KIND], minlength=N_KINDS).tolist()
        return counts

    @property
    def n_null(self) -> int:
        """Return how many values are null; a key that a row does not have is no null."""
        return self._counts[NULL] + sum(value is None for value in self.odd.values())

    @property
    def is_text(self) -> bool:
        """Return whether all values are strings or null, and one at least is a string."""
        n_strings = self._counts[TEXT] + self._counts[ESCAPED] + sum(isinstance(v, str) for v in self.odd.values())
        return n_strings > 0 and self._are(TEXT, ESCAPED)

    @property
    def is_text_or_integer(self) -> bool:
        """Return whether `texts` gives all values as text: strings, null, and integers of at most 18 digits."""
        return self._are(TEXT, ESCAPED, INTEGER)

    @property
    def is_flat(self) -> bool:
        """Return whether no value is an object or array."""
        return not self._counts[NESTED] and not any(isinstance(v, (dict, list)) for v in self.odd.values())

    @property
    def n_texts(self) -> int:
        """Return how many values are strings that are not empty."""
        n_bytes = self.places[:, END] - self.places[:, START]
        n_plain = int(np.count_nonzero((self.places[:, KIND] == TEXT) & (n_bytes > 0)))
        return n_plain + self._counts[ESCAPED] + sum(isinstance(v, str) and v != "" for v in self.odd.values())

    def texts(self) -> Any:
        """Return the strings, and integers as they are spelt, as a pyarrow LargeStringArray: null for all others."""
        data, offsets = text_of(np.frombuffer(self.block, np.uint8), self.places)
        is_there = np.isin(self.places[:, KIND], (TEXT, ESCAPED, INTEGER))
        valid = pa.py_buffer(np.packbits(is_there, bitorder="little"))
        array = pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(offsets), pa.py_buffer(data), valid)
        if not self.odd:
            return array
        is_odd = np.zeros(len(self), np.bool_)
        is_odd[list(self.odd)] = True
        return pc.replace_with_mask(array, pa.array(is_odd), pa.array(list(self.odd.values()), pa.large_string()))

    def values(self) -> Iterator[tuple[int, Any]]:
        """Yield (row, Python value) in the order of rows; those that do not have the key are left out."""
        for start in range(0, len(self), _SLICE):
            found = dict(self._parsed(start, self.places[start : start + _SLICE]))
            if not self.odd:
                yield from found.items()
                continue
            found |= {row: value for row, value in self.odd.items() if start <= row < start + _SLICE}
            yield from sorted(found.items(), key=lambda item: item[0])

    def _parsed(self, first: int, places: NDArray[np.int64]) -> Iterator[tuple[int, Any]]:
        rows = np.flatnonzero(places[:, KIND] != MISSING)
        quotes = np.isin(places[rows, KIND], (TEXT, ESCAPED))
        bounds = zip((places[rows, START] - quotes).tolist(), (places[rows, END] + quotes).tolist(), strict=True)
        values = orjson.loads(b"[" + b",".join([self.block[start:end] for start, end in bounds]) + b"]")
        return zip((rows + first).tolist(), values, strict=True)

    def _are(self, *kinds: int) -> bool:
        """Return whether every value is missing, null or of some kinds of text."""
        n_alike = sum(self._counts[kind] for kind in (MISSING, NULL, *kinds))
        return n_alike == len(self) and all(v is None or isinstance(v, str) for v in self.odd.values())
