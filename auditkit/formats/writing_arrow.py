"""Writers of columnar formats: the same Arrow schema, the same values."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from auditkit.errors import OutputError
from auditkit.formats.batch import RecordBatch
from auditkit.formats.columnar import arrow_errors, open_parquet
from auditkit.formats.digest import source_path, source_place
from auditkit.formats.writing import FileWriter, RecordWriter
from auditkit.records import Source

#: Facts of a saved dataset's own description that a filtered one no longer has.
_STALE_INFO = ("splits", "dataset_size", "size_in_bytes", "download_size", "download_checksums")


def kept_table(batch: RecordBatch, keep: Sequence[bool], changed: Mapping[int, dict[str, Any]], path: Path) -> Any:
    """Return a batch's table with the kept rows, those in `changed` replaced; the schema stays.

    Only columns in which a record changed are touched.

    Raises:
        OutputError: a changed value does not fit its column's type.
    """
    table = batch.table
    rows = {i: record for i, record in sorted(changed.items()) if keep[i]}
    old = {i: batch.exact(i) for i in rows}
    for at, schema_field in enumerate(table.schema if rows else ()):
        name = schema_field.name
        new = {i: rows[i][name] for i in rows if rows[i][name] != old[i][name]}
        if new:
            try:
                column = _spliced(table.column(at), new)
            except (pa.ArrowException, TypeError, ValueError) as exc:
                raise OutputError(f"{path}: column {name!r} cannot hold a changed value ({exc})") from exc
            table = table.set_column(at, schema_field, column)
    return table if all(keep) else table.filter(pa.array(list(keep), pa.bool_()))


def _spliced(column: Any, new: Mapping[int, Any]) -> Any:
    """Return a column with the values at some places replaced, of the same type."""
    pieces: list[Any] = []
    at = 0
    for i, value in new.items():
        pieces += column.slice(at, i - at).chunks
        pieces.append(pa.array([value], type=column.type))
        at = i + 1
    pieces += column.slice(at).chunks
    return pa.chunked_array(pieces, type=column.type).unify_dictionaries().combine_chunks()


class ParquetWriter(FileWriter):
    """Parquet with the source's schema, metadata and codec."""

    def __init__(self, path: Path, source: Source) -> None:
        super().__init__(path, source.compression)
        self._source = source
        self._writer: Any = None

    def _write(self, batch: RecordBatch, keep: Sequence[bool], changed: Mapping[int, dict[str, Any]]) -> None:
        table = kept_table(batch, keep, changed, self.path)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._out, table.schema, **self._options())
        if table.num_rows:
            self._writer.write_table(table)

    def _options(self) -> dict[str, Any]:
        """Return the writer's options that give what the source has."""
        if self._source.format != "parquet":
            return {"compression": "zstd"}
        with open_parquet(source_place(self._source), self._source.location, self._source.compression) as file:
            meta = file.metadata
            if not meta.num_row_groups or not meta.num_columns:
                return {}
            columns = [meta.row_group(0).column(i) for i in range(meta.num_columns)]
        codec = columns[0].compression.lower()
        return {
            "compression": {"uncompressed": "none", "lz4_raw": "lz4"}.get(codec, codec),
            "use_deprecated_int96_timestamps": any(column.physical_type == "INT96" for column in columns),
        }

    def _finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        super()._finish()

    def _abandon(self) -> None:
        if self._writer is not None:
            # The footer of a file that is thrown away; closing keeps pyarrow from writing it later.
            with suppress(OSError, ValueError, pa.ArrowException):
                self._writer.close()
        super()._abandon()


class SavedDatasetWriter(RecordWriter):
    """A folder that `datasets.load_from_disk` reads: one Arrow stream, the description and features of the source."""

    _DATA = "data-00000-of-00001.arrow"

    def __init__(self, path: Path, source: Source) -> None:
        super().__init__(path)
        self._source = source
        self._stream: Any = None

    def _open(self) -> None:
        if self.path.exists():
            raise OutputError(f"{self.path}: exists already; choose another output folder")
        self._spare.mkdir()
        self._file = (self._spare / self._DATA).open("wb")

    def _write(self, batch: RecordBatch, keep: Sequence[bool], changed: Mapping[int, dict[str, Any]]) -> None:
        table = kept_table(batch, keep, changed, self.path)
        if self._stream is None:
            self._stream = pa.ipc.new_stream(self._file, table.schema)
        if table.num_rows:
            self._stream.write_table(table, max_chunksize=1000)

    def _finish(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        origin = source_path(self._source)
        with arrow_errors(self._source.location, "dataset"):
            state = json.loads((origin / "state.json").read_text("utf-8"))
            info = json.loads((origin / "dataset_info.json").read_text("utf-8"))
        data = (self._spare / self._DATA).open("rb")
        with data:
            fingerprint = hashlib.file_digest(data, "sha256").hexdigest()[:16]
        state |= {"_data_files": [{"filename": self._DATA}], "_fingerprint": fingerprint}
        info = {key: value for key, value in info.items() if key not in _STALE_INFO}
        for name, value in (("state.json", state), ("dataset_info.json", info)):
            (self._spare / name).write_text(json.dumps(value, indent=2, ensure_ascii=False), "utf-8")

    def _abandon(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            with suppress(OSError):
                file.close()
        super()._abandon()
