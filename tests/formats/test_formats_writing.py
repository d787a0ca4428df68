"""Kept records come back as they were: bytes of row formats, values and schemas of Arrow."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from formats_support import COMPRESSIONS, file_source, memory_source, pack, put, read_all, rewrite, unpack
from hypothesis import given, settings
from hypothesis import strategies as st

from auditkit.errors import OutputError
from auditkit.formats import open_writer, read_records
from auditkit.records import Source

# Characters that a UTF-8 file can hold; NUL is refused in texts by design.
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")
TEXTS = st.text(CHARACTERS, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=6)
SUFFIX = st.sampled_from(COMPRESSIONS)
TABLES = st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(TEXTS, min_size=n, max_size=n), max_size=6))


def check_round_trip(name: str, data: bytes, expected: list[dict[str, Any]], drop: int) -> None:
    """Read, rewrite whole and without one record, and compare with what was meant."""
    with tempfile.TemporaryDirectory() as folder:
        source = put(Path(folder), name, data)
        suffix = Path(name).suffix
        batches = list(read_records(source, batch_bytes=100))
        layout = batches[0].layout
        raw = [piece for batch in batches for piece in batch.raw or []]
        assert [batch.exact(i) for batch in batches for i in range(len(batch.numbers))] == expected
        assert layout.preamble + layout.separator.join(raw) + layout.tail == data
        same = rewrite(source, Path(folder) / f"same-{name}", batch_bytes=100)
        assert unpack(same.read_bytes(), suffix) == data
        fewer = file_source(rewrite(source, Path(folder) / f"fewer-{name}", frozenset({drop})))
        kept = [batch.exact(i) for batch in read_records(fewer) for i in range(len(batch.numbers))]
        assert kept == expected[:drop] + expected[drop + 1 :]


@settings(max_examples=60, deadline=None)
@given(
    RECORDS, SUFFIX, st.integers(0, 6), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"])
)
def test_json_lines_round_trip(
    records: list[dict[str, Any]], suffix: str, drop: int, is_ascii: bool, end: str, bom: str
) -> None:
    data = bom + "".join(json.dumps(record, ensure_ascii=is_ascii) + end for record in records)
    check_round_trip(f"a.jsonl{suffix}", data.encode(), records, drop)


@settings(max_examples=60, deadline=None)
@given(RECORDS, SUFFIX, st.integers(0, 6), st.sampled_from([None, 2]), st.sampled_from(["[]", '{"v": 1, "data": []}']))
def test_json_arrays_round_trip(
    records: list[dict[str, Any]], suffix: str, drop: int, indent: int | None, shape: str
) -> None:
    array = json.dumps(records, ensure_ascii=False, indent=indent)
    check_round_trip(f"a.json{suffix}", shape.replace("[]", array).encode(), records, drop)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(TEXTS.filter(lambda t: "\n" not in t and not t.endswith("\r"))), SUFFIX, st.integers(0, 6), st.booleans()
)
def test_text_round_trips(lines: list[str], suffix: str, drop: int, is_crlf: bool) -> None:
    if lines and lines[0].startswith("\ufeff"):
        lines[0] = "x"
    data = "".join(line + ("\r\n" if is_crlf else "\n") for line in lines)
    check_round_trip(f"a.txt{suffix}", data.encode(), [{"text": line} for line in lines], drop)


@settings(max_examples=60, deadline=None)
@given(
    TABLES, SUFFIX, st.integers(0, 6), st.sampled_from(["csv", "tsv"]), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_csv_and_tsv_round_trip(
    table: list[list[str]], suffix: str, drop: int, kind: str, end: str, is_quoted: bool
) -> None:
    names = [f"name {i}\n" for i in range(len(table[0]) if table else 1)]
    out = io.StringIO(newline="")
    # The csv module leaves a lone carriage return unquoted where lines end in LF, which no reader takes for a cell.
    has_return = any("\r" in cell for row in table for cell in row)
    quoting = csv.QUOTE_ALL if is_quoted or has_return else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter="," if kind == "csv" else "\t", lineterminator=end, quoting=quoting).writerows(
        [names, *table]
    )
    expected = [dict(zip(names, row, strict=True)) for row in table]
    check_round_trip(f"a.{kind}{suffix}", out.getvalue().encode(), expected, drop)


def test_the_last_line_may_lack_its_end(tmp_path: Path) -> None:
    source = put(tmp_path, "a.txt", b"one\ntwo\nthree")
    assert rewrite(source, tmp_path / "b.txt", frozenset({1})).read_bytes() == b"one\nthree"
    assert rewrite(source, tmp_path / "c.txt", frozenset({2})).read_bytes() == b"one\ntwo\n"
    assert rewrite(source, tmp_path / "d.txt", frozenset({0, 1, 2})).read_bytes() == b""


def test_all_rows_gone_leaves_a_valid_file(tmp_path: Path) -> None:
    everything = frozenset(range(5))
    for name, data, left in [
        ("a.csv", b'\xef\xbb\xbfa,"b"\r\n1,2\r\n', b'\xef\xbb\xbfa,"b"\r\n'),
        ("a.json", b'[\n  {"a": 1},\n  {"a": 2}\n]\n', b"[\n  \n]\n"),
    ]:
        out = rewrite(put(tmp_path, name, data), tmp_path / f"out-{name}", everything)
        assert out.read_bytes() == left
        assert read_all(file_source(out)) == []


def test_json_columns_keep_values_and_order(tmp_path: Path) -> None:
    columns = {"b": ["x", "é", None], "a": [1, 2**70, 0.1]}
    source = put(tmp_path, "a.json", json.dumps(columns).encode())
    out = rewrite(source, tmp_path / "b.json", frozenset({0}))
    assert json.loads(out.read_bytes()) == {"b": ["é", None], "a": [2**70, 0.1]}
    assert list(json.loads(out.read_bytes())) == ["b", "a"]


def test_json_lines_under_json_stay_json_lines(tmp_path: Path) -> None:
    source = put(tmp_path, "a.json", b'{"a": 1}\n{"a": 2}\n')
    assert rewrite(source, tmp_path / "b.json", frozenset({0})).read_bytes() == b'{"a": 2}\n'


CHANGED = [
    ("a.jsonl", b'{"t":"x","n":1e5}\r\n"bare"\n{"t" :"z"}', b'{"t": "\xc3\xa9", "n": 100000.0}\r\n"new"\n{"t" :"z"}'),
    ("a.json", b'[ {"t":"x","n":1e5},"bare",{"t" :"z"}]', b'[ {"t": "\xc3\xa9", "n": 100000.0},"new",{"t" :"z"}]'),
    ("a.txt", b"x\r\nbare\nz", b"\xc3\xa9\r\nnew\nz"),
    ("a.csv", b't,"n"\r\nx,1\r\nbare,2\n"z",3', b't,"n"\r\n\xc3\xa9,1\r\nnew,2\n"z",3'),
    ("a.tsv", b"t\tn\nx\t1\nbare\t2\nz\t3", b"t\tn\n\xc3\xa9\t1\nnew\t2\nz\t3"),
]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize(("name", "data", "expected"), CHANGED)
def test_only_changed_records_are_written_anew(
    tmp_path: Path, name: str, data: bytes, expected: bytes, suffix: str
) -> None:
    source = put(tmp_path, name + suffix, data)
    (batch,) = read_records(source)
    changed = {}
    for i, text in ((0, "é"), (1, "new")):
        record = batch.exact(i)
        changed[i] = record | {"t" if "t" in record else "text": text}
    with open_writer(source, tmp_path / "out") as writer:
        writer.write(batch, [True] * 3, changed)
    assert unpack((tmp_path / "out").read_bytes(), suffix) == expected


def test_a_line_end_in_a_text_row_is_refused(tmp_path: Path) -> None:
    source = put(tmp_path, "a.txt", b"x\n")
    (batch,) = read_records(source)
    with pytest.raises(OutputError, match="one line"), open_writer(source, tmp_path / "out.txt") as writer:
        writer.write(batch, [True], {0: {"text": "a\nb"}})
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def rich_table() -> pa.Table:
    """A table with many Arrow types, nulls, nesting and metadata."""
    fields = [
        pa.field("t", pa.large_string(), metadata={"about": "text"}),
        pa.field("d", pa.dictionary(pa.int32(), pa.string())),
        pa.field("chat", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        pa.field("when", pa.timestamp("ns", "UTC")),
        pa.field("m", pa.map_(pa.string(), pa.int64())),
        pa.field("b", pa.binary()),
        pa.field("f", pa.float32(), nullable=False),
        pa.field("dec", pa.decimal128(20, 3)),
    ]
    n = 6
    arrays = [
        pa.array(["a", None, "é", "", "x" * 1000, "b"], fields[0].type),
        pa.array(["x", "y", None, "x", "y", "x"]).dictionary_encode(),
        pa.array(
            [[{"role": "user", "content": "hi"}], None, [], [{"role": None, "content": "é"}]] + [[]] * 2, fields[2].type
        ),
        pa.array([1, 2, None, 4, 5, 1_700_000_000_123_456_789], fields[3].type),
        pa.array([[("k", 1)], None, [], [("a", None)], [], []], fields[4].type),
        pa.array([b"\xff", None, b"", b"\0", b"x", b"y"]),
        pa.array([float("nan"), 1, 2, 3, 4, 5], fields[6].type),
        pa.array([None] * n, fields[7].type),
    ]
    return pa.table(arrays, schema=pa.schema(fields, metadata={"k": "v", "huggingface": '{"info": 1}'}))


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip", "lz4", "brotli"])
def test_parquet_keeps_schema_values_and_codec(tmp_path: Path, codec: str, suffix: str) -> None:
    table = rich_table()
    pq.write_table(table, tmp_path / "plain", compression=codec, row_group_size=4)
    path = tmp_path / f"a.parquet{suffix}"
    path.write_bytes(pack((tmp_path / "plain").read_bytes(), suffix))
    out = rewrite(file_source(path), tmp_path / f"b.parquet{suffix}", frozenset({1, 5}))
    plain = io.BytesIO(unpack(out.read_bytes(), suffix))
    again = pq.read_table(plain)
    assert again.schema.equals(pq.read_schema(tmp_path / "plain"), check_metadata=True)
    expected = pq.read_table(tmp_path / "plain").take([0, 2, 3, 4])
    assert again.slice(1).equals(expected.slice(1))
    assert repr(again.to_pylist()) == repr(expected.to_pylist())
    codecs = [pq.ParquetFile(file).metadata.row_group(0).column(0).compression for file in (plain, tmp_path / "plain")]
    assert codecs[0] == codecs[1]


def test_parquet_with_int96_times_and_without_rows(tmp_path: Path) -> None:
    table = pa.table({"when": pa.array([1_000_000_000], pa.timestamp("ns")), "t": ["x"]})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    out = rewrite(file_source(tmp_path / "a.parquet"), tmp_path / "b.parquet")
    assert pq.ParquetFile(out).metadata.row_group(0).column(0).physical_type == "INT96"
    gone = rewrite(file_source(out), tmp_path / "c.parquet", frozenset({0}))
    assert (pq.read_table(gone).num_rows, pq.read_schema(gone)) == (0, pq.read_schema(out))
    assert pq.read_schema(rewrite(file_source(gone), tmp_path / "d.parquet")) == pq.read_schema(out)


def test_changed_rows_of_a_table_leave_the_rest(tmp_path: Path) -> None:
    table = rich_table()
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    source = file_source(tmp_path / "a.parquet")
    (batch,) = read_records(source)
    chat = [{"role": "user", "content": "masked"}]
    changed = {i: batch.exact(i) | {"t": "new", "d": "z", "chat": chat} for i in (0, 3)}
    with open_writer(source, tmp_path / "b.parquet") as writer:
        writer.write(batch, [True, False, True, True, False, True], changed)
    old, new = pq.read_table(tmp_path / "a.parquet"), pq.read_table(tmp_path / "b.parquet")
    assert new.schema.equals(old.schema, check_metadata=True)
    assert new["t"].to_pylist() == ["new", "é", "new", "b"]
    assert new["d"].to_pylist() == ["z", None, "z", "x"]
    assert new["chat"].to_pylist() == [chat, [], chat, []]
    for name in ("when", "m", "b", "f", "dec"):
        assert repr(new[name].to_pylist()) == repr(old[name].take([0, 2, 3, 5]).to_pylist())


def test_a_value_that_a_column_cannot_hold_is_an_output_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    source = file_source(tmp_path / "a.parquet")
    (batch,) = read_records(source)
    with pytest.raises(OutputError, match="column 'n'"), open_writer(source, tmp_path / "b.parquet") as writer:
        writer.write(batch, [True], {0: {"n": "text"}})
    assert not (tmp_path / "b.parquet").exists()


def test_a_saved_dataset_keeps_its_features(tmp_path: Path) -> None:
    import datasets

    features = datasets.Features(
        {"t": datasets.Value("large_string"), "label": datasets.ClassLabel(names=["ok", "bad"])}
    )
    data = datasets.Dataset.from_dict({"t": ["a", "b", "c", None], "label": [0, 1, None, 1]}, features=features)
    datasets.DatasetDict(train=data.select([3, 0, 1, 2])).save_to_disk(tmp_path / "ds", num_shards={"train": 2})
    source = Source("train", str(tmp_path / "ds"), "arrow", "", "train", "", 0)
    out = rewrite(source, tmp_path / "out" / "train", frozenset({1}))
    again = datasets.load_from_disk(str(out))
    assert again.features == features
    assert again.to_list() == [{"t": None, "label": 1}, {"t": "b", "label": 1}, {"t": "c", "label": None}]
    empty = rewrite(file_source(out), tmp_path / "none", frozenset(range(9)))
    assert (len(datasets.load_from_disk(str(empty))), read_all(file_source(empty))) == (0, [])


def test_memory_sources_become_parquet_and_json_lines(tmp_path: Path) -> None:
    import pandas as pd

    frame = pl.DataFrame(
        {"t": ["a", "é", None], "c": pl.Series(["x", "y", "x"], dtype=pl.Categorical), "l": [[1], [], None]}
    )
    out = rewrite(memory_source(frame, "frame"), tmp_path / "pool.parquet", frozenset({0}))
    assert pl.read_parquet(out).equals(frame[1:])
    indexed = pd.DataFrame({"t": ["a", "b"]}, index=pd.Index(["i", "j"], name="key"))
    out = rewrite(memory_source(indexed, "frame"), tmp_path / "pandas.parquet", frozenset({0}))
    pd.testing.assert_frame_equal(pd.read_parquet(out), indexed.iloc[1:])
    out = rewrite(memory_source(["é", {"t": "b\n"}, "c"], "list"), tmp_path / "pool.jsonl", frozenset({2}))
    assert out.read_bytes() == '"é"\n{"t": "b\\n"}\n'.encode()


class FullDisk(io.BytesIO):
    """A file on a disk without space."""

    def write(self, data: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def fileno(self) -> int:
        return 0


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.txt.zst", "a.csv", "a.json", "a.parquet"])
def test_no_space_left_is_one_line_and_leaves_nothing(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(pa.table({"t": ["x"]}), path)
    else:
        path.write_bytes(pack(b'["x"]' if name == "a.json" else b'"x"\n"y"\n', path.suffix))
    source = file_source(path)
    real = Path.open
    monkeypatch.setattr(
        Path,
        "open",
        lambda self, mode="r", *rest, **more: FullDisk() if mode == "wb" else real(self, mode, *rest, **more),
    )
    with pytest.raises(OutputError, match="No space left on device") as caught:
        rewrite(source, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert [left.name for left in tmp_path.iterdir()] == [name]


def test_an_error_in_the_block_leaves_nothing(tmp_path: Path) -> None:
    source = put(tmp_path, "a.jsonl.gz", b'{"a": 1}\n')
    with pytest.raises(KeyError), open_writer(source, tmp_path / "sub" / "b.jsonl.gz"):
        raise KeyError
    assert list((tmp_path / "sub").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    source = put(tmp_path, "a.jsonl", b'{"a": 1}\n')
    with pytest.raises(OutputError, match="cannot be written"):
        rewrite(source, tmp_path / "a.jsonl" / "b.jsonl")


def test_equal_rows_give_equal_compressed_bytes(tmp_path: Path) -> None:
    for suffix in (".gz", ".zst"):
        source = put(tmp_path, f"a.jsonl{suffix}", b'{"a": 1}\n')
        first, second = (rewrite(source, tmp_path / f"{i}.jsonl{suffix}") for i in "bc")
        assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress((tmp_path / "b.jsonl.gz").read_bytes()) == b'{"a": 1}\n'
