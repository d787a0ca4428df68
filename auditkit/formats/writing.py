"""open_writer: kept records written back as they were, in the source's own format and compression."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from auditkit.errors import InputError, OutputError
from auditkit.formats.batch import Layout, RecordBatch
from auditkit.formats.delimited import DELIMITERS
from auditkit.formats.streams import open_output, writing
from auditkit.records import Source


class RecordWriter(ABC):
    """Writes a source's records to a path: beside it first, moved there when the `with` block ends well.

    An error inside the block removes what was written. Every batch of the source must be given once, in order.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._spare = path.with_name(f".{path.name}.auditkit-part")

    def __enter__(self) -> RecordWriter:
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with writing(self.path):
                if kind is None:
                    self._finish()
                    self._spare.replace(self.path)
        finally:
            self._abandon()

    def write_raw(self, batch: RecordBatch, keep: Sequence[bool]) -> None:
        """Write the records of a batch that are kept, unchanged: the same bytes, or the same Arrow values.

        Args:
            batch: a batch of the source.
            keep: one fact for each good record (each of `batch.numbers`).
        """
        self.write(batch, keep, {})

    def write(self, batch: RecordBatch, keep: Sequence[bool], changed: Mapping[int, dict[str, Any]]) -> None:
        """Write the records that are kept; those in `changed` (index in the batch -> record) are written anew.

        Raises:
            OutputError: no space left, no permission, or a changed record that the format cannot hold.
        """
        if len(keep) != len(batch.numbers):
            raise ValueError(f"keep has {len(keep)} entries for {len(batch.numbers)} records")
        with writing(self.path):
            self._write(batch, keep, changed)

    @abstractmethod
    def _open(self) -> None:
        """Open the spare file."""

    @abstractmethod
    def _write(self, batch: RecordBatch, keep: Sequence[bool], changed: Mapping[int, dict[str, Any]]) -> None:
        """Write one batch."""

    @abstractmethod
    def _finish(self) -> None:
        """Write what is left and flush it to the disk."""

    def _abandon(self) -> None:
        """Close and remove what is left of the spare file or folder."""
        if self._spare.is_dir():
            shutil.rmtree(self._spare, ignore_errors=True)
        else:
            self._spare.unlink(missing_ok=True)


class FileWriter(RecordWriter):
    """A writer of one, possibly compressed, file."""

    def __init__(self, path: Path, compression: str) -> None:
        super().__init__(path)
        self._compression = compression

    def _open(self) -> None:
        self._file: IO[bytes] = self._spare.open("wb")
        self._out = open_output(self._file, self._compression)

    def _finish(self) -> None:
        self._out.close() if self._out is not self._file else self._out.flush()
        self._file.flush()
        os.fsync(self._file.fileno())

    def _abandon(self) -> None:
        # Closing flushes; where that was the error, it must not hide the first one.
        for stream in (getattr(self, "_out", None), getattr(self, "_file", None)):
            with suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
        super()._abandon()


class RowWriter(FileWriter):
    """Row formats: preamble, records joined by the separator, tail."""

    _layout: Layout | None = None
    _n_written = 0

    def _write(self, batch: RecordBatch, keep: Sequence[bool], changed: Mapping[int, dict[str, Any]]) -> None:
        if self._layout is None:
            self._layout = batch.layout
            self._out.write(self._layout.preamble)
        raw = batch.raw or []
        pieces = [
            encode_record(changed[i], raw[i], self._layout, self.path) if i in changed else raw[i]
            for i, is_kept in enumerate(keep)
            if is_kept
        ]
        if pieces:
            separator = self._layout.separator
            self._out.write((separator if self._n_written else b"") + separator.join(pieces))
            self._n_written += len(pieces)

    def _finish(self) -> None:
        if self._layout is not None:
            self._out.write(self._layout.tail)
        super()._finish()


class ColumnsWriter(FileWriter):
    """A JSON object of equal-length columns, written at the end."""

    _layout = Layout("columns")

    def _open(self) -> None:
        super()._open()
        self._kept: list[dict[str, Any]] = []

    def _write(self, batch: RecordBatch, keep: Sequence[bool], changed: Mapping[int, dict[str, Any]]) -> None:
        self._layout = batch.layout
        rows = enumerate(batch.records or [])
        self._kept += [changed.get(i, row) for i, row in rows if keep[i]]

    def _finish(self) -> None:
        columns = {name: [row[name] for row in self._kept] for name in self._layout.columns}
        self._out.write(self._layout.preamble + json.dumps(columns, ensure_ascii=False).encode() + b"\n")
        super()._finish()


class JsonWriter(RecordWriter):
    """A .json file, whose shape is known when the first batch comes."""

    def __init__(self, path: Path, compression: str) -> None:
        super().__init__(path)
        self._compression = compression
        self._inner: FileWriter | None = None

    def _open(self) -> None:
        """Nothing is opened before the shape is known."""

    def _write(self, batch: RecordBatch, keep: Sequence[bool], changed: Mapping[int, dict[str, Any]]) -> None:
        if self._inner is None:
            kind = ColumnsWriter if batch.layout.kind == "columns" else RowWriter
            self._inner = kind(self.path, self._compression)
            self._inner._open()
        self._inner._write(batch, keep, changed)

    def _finish(self) -> None:
        if self._inner is None:
            raise ValueError("no batch was written")
        self._inner._finish()

    def _abandon(self) -> None:
        if self._inner is not None:
            self._inner._abandon()


def encode_record(record: Mapping[str, Any], old: bytes, layout: Layout, path: Path) -> bytes:
    """Return the bytes of a changed record, with the line end of the bytes it replaces.

    Raises:
        OutputError: the text of a line format would hold a line end.
    """
    end = b"\r\n" if old.endswith(b"\r\n") else b"\n" if old.endswith(b"\n") else b""
    if layout.kind == "text":
        if "\n" in record["text"]:
            raise OutputError(
                f"{path}: a changed row holds a line end, which a text file cannot; use a mask token of one line"
            )
        return record["text"].encode() + end  # type: ignore[no-any-return]
    if layout.kind in DELIMITERS:
        cells = io.StringIO()
        writer = csv.writer(cells, delimiter=DELIMITERS[layout.kind], lineterminator="\r\n")
        writer.writerow([record[name] for name in layout.columns])
        return cells.getvalue().removesuffix("\r\n").encode() + end
    is_string = old.lstrip()[:1] == b'"'
    return json.dumps(record["text"] if is_string else record, ensure_ascii=False).encode() + end


def open_writer(source: Source, path: Path | str) -> RecordWriter:
    """Return a writer of a source's records in its own format and compression; use it in a `with` block.

    Frames are written as Parquet and lists as JSON lines, both plain, whatever `path` is called.

    Raises:
        InputError: the source's format is unknown.
    """
    from auditkit.formats.writing_arrow import ParquetWriter, SavedDatasetWriter

    path = Path(path)
    if source.format in ("jsonl", "text", "csv", "tsv", "list"):
        return RowWriter(path, source.compression)
    if source.format == "json":
        return JsonWriter(path, source.compression)
    if source.format in ("parquet", "frame"):
        return ParquetWriter(path, source)
    if source.format == "arrow":
        return SavedDatasetWriter(path, source)
    raise InputError(f"{source.location}: unknown format {source.format!r}")
