"""What each format reads, and that wrong files end in one line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from formats_support import COMPRESSIONS, file_source, memory_source, pack, put, read_all

from auditkit.errors import BadRecordError, InputError
from auditkit.formats import RecordBatch, bare_name, detect_format, digest_data, digest_file, read_records
from auditkit.records import BadRow, Source


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.jsonl", ("jsonl", "")),
        ("A.NDJSON.GZ", ("jsonl", "gz")),
        ("a.b.json.zst", ("json", "zst")),
        ("a.csv", ("csv", "")),
        ("a.tsv.gz", ("tsv", "gz")),
        ("a.parquet", ("parquet", "")),
        ("a.txt.zst", ("text", "zst")),
    ],
)
def test_the_suffix_names_the_format(name: str, expected: tuple[str, str]) -> None:
    assert detect_format(Path(name)) == expected


@pytest.mark.parametrize("name", ["pool.xlsx", "pool", ".jsonl", "pool.gz"])
def test_an_unknown_suffix_lists_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=r"\.jsonl, \.ndjson.*\.gz or \.zst"):
        detect_format(Path(name))


def test_a_name_loses_its_suffixes_only() -> None:
    assert bare_name("en/train.jsonl.gz") == "en/train"
    assert bare_name("v1.2/a.b.parquet") == "v1.2/a.b"
    assert bare_name("train") == "train"


def test_json_lines_hold_objects_and_strings(tmp_path: Path) -> None:
    data = (
        b'\xef\xbb\xbf{"a": 1, "t": "\xc3\xa9"}\r\n\n  \n"bare"\n{"x": Infinity, "n": 123456789012345678901234567890}'
    )
    (batch,) = read_records(put(tmp_path, "a.jsonl", data))
    assert list(batch.rows()) == [
        {"a": 1, "t": "é"},
        {"text": "bare"},
        {"x": float("inf"), "n": pytest.approx(1.2e29, 0.1)},
    ]
    assert batch.exact(2)["n"] == 123456789012345678901234567890
    assert batch.exact(1) == {"text": "bare"}
    assert (batch.first, batch.n_records, batch.numbers, batch.layout.preamble) == (0, 3, [0, 1, 2], b"\xef\xbb\xbf")


def test_text_holds_a_row_a_line(tmp_path: Path) -> None:
    source = put(tmp_path, "a.txt", '{"a": 1}\r\n\nhalf\rline\u2028x\nlast'.encode())
    (batch,) = read_records(source)
    assert [row["text"] for row in batch.rows()] == ['{"a": 1}', "", "half\rline\u2028x", "last"]
    assert batch.exact(0) == {"text": '{"a": 1}'}


def test_csv_cells_hold_line_ends_and_stay_strings(tmp_path: Path) -> None:
    (batch,) = read_records(put(tmp_path, "a.csv", b',"b ""q"""\r\n01,"x\r\ny,"\r\n\r\n{,\n'))
    assert batch.records == [{"": "01", 'b "q"': "x\r\ny,"}, {"": "{", 'b "q"': ""}]
    assert batch.raw == [b'01,"x\r\ny,"\r\n', b"{,\n"]
    assert batch.exact(1) == {"": "{", 'b "q"': ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"a": 1}, "s"]', [{"a": 1}, {"text": "s"}]),
        ('{"version": [1], "data": [{"a": "[\\"]"}], "z": {"data": []}}', [{"a": '["]'}]),
        ('{"rows": ["x"]}', [{"text": "x"}]),
        ('{"a": [1, 2], "data": ["x", null]}', [{"a": 1, "data": "x"}, {"a": 2, "data": None}]),
        ('{"prompt": ["x", "y"]}', [{"prompt": "x"}, {"prompt": "y"}]),
        ('{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("[]", []),
        ('{"examples": [ ]}', []),
    ],
)
def test_json_comes_in_four_shapes(tmp_path: Path, text: str, expected: list[object]) -> None:
    assert read_all(put(tmp_path, "a.json", text.encode())) == expected


def test_numbers_of_good_records_count_the_broken_ones(tmp_path: Path) -> None:
    source = put(tmp_path, "a.jsonl.gz", b'{"a": 1}\n\nnope\n[1]\n{"a": 2}\n')
    batches = list(read_records(source, bad_rows="skip", batch_bytes=1))
    assert [batch.first for batch in batches] == [0, 1, 2, 3]
    assert [number for batch in batches for number in batch.numbers] == [0, 3]
    assert [(bad.line, bad.row) for batch in batches for bad in batch.bad] == [(3, 1), (4, 2)]
    assert [raw for batch in batches for raw in batch.bad_raw] == [b"nope\n", b"[1]\n"]


def test_batches_are_bounded_and_lose_nothing(tmp_path: Path) -> None:
    data = b"".join(b'{"n": %d, "t": "%s"}\n' % (i, b"x" * 100) for i in range(1000))
    batches = list(read_records(put(tmp_path, "a.jsonl", data), batch_bytes=10_000))
    assert len(batches) > 10
    assert [row["n"] for batch in batches for row in batch.rows()] == list(range(1000))
    lines = put(tmp_path, "empty.txt", b"\n" * 10_000)
    assert max(batch.n_records for batch in read_records(lines, batch_bytes=10_000)) < 200


BROKEN = [
    ("a.jsonl", b'{"a": 1}\n\n{"a":\n', 3, "not valid JSON"),
    ("a.jsonl", b'{"a": "\\ud800"}\n', 1, r"lone surrogate \(\\ud800\)"),
    ("a.jsonl", b'{"a": "\xed\xa0\x80"}\n', 1, "invalid UTF-8"),
    ("a.jsonl", b'{"a": "\xff"}\n', 1, "invalid UTF-8"),
    ("a.jsonl", b'{"a": 1}\n{"a": "\0"}\n', 2, "NUL byte"),
    ("a.jsonl", b"[" * 100_000 + b"\n", 1, "nested too deeply"),
    ("a.jsonl", b"[1]\n", 1, "an array, expected a JSON object or string"),
    ("a.jsonl", b"null\n", 1, "null"),
    ("a.jsonl", b"true\n", 1, "a boolean"),
    ("a.txt", b"ok\n\0\n", 2, "NUL byte"),
    ("a.txt", b"ok\n\xff\n", 2, "invalid UTF-8"),
    ("a.csv", b"a,b\n1,2,3\n", 2, "3 cells, expected 2"),
    ("a.csv", b'a,b\n"1\n1",2\n3\n', 4, "1 cells, expected 2"),
    ("a.csv", b'a,b\n1,"x"y\n', 2, "not valid CSV"),
    ("a.csv", b"a,b\n1,\xff\n", 2, "invalid UTF-8"),
    ("a.tsv", b"a\tb\n1\t\0\n", 2, "NUL byte"),
    ("a.json", b'["a",\n 3]', 2, "a number"),
]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize(("name", "data", "line", "reason"), BROKEN)
def test_a_broken_record_is_named_or_set_aside(
    tmp_path: Path, name: str, data: bytes, line: int, reason: str, suffix: str
) -> None:
    source = put(tmp_path, name + suffix, data)
    with pytest.raises(BadRecordError, match=reason) as caught:
        read_all(source)
    assert (caught.value.location, caught.value.line) == (source.location, line)
    assert str(caught.value).startswith(f"{source.location}, line {line}: ")
    assert "--bad-rows skip" in str(caught.value)
    assert "\n" not in str(caught.value)
    (batch,) = read_records(source, bad_rows="skip")
    assert [bad.line for bad in batch.bad] == [line]
    assert batch.n_records == len(batch.numbers) + 1


WHOLE = [
    ("a.csv", b"", "empty"),
    ("a.csv", b"\n\n", "empty"),
    ("a.json", b" \n", "empty"),
    ("a.csv", b"a,b,a\n1,2,3\n", "'a' stands twice"),
    ("a.csv", b"id;text\n1;how are you\n", "looks separated by ';'"),
    ("a.csv", b"id\ttext\n1\thow are you\n", "looks separated by"),
    ("a.tsv", b"id,text\n1,how are you\n", "looks separated by ','"),
    ("a.csv", b'a,b\n1,2\n3,"x\n4,5\n', "line 3: a quote that is opened here"),
    ("a.csv", b'a,b\n1,"2\n3,"x",4\n', "line 2: a quote that is opened here"),
    ("a.csv", b"\xff,b\n", "invalid UTF-8"),
    ("a.json", b'[{"a": 1},\n {"a": }]', "line 2: not valid JSON"),
    ("a.json", b'[{"a": 1},]', "not valid JSON"),
    ("a.json", b'["a" "b"]', "not valid JSON"),
    ("a.json", b'["a"] x', "Extra data"),
    ("a.json", b'["\xff"]', "invalid UTF-8"),
    ("a.json", b'{"a": {"0": "x"}}', "an object with the keys 'a'; expected"),
    ("a.json", b'{"a": [1], "b": [1, 2]}', "expected"),
    ("a.json", b"3", "expected"),
    ("a.json", b"[" * 100_000, "cannot be read"),
    ("a.jsonl", b"PAR1" + bytes(20), "a Parquet file"),
    ("a.txt", b"\x89PNG\r\n\x1a\n", "a PNG image"),
    ("a.txt", "text".encode("utf-16"), "UTF-16 text, expected text in UTF-8"),
    ("a.csv", bytes(100), "binary data"),
    ("a.json", b"PK\x03\x04" + bytes(range(128, 200)), "a zip archive"),
    ("a.jsonl", bytes(range(256)) * 20, "binary data"),
    ("a.parquet", b"", "Parquet"),
    ("a.parquet", b"no parquet at all", "Parquet"),
    ("a.parquet", b"PAR1" + bytes(100) + b"PAR1", "Parquet"),
]


@pytest.mark.parametrize("bad_rows", ["error", "skip"])
@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize(("name", "data", "reason"), WHOLE)
def test_a_broken_file_is_never_skipped(
    tmp_path: Path, name: str, data: bytes, reason: str, suffix: str, bad_rows: str
) -> None:
    source = put(tmp_path, name + suffix, data)
    with pytest.raises(BadRecordError, match=reason) as caught:
        read_all(source, bad_rows=bad_rows)
    assert "\n" not in str(caught.value)
    assert "--bad-rows" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt", "a.json", "a.parquet"])
def test_a_truncated_or_corrupt_stream_is_an_error(tmp_path: Path, name: str, suffix: str) -> None:
    body = os.urandom(3000).hex()
    data = f'["{body}"]'.encode()
    if name == "a.parquet":
        pq.write_table(pa.table({"t": [body]}), tmp_path / "plain")
        data = (tmp_path / "plain").read_bytes()
    whole = pack(data, suffix)
    path = tmp_path / (name + suffix)
    for cut in (0, 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(BadRecordError, match="ends early") as caught:
            read_all(file_source(path), bad_rows="skip")
        assert caught.value.line is None
    for broken in (b"neither gzip nor zstd", whole + b"\1trailing bytes"):
        path.write_bytes(broken)
        with pytest.raises(BadRecordError, match="not valid"):
            read_all(file_source(path), bad_rows="skip")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_all_members_and_frames_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0abcd" if suffix == ".zst" else b""
    big = b"x\n" * 300_000
    path.write_bytes(pack(b"1\n2", suffix) + pack(b"", suffix) + skippable + pack(b"3\n", suffix) + pack(big, suffix))
    assert [row["text"] for row in read_all(file_source(path))] == ["1", "23"] + ["x"] * 300_000


def test_a_zstd_stream_without_size_is_read(tmp_path: Path) -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    path = tmp_path / "a.txt.zst"
    path.write_bytes(packer.compress(b"one\n" * 100_000) + packer.flush())
    assert len(read_all(file_source(path))) == 100_000


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
def test_an_empty_file_of_lines_is_a_pool_of_no_rows(tmp_path: Path, name: str, suffix: str) -> None:
    source = put(tmp_path, name + suffix, b"")
    layout = next(read_records(put(tmp_path, name, b""))).layout
    assert list(read_records(source)) == [
        RecordBatch(0, 0, [], [], [], layout=layout, n_source_bytes=source.n_bytes if suffix else 0)
    ]


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    gone = Source("a", str(tmp_path / "gone.jsonl"), "jsonl", "", "gone.jsonl", "", 0)
    with pytest.raises(InputError, match=r"gone\.jsonl: no such file"):
        read_all(gone)
    with pytest.raises(InputError, match="no such file"):
        digest_file(tmp_path / "gone")
    with pytest.raises(InputError, match="a folder where a file was expected"):
        read_all(Source("a", str(tmp_path), "jsonl", "", "", "", 0))
    with pytest.raises(InputError, match="not saved by `datasets`"):
        detect_format(tmp_path)


def test_a_text_may_begin_like_another_format(tmp_path: Path) -> None:
    texts = ["PAR1 is a magic number", "%PDF- too", "\x1b[1m" * 9, "\b" * 20]
    for text in texts:
        assert read_all(put(tmp_path, "a.txt", text.encode())) == [{"text": text}]


def test_a_megabyte_row_is_read_whole(tmp_path: Path) -> None:
    long = "x\n" * (1 << 19)
    assert read_all(put(tmp_path, "a.csv", f'a,b\n1,"{long}"\n'.encode())) == [{"a": "1", "b": long}]
    assert read_all(put(tmp_path, "a.jsonl", json.dumps({"a": long}).encode())) == [{"a": long}]


def test_parquet_keeps_arrow_types_and_reads_in_batches(tmp_path: Path) -> None:
    schema = pa.schema([("t", pa.large_string()), ("n", pa.list_(pa.int8()))], metadata={"k": "v"})
    table = pa.table({"t": ["a", None, "é"] * 500, "n": [[1], None, []] * 500}, schema=schema)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=400)
    batches = list(read_records(file_source(tmp_path / "a.parquet"), batch_bytes=1000))
    assert len(batches) > 10
    whole = pq.read_table(tmp_path / "a.parquet")
    assert pa.concat_tables([batch.table for batch in batches]).equals(whole, check_metadata=True)
    assert [batch.first for batch in batches[:2]] == [0, batches[0].n_records]
    assert [row["t"] for batch in batches for row in batch.rows()] == table["t"].to_pylist()


def test_parquet_with_broken_strings_is_named_or_set_aside(tmp_path: Path) -> None:
    broken = pa.array([b"ok", b"\xff\xfe", b"fine"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"t": broken}), tmp_path / "a.parquet")
    source = file_source(tmp_path / "a.parquet")
    with pytest.raises(BadRecordError, match=r"line 2: broken values"):
        read_all(source)
    (batch,) = read_records(source, bad_rows="skip")
    assert (batch.n_records, batch.numbers, list(batch.rows())) == (3, [0, 2], [{"t": "ok"}, {"t": "fine"}])
    assert [(bad.line, bad.row) for bad in batch.bad] == [(2, 1)]


def test_doubled_parquet_columns_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(BadRecordError, match="two columns are called 'a'"):
        read_all(file_source(tmp_path / "a.parquet"))


def test_frames_of_every_kind_are_read() -> None:
    import datasets
    import pandas as pd

    data = {"t": ["a", "b", None], "n": [1, 2, 3]}
    expected = [{"t": t, "n": n} for t, n in zip(data["t"], data["n"], strict=True)]
    frames = [
        pl.DataFrame(data),
        pl.LazyFrame(data),
        pd.DataFrame(data),
        pa.table(data),
        datasets.Dataset.from_dict(data),
    ]
    for frame in frames:
        assert read_all(memory_source(frame, "frame")) == expected
    assert read_all(memory_source(datasets.Dataset.from_dict(data).select([2, 0]), "frame")) == [
        expected[2],
        expected[0],
    ]
    assert [b.n_records for b in read_records(memory_source(pl.DataFrame(schema={"t": pl.String}), "frame"))] == [0]
    with pytest.raises(InputError, match=r"builtins\.set, expected a polars or pandas frame"):
        read_all(memory_source({"a"}, "frame"))
    with pytest.raises(InputError, match="cannot be held as Arrow columns"):
        read_all(memory_source(pd.DataFrame({"a": ["x", 1, [2]]}), "frame"))


def test_lists_hold_strings_and_dicts() -> None:
    assert read_all(memory_source(["a", {"t": "b", "n": None}], "list")) == [{"text": "a"}, {"t": "b", "n": None}]
    with pytest.raises(BadRecordError, match="line 2: a int, expected a string or a dict"):
        read_all(memory_source(["a", 3], "list"))
    (batch,) = read_records(memory_source(["a", "\ud800", {"x": {1}}, "b"], "list"), bad_rows="skip")
    assert (batch.numbers, [bad.row for bad in batch.bad]) == ([0, 3], [1, 2])
    assert batch.bad[0] == BadRow("memory", 2, 1, "a lone surrogate (\\ud800); expected whole characters")


def test_a_saved_dataset_is_read_by_split(tmp_path: Path) -> None:
    import datasets

    one = datasets.Dataset.from_dict({"t": ["a", "b"]})
    datasets.DatasetDict(train=one, test=one.select([1])).save_to_disk(tmp_path / "ds")
    one.save_to_disk(tmp_path / "single")
    assert detect_format(tmp_path / "ds") == ("arrow", "")
    for split, expected in (("train", ["a", "b"]), ("test", ["b"])):
        source = Source(split, str(tmp_path / "ds"), "arrow", "", split, "", 0)
        assert [row["t"] for row in read_all(source)] == expected
    assert len(read_all(file_source(tmp_path / "single"))) == 2
    with pytest.raises(InputError, match="no dataset saved"):
        read_all(Source("dev", str(tmp_path / "ds"), "arrow", "", "dev", "", 0))


def test_a_truncated_saved_dataset_is_an_error(tmp_path: Path) -> None:
    import datasets

    datasets.Dataset.from_dict({"t": ["a" * 100] * 1000}).save_to_disk(tmp_path / "ds")
    path = next((tmp_path / "ds").glob("*.arrow"))
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(BadRecordError, match="not a complete Arrow file"):
        read_all(file_source(tmp_path / "ds"))


def test_digests_are_sha256_and_do_not_depend_on_chunks(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest_file(tmp_path / "a") == (abc, 3)
    table = pa.table({"t": [f"row {i}" for i in range(1000)], "n": [i if i % 3 else None for i in range(1000)]})
    chunked = pa.concat_tables([table.slice(0, 333), table.slice(333, 100), table.slice(433)])
    assert digest_data(table) == digest_data(chunked)
    assert digest_data(table) != digest_data(table.slice(1))
    assert digest_data(["a", {"b": 1}]) != digest_data(["a", {"b": 2}])
