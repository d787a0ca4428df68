"""Lines that kernels take apart hold what a JSON parser finds in them, line by line."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from formats_support import put
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import json_lines

from auditkit.errors import BadRecordError
from auditkit.formats import RecordBatch, lines, read_records
from auditkit.kernels.json_lines import (
    BLANK,
    CELL_KIND,
    ESCAPED,
    INTEGER,
    KIND,
    LINE_STATUS,
    MAX_NAMES,
    MISSING,
    NESTED,
    NULL,
    NUMBER,
    ODD,
    RECORD,
    TEXT,
    places_of,
    scan_lines,
    text_of,
)
from auditkit.records import Source

ALWAYS, NEVER = 0, 1 << 60


def batches(source: Source, many_bytes: int, **settings: Any) -> list[RecordBatch]:
    with mock.patch.object(lines, "MANY_BYTES", many_bytes):
        return list(read_records(source, **settings))


def plain(batch: RecordBatch) -> tuple[Any, ...]:
    """Return all that a batch says, as values that can be compared (NaN equals itself as text)."""
    records, raw = batch.records or [], batch.raw or []
    singly = [records[i] for i in range(len(records))]
    assert repr(singly) == repr(list(batch.rows()))
    assert [raw[i] for i in range(len(raw))] == list(raw) == raw[:]
    exact = repr([batch.exact(i) for i in range(len(raw))])
    counts = (batch.first, batch.n_records, list(batch.numbers), batch.n_source_bytes)
    return (*counts, repr(singly), list(raw), exact, batch.bad, batch.bad_raw, batch.layout)


@settings(max_examples=150, deadline=None)
@given(json_lines(), st.sampled_from([1, 200, 1 << 20]))
@example(b"", 1)
@example(b"\n\n", 1)
def test_kernels_and_parser_read_the_same(tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int) -> None:
    source = put(tmp_path_factory.mktemp("lines"), "a.jsonl", data)
    fast = batches(source, ALWAYS, bad_rows="skip", batch_bytes=size)
    slow = batches(source, NEVER, bad_rows="skip", batch_bytes=size)
    assert list(map(plain, fast)) == list(map(plain, slow))
    assert _error(source, ALWAYS) == _error(source, NEVER)


def _error(source: Source, many_bytes: int) -> str:
    try:
        batches(source, many_bytes)
    except BadRecordError as error:
        return str(error)
    return ""


def scanned(text: bytes, max_size: int = 1 << 20) -> tuple[list[int], list[int]]:
    """Return the status of each line and the kind of each cell."""
    found, cells, _ = scan_lines(np.frombuffer(text, np.uint8), max_size, 64)
    return found[:, LINE_STATUS].tolist(), cells[:, CELL_KIND].tolist()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("null", NULL), ("7", INTEGER), ("-7", INTEGER), ("0", INTEGER), ("-0", NUMBER), ("9" * 18, INTEGER),
        ("1" + "0" * 18, NUMBER), ("1.5", NUMBER), ("1e5", NUMBER), ('""', TEXT), ('"\u00e9"', TEXT),
        ('"\\n"', ESCAPED), ("{}", NESTED), ("[[1, {}], 2]", NESTED),
    ],
)  # fmt: skip
def test_values_have_kinds(value: str, kind: int) -> None:
    assert scanned(f'{{"a": {value}}}\n'.encode()) == ([RECORD], [kind])


def test_usual_lines_are_taken_and_unusual_ones_are_left() -> None:
    taken = [b'{"a": 1, "b": "x"}', b'{"b": "x", "a": 1}', b' {"a": "\\ud83d\\ude00"}\r', b"{}", '{"é": []}'.encode()]
    left = [b'{"a": 1, "a": 1}', b'{"a": NaN}', b'"x"', b"[]", b'{"\\u0061": 1}', b'{"a": 1e999}', b"{"]
    assert scanned(b"\n".join([*taken, b" ", b"\x0b", *left]))[0] == [RECORD] * 5 + [BLANK, BLANK] + [ODD] * len(left)


def test_more_keys_than_are_told_apart_are_left() -> None:
    record = {f"k{i}": i for i in range(MAX_NAMES)}
    text = "\n".join(map(json.dumps, [record, {"k0": 1, "k63": 2}, {"another": 1}, {"k1": 1}]))
    assert scanned(text.encode())[0] == [RECORD, RECORD, ODD, RECORD]


def test_a_block_ends_where_a_batch_is_full() -> None:
    text = b'{"a": 1}\n\n' * 100
    found, _, _ = scan_lines(np.frombuffer(text, np.uint8), 73 * 10, 64)
    assert found[:, LINE_STATUS].tolist() == [RECORD, BLANK] * 9 + [RECORD]


def test_columns_are_cut_out_of_the_block() -> None:
    block = np.frombuffer(b'{"a": "x\\u00e9\\n"}\n{"b": "no"}\n{"a": 12}\n{"a": ""}\n{"a": [1]}\n', np.uint8)
    rows, cells, names = scan_lines(block, 1 << 20, 64)
    assert [block[start:end].tobytes() for start, end in names] == [b"a", b"b"]
    places = places_of(rows, cells, 0)
    assert places[:, KIND].tolist() == [ESCAPED, MISSING, INTEGER, TEXT, NESTED]
    data, offsets = text_of(block, places)
    texts = [data[start:end].tobytes().decode() for start, end in pairwise(offsets)]
    assert texts == ["xé\n", "", "12", "", ""]


def test_a_large_file_goes_through_the_kernels(tmp_path: Path) -> None:
    data = b"".join(b'{"n": %d, "t": "%s"}\n' % (i, b"x" * 100) for i in range(20_000))
    fast, *more = read_records(put(tmp_path, "a.jsonl", data), batch_bytes=1 << 20)
    assert fast.cells is not None
    assert [row["n"] for batch in (fast, *more) for row in batch.rows()] == list(range(20_000))
