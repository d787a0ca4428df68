"""RecordBatch: some consecutive records of a source, as its format gives them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from auditkit.errors import BadRecordError
from auditkit.records import BadRow, Source

if TYPE_CHECKING:
    from auditkit.formats.cells import Cells

#: What one record costs beside its bytes, so that a file of empty lines is cut into batches as well.
RECORD_OVERHEAD = 64
SKIP_HINT = "Mend it, or set such rows aside with --bad-rows skip"


@dataclass(frozen=True)
class Layout:
    """How a row format writes one record, and strings them together: preamble, records joined by `separator`, tail.

    Attributes:
        kind: "json" (an object or string a record), "columns" (one JSON object of equal-length columns, written as a
            whole), "text", "csv" or "tsv"; "" for columnar formats.
        preamble: bytes before the first record: a byte order mark, the CSV header, or the opening of a JSON array.
        separator, tail: the bytes between two records and after the last; empty but for JSON arrays.
        columns: column names in order, for "columns", "csv" and "tsv".
    """

    kind: str = ""
    preamble: bytes = b""
    separator: bytes = b""
    tail: bytes = b""
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordBatch:
    """Consecutive records of one source. Either `records` or `table` is there.

    Attributes:
        first: 0-based number of the first record.
        n_records: records in the batch, broken ones included.
        numbers: record number of each good record.
        records: row formats: the good records. A bare string is {"text": string}; CSV cells are strings. Of JSON lines
            each is parsed when it is asked for.
        raw: row formats: the bytes of each good record as they stand in the file, line end included (for JSON arrays
            without the separator); for lists the JSON line that would be written. None for JSON columns.
        table: columnar formats: the good records with their Arrow types.
        cells: JSON lines: the same values as in `records` by columns, not parsed; None for few lines.
        bad, bad_raw: records set aside, and their bytes (none for columnar formats).
        layout: what stands around the records; the same for all batches of a source.
        n_source_bytes: bytes of the source, as it lies on disk, that were consumed for this batch. Over all batches
            they add up to about `Source.n_bytes`: exactly for files that are not compressed.
    """

    first: int
    n_records: int
    numbers: Sequence[int]
    records: Sequence[dict[str, Any]] | None = None
    raw: Sequence[bytes] | None = None
    table: Any = None
    cells: Cells | None = None
    bad: tuple[BadRow, ...] = ()
    bad_raw: list[bytes] = field(default_factory=list)
    layout: Layout = field(default_factory=Layout)
    n_source_bytes: int = 0

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each good record as a dict of Python values, in the order of `numbers`."""
        if self.records is not None:
            yield from self.records
            return
        for start in range(0, len(self.numbers), 1024):
            yield from self.table.slice(start, 1024).to_pylist()

    def exact(self, index: int) -> dict[str, Any]:
        """Return good record `index` as a fresh dict with exact numbers, for a caller that changes and rewrites it.

        `records` comes from a fast parser that reads integers beyond 64 bits as floats; this does not.
        """
        if self.table is not None:
            row: dict[str, Any] = self.table.slice(index, 1).to_pylist()[0]
            return row
        if self.layout.kind == "json" and self.raw is not None:
            value = json.loads(self.raw[index])
            return {"text": value} if isinstance(value, str) else value
        return copy.deepcopy((self.records or [])[index])


@dataclass(frozen=True)
class Rows:
    """The good records of a batch of a row format, see `RecordBatch`."""

    numbers: Sequence[int]
    records: Sequence[dict[str, Any]]
    raw: Sequence[bytes]
    cells: Cells | None = None


@dataclass
class Gatherer:
    """Collects records of a row format until a batch is full.

    Attributes:
        position: bytes of the source that were consumed so far.
        n_ahead: decoded bytes that were read and are not yet in a batch.
    """

    source: Source
    bad_rows: Literal["error", "skip"]
    batch_bytes: int
    layout: Layout = field(default_factory=Layout)
    first: int = 0
    position: Callable[[], int] = lambda: 0
    n_ahead: int = 0

    def __post_init__(self) -> None:
        self._position = 0
        self._clear()

    def share(self, n_records: int) -> None:
        """Measure the position by the records so far, where a source of known length is in memory as a whole."""
        n_bytes = self.source.n_bytes
        self.position = lambda: n_bytes * self.next // n_records if n_records else n_bytes

    def _clear(self) -> None:
        self.next = self.first
        self.size = 0
        self.numbers: list[int] = []
        self.records: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self._rows: Rows | None = None
        self.bad: list[BadRow] = []
        self.bad_raw: list[bytes] = []

    def good(self, record: dict[str, Any], raw: bytes) -> None:
        """Add a good record."""
        self.numbers.append(self.next)
        self.records.append(record)
        self.raw.append(raw)
        self._count(len(raw))

    def good_rows(self, rows: Rows, n_records: int) -> None:
        """Add the good records among the next `n_records`, which make a batch; the broken ones were set aside."""
        self._rows = rows
        self.next += n_records

    def broken(self, line: int, reason: str, raw: bytes) -> None:
        """Set a broken record aside.

        Raises:
            BadRecordError: broken records are an error.
        """
        self.set_aside(line, self.next, reason, raw)
        self._count(len(raw))

    def set_aside(self, line: int, number: int, reason: str, raw: bytes) -> None:
        """Set broken record `number` aside without counting it.

        Raises:
            BadRecordError: broken records are an error.
        """
        if self.bad_rows == "error":
            raise BadRecordError(self.source.location, line, reason, SKIP_HINT)
        self.bad.append(BadRow(self.source.location, line, number, reason))
        self.bad_raw.append(raw)

    def _count(self, n_bytes: int) -> None:
        self.next += 1
        self.size += n_bytes + RECORD_OVERHEAD

    @property
    def is_empty(self) -> bool:
        """Whether nothing was collected."""
        return self.next == self.first

    @property
    def is_full(self) -> bool:
        """Whether a batch's worth was collected."""
        return self.size >= self.batch_bytes

    def take(self) -> RecordBatch:
        """Return what was collected, and start anew after it."""
        before, self._position = self._position, self.position()
        rows = self._rows or Rows(self.numbers, self.records, self.raw)
        batch = RecordBatch(
            self.first, self.next - self.first, rows.numbers, rows.records,
            None if self.layout.kind == "columns" else rows.raw, cells=rows.cells,
            bad=tuple(self.bad), bad_raw=self.bad_raw, layout=self.layout,
            n_source_bytes=self._position - before,
        )  # fmt: skip
        self.first = self.next
        self._clear()
        return batch
