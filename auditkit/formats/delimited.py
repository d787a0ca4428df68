"""CSV and TSV: a header, then records whose cells may hold line ends, with the exact bytes of each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace

from auditkit.errors import BadRecordError
from auditkit.formats.batch import Gatherer, RecordBatch
from auditkit.formats.lines import BOM, utf8_fault

DELIMITERS = {"csv": ",", "tsv": "\t"}
#: A cell longer than this (a gibibyte) is taken for an unclosed quote.
CELL_LIMIT = 1 << 30


class _Lines:
    """Physical lines as text for csv.reader, which asks for exactly as many as one record needs."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self.n_lines = 0
        self.raw: list[bytes] = []

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            self.n_lines += 1
            self.raw.append(line)
            # Bytes that are no UTF-8 pass as surrogates, so that the record's extent is still found.
            yield line.decode("utf-8", "surrogateescape")


def read_delimited(stream: io.BufferedReader, gather: Gatherer, kind: str) -> Iterator[RecordBatch]:
    """Yield the records of a CSV ("csv") or TSV ("tsv") stream in batches, at least one. Every cell is a string.

    Quotes are RFC 4180's. Blank lines hold no record and are not written back.

    Raises:
        BadRecordError: a record with another number of cells than the header, and bytes that are no UTF-8, may be set
            aside; no header, a doubled column name, and quotes that leave the extent of records open may not.
    """
    csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))
    bom = stream.read(3) if stream.peek(3).startswith(BOM) else b""
    lines = _Lines(stream)
    records = _records(lines, gather.source.location, DELIMITERS[kind])
    columns, header = _header(records, gather.source.location, kind)
    gather.layout = replace(gather.layout, kind=kind, preamble=bom + header, columns=columns)
    n_taken = 0
    for line, cells, raw in records:
        _add(gather, columns, line, cells, raw)
        if gather.is_full:
            yield gather.take()
            n_taken += 1
    if gather.size or not n_taken:
        yield gather.take()


def _records(lines: _Lines, location: str, delimiter: str) -> Iterator[tuple[int, list[str] | str, bytes]]:
    """Yield (first line, cells or what is wrong, bytes) of every record."""
    parser = csv.reader(iter(lines), delimiter=delimiter, strict=True)
    while True:
        first, lines.raw = lines.n_lines + 1, []
        result: list[str] | str
        try:
            result = next(parser)
        except StopIteration:
            return
        except csv.Error as exc:
            if len(lines.raw) > 1 or "unexpected end" in str(exc) or "field limit" in str(exc):
                reason = (
                    f"a quote that is opened here is not closed properly ({exc}), so the records after it are unclear"
                )
                raise BadRecordError(location, first, reason, "Close the quote or double it") from None
            result = f"not valid CSV ({exc})"
        if result:
            yield first, result, b"".join(lines.raw)


#: What a file of that suffix is divided by, and what it may be divided by instead: read as one column, its texts would
#: stand among ids and labels, and nobody would be told.
SEPARATORS = {"csv": ",", "tsv": "\t"}
OTHER_SEPARATORS = {"csv": (";", "\t", "|"), "tsv": (";", ",", "|")}


def _header(
    records: Iterator[tuple[int, list[str] | str, bytes]], location: str, kind: str
) -> tuple[tuple[str, ...], bytes]:
    """Return the column names and the bytes of the header."""
    line, cells, raw = next(records, (1, "the file is empty", b""))
    fault = cells if isinstance(cells, str) else utf8_fault(raw)
    if fault:
        raise BadRecordError(location, line, f"{fault}; expected a header of column names ({kind.upper()})")
    other = next((mark for mark in OTHER_SEPARATORS[kind] if len(cells) == 1 and mark in cells[0]), "")
    if other:
        raise BadRecordError(
            location, line, f"the header is one column, {cells[0][:60]!r}, and looks separated by {other!r}; expected "
            f"{SEPARATORS[kind]!r}, as .{kind} has; save it so, or rename the column"
        )  # fmt: skip
    doubled = sorted({name for name in cells if cells.count(name) > 1})
    if doubled:
        raise BadRecordError(location, line, f"the column name {doubled[0]!r} stands twice in the header; rename one")
    return tuple(cells), raw


def _add(gather: Gatherer, columns: tuple[str, ...], line: int, cells: list[str] | str, raw: bytes) -> None:
    """Add one record to the batch, good or broken."""
    if isinstance(cells, str):
        gather.broken(line, cells, raw)
    elif fault := utf8_fault(raw):
        gather.broken(line, fault, raw)
    elif len(cells) != len(columns):
        gather.broken(line, f"{len(cells)} cells, expected {len(columns)} as in the header", raw)
    else:
        gather.good(dict(zip(columns, cells, strict=True)), raw)
