"""Digests of inputs and outputs: sha256 over the bytes of files, or over the Arrow bytes of frames."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from auditkit.errors import InputError
from auditkit.formats.columnar import frame_table, saved_dataset_files
from auditkit.formats.naming import is_saved_dataset_dict
from auditkit.formats.remote import is_remote, stat
from auditkit.formats.streams import reading
from auditkit.records import Source

_ROWS = 1 << 14


class _Sink(io.RawIOBase):
    """Hashes what is written to it."""

    def __init__(self) -> None:
        self.hash, self.n_bytes = hashlib.sha256(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self.hash.update(view)
        self.n_bytes += view.nbytes
        return view.nbytes


def digest_file(path: Path | str) -> tuple[str, int]:
    """Return ("sha256:<hex>", bytes) of a file as it lies there, or of all Arrow files of one saved Dataset in order.

    A file in a store is not read: its digest is the store's, "etag:..." or "version:...".

    Raises:
        InputError: the file is missing or cannot be read.
    """
    if is_remote(path):
        there = stat(str(path))
        return there.digest, there.n_bytes
    path = Path(path)
    files = saved_dataset_files(path, str(path)) if path.is_dir() else [path]
    sink = _Sink()
    for file in files:
        with reading(str(file)), file.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                sink.write(chunk)
    return f"sha256:{sink.hash.hexdigest()}", sink.n_bytes


def digest_data(data: Any, location: str = "memory") -> tuple[str, int]:
    """Return ("sha256:<hex>", bytes) of a frame's Arrow stream, or of a list's JSON lines.

    The same values in the same chunks of memory or in others give the same digest.
    """
    sink = _Sink()
    if isinstance(data, list):
        for item in data:
            sink.write(json.dumps(item, default=repr).encode() + b"\n")
        return f"sha256:{sink.hash.hexdigest()}", sink.n_bytes
    table = frame_table(data, location)
    with pa.PythonFile(sink, "w") as file, pa.ipc.new_stream(file, table.schema) as writer:
        for start in range(0, table.num_rows, _ROWS):
            writer.write_table(table.slice(start, _ROWS).combine_chunks())
    return f"sha256:{sink.hash.hexdigest()}", sink.n_bytes


def source_path(source: Source) -> Path:
    """Return where a file source lies; for a split of a saved DatasetDict its own folder.

    The split is the last part of `source.relative`.

    Raises:
        InputError: the source is not a file or folder.
    """
    if source.data is not None:
        raise InputError(f"{source.location}: a source in memory has no path")
    path = Path(source.location)
    if source.format == "arrow" and is_saved_dataset_dict(path):
        return path / Path(source.relative).name
    return path


def source_place(source: Source) -> Path | str:
    """Return where a file source lies: its address in a store, else as `source_path`."""
    return source.location if source.data is None and is_remote(source.location) else source_path(source)


def digest_source(source: Source) -> tuple[str, int]:
    """Return ("sha256:<hex>", bytes) of a source as it is now."""
    if source.data is not None:
        return digest_data(source.data, source.location)
    return digest_file(source_place(source))
