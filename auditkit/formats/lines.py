"""Formats of one record a line: JSON Lines and plain text."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import orjson

from auditkit.formats.batch import Gatherer, RecordBatch

BOM = b"\xef\xbb\xbf"
#: Blocks of so many bytes are worth the kernels; numba takes half a second to load.
MANY_BYTES = 1 << 17

Parse = Callable[[bytes], dict[str, Any] | None]


class BrokenRecordError(Exception):
    """Why one record cannot be read; never leaves this room."""


def utf8_fault(raw: bytes) -> str | None:
    """Return what is wrong with bytes that should be UTF-8 text, or None."""
    if b"\0" in raw:
        return f"a NUL byte at byte {raw.index(0) + 1} of the record; text has none"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        return f"invalid UTF-8 (byte 0x{raw[exc.start]:02x} at byte {exc.start + 1} of the record)"
    return None


def json_record(value: Any) -> dict[str, Any]:
    """Return a parsed JSON value as a record: an object, or a string as {"text": string}.

    Raises:
        BrokenRecordError: another kind of value, or a lone surrogate, which no text file or table can hold.
    """
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict):
        kind = {list: "an array", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
        raise BrokenRecordError(f"the record is {kind}, expected a JSON object or string")
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as exc:
        code = ord(exc.object[exc.start])
        raise BrokenRecordError(f"a lone surrogate (\\u{code:04x}); expected whole characters") from None
    return value


def parse_json_line(raw: bytes) -> dict[str, Any] | None:
    """Return the record of one JSON line, None for a blank line, which holds none.

    NaN, Infinity and integers of any length are read, as Python writes them.

    Raises:
        BrokenRecordError: the line is no JSON object or string in UTF-8.
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _parse_slowly(raw)
    return value if isinstance(value, dict) else json_record(value)


def _parse_slowly(raw: bytes) -> dict[str, Any] | None:
    """Read what orjson refuses: NaN, Infinity, deep nesting; or say what is wrong."""
    if not raw.strip():
        return None
    if fault := utf8_fault(raw):
        raise BrokenRecordError(fault)
    try:
        return json_record(json.loads(raw))
    except json.JSONDecodeError as exc:
        raise BrokenRecordError(f"not valid JSON ({exc.msg} at character {exc.pos + 1})") from None
    except RecursionError:
        raise BrokenRecordError("JSON nested too deeply") from None
    except ValueError as exc:
        raise BrokenRecordError(f"not valid JSON ({exc})") from None


def parse_text_line(raw: bytes) -> dict[str, Any] | None:
    """Return {"text": line} without the line's end; an empty line is a record with empty text.

    Raises:
        BrokenRecordError: invalid UTF-8 or a NUL byte.
    """
    if fault := utf8_fault(raw):
        raise BrokenRecordError(fault)
    line = raw.removesuffix(b"\n")
    if len(line) < len(raw):
        line = line.removesuffix(b"\r")
    return {"text": line.decode("utf-8")}


def read_text_lines(stream: io.BufferedReader, gather: Gatherer) -> Iterator[RecordBatch]:
    """Yield the records of a stream of text lines (ended by LF or CRLF) in batches, at least one."""
    _skip_bom(stream, gather, "text")
    n_taken = 0
    for number, raw in enumerate(stream, 1):
        _gather_line(parse_text_line, number, raw, gather)
        if gather.is_full:
            yield gather.take()
            n_taken += 1
    if not gather.is_empty or not n_taken:
        yield gather.take()


def read_json_lines(stream: io.BufferedReader, gather: Gatherer) -> Iterator[RecordBatch]:
    """Yield the records of a stream of JSON lines (ended by LF or CRLF) in batches, at least one.

    Blank lines hold no record and are not written back.
    """
    _skip_bom(stream, gather, "json")
    block, n_lines, n_taken = b"", 0, 0
    while block := _whole_lines(stream, block, gather.batch_bytes):
        n_bytes, n_new = _gather_block(block, n_lines, gather)
        block, n_lines = block[n_bytes:], n_lines + n_new
        gather.n_ahead = len(block)
        if not gather.is_empty:
            yield gather.take()
            n_taken += 1
    if not n_taken:
        yield gather.take()


def _skip_bom(stream: io.BufferedReader, gather: Gatherer, kind: str) -> None:
    """Set the layout of lines, with the byte order mark where the stream begins with one."""
    has_bom = stream.peek(3).startswith(BOM)
    gather.layout = replace(gather.layout, kind=kind, preamble=stream.read(3) if has_bom else b"")


def _whole_lines(stream: io.BufferedReader, block: bytes, n_bytes: int) -> bytes:
    """Return `block` and what follows it in the stream, up to the first line end behind `n_bytes`."""
    parts = [block, stream.read(max(0, n_bytes - len(block)))]
    if not (parts[1] or block).endswith(b"\n"):
        parts.append(stream.readline())
    return b"".join(parts)


def _gather_block(block: bytes, n_lines: int, gather: Gatherer) -> tuple[int, int]:
    """Gather records from the start of a block, until a batch is full; see `json_lines.gather_block`."""
    if len(block) >= MANY_BYTES:
        from auditkit.formats import json_lines

        return json_lines.gather_block(block, n_lines, gather)
    n_bytes = n_new = 0
    for raw in io.BytesIO(block):  # not splitlines, which ends a line at a lone CR too
        n_bytes, n_new = n_bytes + len(raw), n_new + 1
        _gather_line(parse_json_line, n_lines + n_new, raw, gather)
        if gather.is_full:
            break
    return n_bytes, n_new


def _gather_line(parse: Parse, number: int, raw: bytes, gather: Gatherer) -> None:
    """Gather the record of one line, if it holds one."""
    try:
        record = parse(raw)
    except BrokenRecordError as exc:
        gather.broken(number, str(exc), raw)
    else:
        if record is not None:
            gather.good(record, raw)
