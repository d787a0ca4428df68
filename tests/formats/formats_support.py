"""Helpers of the tests of files: write bytes in any compression, read a path as a source."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zstandard

from auditkit.formats import RecordBatch, bare_name, detect_format, digest_file, open_writer, read_records
from auditkit.records import Source

COMPRESSIONS = ("", ".gz", ".zst")


def pack(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)
    return zstandard.ZstdCompressor().compress(data) if suffix == ".zst" else data


def unpack(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.decompress(data)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if suffix == ".zst" else data


def file_source(path: Path) -> Source:
    kind, compression = detect_format(path)
    digest, n_bytes = digest_file(path)
    return Source(bare_name(path.name), str(path), kind, compression, path.name, digest, n_bytes)


def put(folder: Path, name: str, data: bytes) -> Source:
    path = folder / name
    path.write_bytes(pack(data, path.suffix))
    return file_source(path)


def memory_source(data: Any, kind: str) -> Source:
    return Source("pool", "memory", kind, "", "", "", 0, data)


def rows_of(batches: Sequence[RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.rows()]


def read_all(source: Source, **settings: Any) -> list[dict[str, Any]]:
    return rows_of(list(read_records(source, **settings)))


def rewrite(source: Source, path: Path, drop: frozenset[int] = frozenset(), batch_bytes: int = 16 << 20) -> Path:
    """Write a source to `path` without the records whose numbers are in `drop`."""
    with open_writer(source, path) as writer:
        for batch in read_records(source, batch_bytes=batch_bytes):
            writer.write_raw(batch, [number not in drop for number in batch.numbers])
    return path
