"""read_records: the records of any source, batch after batch, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Literal

from auditkit.errors import BadRecordError, InputError
from auditkit.formats import columnar
from auditkit.formats.batch import Gatherer, Layout, RecordBatch
from auditkit.formats.delimited import read_delimited
from auditkit.formats.digest import source_path, source_place
from auditkit.formats.lines import BrokenRecordError, json_record, read_json_lines, read_text_lines
from auditkit.formats.remote import check_unchanged, is_remote
from auditkit.formats.streams import open_input, position, reading, refuse_binary
from auditkit.formats.whole_json import read_json
from auditkit.records import Source

_ROW_FORMATS: dict[str, tuple[str, Callable[[Any, Gatherer], Iterator[RecordBatch]]]] = {
    "jsonl": ("JSON Lines", read_json_lines),
    "text": ("text", read_text_lines),
    "csv": ("CSV", lambda stream, gather: read_delimited(stream, gather, "csv")),
    "tsv": ("TSV", lambda stream, gather: read_delimited(stream, gather, "tsv")),
    "json": ("JSON", read_json),
}


def pieces(source: Source) -> tuple[range | None, ...]:
    """Return the pieces of a source that can be read by themselves, in order: row groups of a Parquet file.

    None is the whole source: every other format has one piece.

    Raises:
        BadRecordError: (line None) the file is truncated or no Parquet.
        InputError: it is missing or cannot be read.
    """
    if source.format != "parquet":
        return (None,)
    with reading(source.location, source.compression):
        return columnar.parquet_pieces(source_place(source), source)


def read_records(
    source: Source,
    bad_rows: Literal["error", "skip"] = "error",
    batch_bytes: int = 16 << 20,
    row_groups: range | None = None,
) -> Iterator[RecordBatch]:
    """Yield the records of a source in batches of about `batch_bytes`, at least one batch, record order kept.

    Memory is bounded by the batch (and one record), except for .json files, which are read whole. A file in a store
    that is another one at the end than when it was digested is an error.

    Args:
        source: what to read.
        bad_rows: "error" stops at the first broken record, "skip" sets it aside in `RecordBatch.bad`.
        batch_bytes: size of a batch, in bytes of the file (of memory, for columnar formats).
        row_groups: one of the source's `pieces`: only its records are read, numbered as in the source.

    Raises:
        BadRecordError: a broken record (line known), or a file that is truncated, corrupt, empty or of another format
            (line None), which is never skipped.
        InputError: the file is missing, cannot be read or changes meanwhile, or data in memory has an unknown type.
    """
    if source.data is not None or not is_remote(source.location):
        yield from _batches(source, bad_rows, batch_bytes, row_groups)
        return
    try:
        yield from _batches(source, bad_rows, batch_bytes, row_groups)
    except BadRecordError:
        # A file that is replaced in mid-reading looks broken; that it was replaced is what matters.
        check_unchanged(source.location, source.digest)
        raise
    check_unchanged(source.location, source.digest)


def _batches(
    source: Source, bad_rows: Literal["error", "skip"], batch_bytes: int, row_groups: range | None
) -> Iterator[RecordBatch]:
    if source.format == "list":
        yield from _read_list(source, Gatherer(source, bad_rows, batch_bytes, Layout("json")))
    elif source.format in _ROW_FORMATS:
        yield from _read_rows(source, Gatherer(source, bad_rows, batch_bytes))
    elif source.format in ("parquet", "arrow", "frame"):
        with reading(source.location, source.compression):
            yield from columnar.read_tables(_tables(source, batch_bytes, row_groups), source, bad_rows)
    else:
        raise InputError(f"{source.location}: unknown format {source.format!r}")


def _read_rows(source: Source, gather: Gatherer) -> Iterator[RecordBatch]:
    what, read = _ROW_FORMATS[source.format]
    with reading(source.location, source.compression), open_input(source_place(source), source.compression) as stream:
        refuse_binary(stream, source.location, what)
        gather.position = lambda: position(stream) - (0 if source.compression else gather.n_ahead)
        yield from read(stream, gather)


def _tables(source: Source, batch_bytes: int, row_groups: range | None) -> Iterator[columnar.Placed]:
    """Yield the Arrow tables of a columnar source, each with its place."""
    if source.format == "frame":
        return columnar.frame_tables(source, batch_bytes)
    if source.format == "parquet":
        return columnar.parquet_tables(source_place(source), source, batch_bytes, row_groups)
    return columnar.saved_dataset_tables(source_path(source), source, batch_bytes)


def _read_list(source: Source, gather: Gatherer) -> Iterator[RecordBatch]:
    """Yield the records of a list of strings and dicts; raw is the JSON line that would be written."""
    gather.share(len(source.data))
    n_taken = 0
    for number, item in enumerate(source.data, 1):
        try:
            if not isinstance(item, str | dict):
                raise BrokenRecordError(f"a {type(item).__name__}, expected a string or a dict")
            record = json_record(item)
            raw = json.dumps(item, ensure_ascii=False).encode() + b"\n"
        except (BrokenRecordError, TypeError, ValueError, RecursionError) as exc:
            gather.broken(number, str(exc), b"")
        else:
            gather.good(record, raw)
        if gather.is_full:
            yield gather.take()
            n_taken += 1
    if gather.size or not n_taken:
        yield gather.take()
