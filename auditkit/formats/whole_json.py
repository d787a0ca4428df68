"""JSON files, the one format that is read whole: an array, an array inside an object, columns, or JSON Lines."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from auditkit.errors import BadRecordError
from auditkit.formats.batch import Gatherer, Layout, RecordBatch
from auditkit.formats.lines import BOM, BrokenRecordError, json_record, read_json_lines

LIST_KEYS = ("data", "rows", "examples")
EXPECTED = f"expected an array of objects or strings, an object with one under {', '.join(LIST_KEYS)}, or equal columns"
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


@dataclass
class _Array:
    """An array in a text: where its elements lie."""

    start: int
    end: int = 0
    elements: list[tuple[Any, int, int]] = field(default_factory=list)  # value, start, end


def read_json(stream: io.BufferedReader, gather: Gatherer) -> Iterator[RecordBatch]:
    """Yield the records of a JSON file in batches, at least one.

    JSON Lines under this suffix, as many data sets have them, are read as such.

    Raises:
        BadRecordError: an element that is no object or string may be set aside; a file that is no JSON, or of another
            shape, may not.
    """
    data = stream.read()
    if _is_json_lines(data):
        lines: io.BufferedReader = io.BufferedReader(io.BytesIO(data))
        n_bytes = gather.source.n_bytes
        gather.position = lambda: n_bytes * (lines.tell() - gather.n_ahead) // len(data)
        yield from read_json_lines(lines, gather)
        return
    text = _decode(data, gather.source.location)
    bom = BOM if data.startswith(BOM) else b""
    try:
        found = _find(text)
    except json.JSONDecodeError as exc:
        reason = f"not valid JSON ({exc.msg} at column {exc.colno})"
        raise BadRecordError(gather.source.location, exc.lineno, reason) from None
    except (RecursionError, ValueError) as exc:
        raise BadRecordError(gather.source.location, None, f"JSON that cannot be read ({exc})") from None
    except BrokenRecordError as exc:
        raise BadRecordError(gather.source.location, None, str(exc)) from None
    # The file was read as a whole; what is still to be done is measured by its records.
    gather.share(len(found.elements) if isinstance(found, _Array) else len(next(iter(found.values()))))
    if isinstance(found, _Array):
        yield from _array_batches(text, found, gather, bom)
    else:
        yield from _column_batches(found, gather, bom)


def _is_json_lines(data: bytes) -> bool:
    """Return whether the first two lines that are not blank are whole JSON objects."""
    heads = [line for line in data[: 1 << 20].removeprefix(BOM).splitlines()[:16] if line.strip()][:2]
    if len(heads) < 2 or not heads[1].lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(heads[0]), dict)
    except (ValueError, RecursionError):
        return False


def _decode(data: bytes, location: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise BadRecordError(
            location, line, f"invalid UTF-8 (byte 0x{data[exc.start]:02x})", "Save it as UTF-8"
        ) from None
    if not text.strip():
        raise BadRecordError(location, None, f"the file is empty; {EXPECTED}")
    return text


def _find(text: str) -> _Array | dict[str, list[Any]]:
    """Return the array of records in a JSON text, or its columns.

    Raises:
        BrokenRecordError: the text has another shape.
    """
    start = _skip(text, 0)
    if text[start] == "[":
        found = _array(text, start)
        _expect_end(text, found.end)
        return found
    if text[start] != "{":
        raise BrokenRecordError(EXPECTED)
    value, end = _DECODER.raw_decode(text, start)
    _expect_end(text, end)
    lists = [name for name, column in value.items() if isinstance(column, list)]
    wrapped = [name for name in lists if name in LIST_KEYS]
    if len(lists) == len(value) > 1 and len({len(column) for column in value.values()}) == 1:
        return dict(value)
    if len(wrapped) == 1:
        return _array(text, _position(text, start, wrapped[0]))
    if len(lists) == len(value) == 1:
        return dict(value)
    raise BrokenRecordError(f"an object with the keys {', '.join(map(repr, list(value)[:8])) or '(none)'}; {EXPECTED}")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _expect_end(text: str, end: int) -> None:
    if _skip(text, end) != len(text):
        raise json.JSONDecodeError("Extra data", text, _skip(text, end))


def _array(text: str, start: int) -> _Array:
    """Return where the elements of the array that opens at `start` lie."""
    found = _Array(start)
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        value, end = _DECODER.raw_decode(text, at)
        found.elements.append((value, at, end))
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
            if text[at : at + 1] == "]":
                raise json.JSONDecodeError("Trailing comma", text, at)
        elif text[at : at + 1] != "]":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    found.end = at + 1
    return found


def _position(text: str, at: int, name: str) -> int:
    """Return where the (last) value of `name` starts in the valid object that opens at `at`."""
    at, position = _skip(text, at + 1), 0
    while text[at] != "}":
        key, at = scanstring(text, at + 1, True)
        at = _skip(text, _skip(text, at) + 1)
        if key == name:
            position = at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)
    return position


def _array_batches(text: str, found: _Array, gather: Gatherer, bom: bytes) -> Iterator[RecordBatch]:
    """Yield the elements of an array; raw is each element's own text."""
    spans = found.elements
    first = spans[0][1] if spans else found.start + 1
    last = spans[-1][2] if spans else first
    separator = text[spans[0][2] : spans[1][1]] if len(spans) > 1 else ",\n"
    gather.layout = Layout("json", bom + text[:first].encode(), separator.encode(), text[last:].encode())
    n_taken, line, counted = 0, 1, 0
    for value, start, end in spans:
        line, counted = line + text.count("\n", counted, start), start
        raw = text[start:end].encode()
        try:
            gather.good(json_record(value), raw)
        except BrokenRecordError as exc:
            gather.broken(line, str(exc), raw)
        if gather.is_full:
            yield gather.take()
            n_taken += 1
    if gather.size or not n_taken:
        yield gather.take()


def _column_batches(columns: dict[str, list[Any]], gather: Gatherer, bom: bytes) -> Iterator[RecordBatch]:
    """Yield the records of an object of columns, without raw bytes; a record's line is its number from 1."""
    gather.layout = Layout("columns", bom, columns=tuple(columns))
    n_taken = 0
    for number, values in enumerate(zip(*columns.values(), strict=True), 1):
        try:
            gather.good(json_record(dict(zip(columns, values, strict=True))), b"")
        except BrokenRecordError as exc:
            gather.broken(number, str(exc), b"")
        if gather.is_full:
            yield gather.take()
            n_taken += 1
    if gather.size or not n_taken:
        yield gather.take()
