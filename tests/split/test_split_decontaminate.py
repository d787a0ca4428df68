"""kept + removed + set aside = pool, value for value and byte for byte, in every format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from split_support import benchmark_of, file_source, match, memory_source, report_of, split

from auditkit import tables
from auditkit.formats import decontaminated_files, digest_file, read_records
from auditkit.records import Benchmark, Pool, Source

TEXTS = ["zero", "one é", 'two, "quoted"', "three", "four"]
GONE = [1, 3]


def content(kind: str) -> tuple[bytes, bytes]:
    """Return a file's bytes, and the bytes without rows 1 and 3."""
    if kind == "jsonl":
        head, lines, tail = "\ufeff", [f'{{"text" : {json.dumps(text)}, "n":1e3}}\r\n' for text in TEXTS], ""
    elif kind == "json":
        lines = ["  " + json.dumps({"text": text, "n": [1.50, None]}) for text in TEXTS]
        return tuple(("[\n" + ",\n".join(rows) + "\n]\n").encode() for rows in (lines, kept(lines)))  # type: ignore[return-value]
    elif kind == "txt":
        head, lines, tail = "", [f"{text}\n" for text in TEXTS[:-1]] + [TEXTS[-1]], ""
    else:
        mark = "," if kind == "csv" else "\t"
        quoted = [text.replace('"', '""') for text in TEXTS]
        head, lines, tail = f'"text"{mark}n\r\n', [f'"{text}\n"{mark}01\r\n' for text in quoted], ""
    return (head + "".join(lines) + tail).encode(), (head + "".join(kept(lines)) + tail).encode()


def kept(rows: list[Any]) -> list[Any]:
    return [row for i, row in enumerate(rows) if i not in GONE]


def pack(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data)
    return zstandard.ZstdCompressor().compress(data) if suffix == ".zst" else data


def unpack(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.decompress(data)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if suffix == ".zst" else data


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["jsonl", "json", "txt", "csv", "tsv"])
def test_kept_rows_keep_their_bytes(tmp_path: Path, kind: str, suffix: str) -> None:
    before, after = content(kind)
    path = tmp_path / f"pool.{kind}{suffix}"
    path.write_bytes(pack(before, suffix))
    original = path.read_bytes()
    result = split(
        [file_source(path)], [match("pool", row) for row in GONE], tmp_path / "out", tmp_path, batch_bytes=100
    )
    assert unpack((tmp_path / "out" / path.name).read_bytes(), suffix) == after
    assert path.read_bytes() == original
    assert (result.n_rows, result.n_kept, result.n_removed, result.n_masked, result.n_set_aside) == (5, 3, 2, 0, 0)
    assert result.removed["row"].to_list() == GONE


def test_parquet_keeps_values_columns_and_schema(tmp_path: Path) -> None:
    schema = pa.schema([("text", pa.large_string()), ("chat", pa.list_(pa.struct([("a", pa.int8())])))], {"k": "v"})
    table = pa.table({"text": TEXTS, "chat": [[{"a": 1}], None, [], [{"a": None}], [{"a": 2}]]}, schema=schema)
    pq.write_table(table, tmp_path / "pool.parquet", compression="gzip", row_group_size=2)
    split([file_source(tmp_path / "pool.parquet")], [match("pool", row) for row in GONE], tmp_path / "out", tmp_path)
    before, after = pq.read_table(tmp_path / "pool.parquet"), pq.read_table(tmp_path / "out" / "pool.parquet")
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.equals(before.take(kept(list(range(5)))))


def test_memory_sources_are_written_by_name(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": TEXTS, "n": [1, None, 3, 4, 5]})
    sources = [memory_source(frame, "frame"), memory_source(TEXTS, "list", "mine")]
    result = split(sources, [match(name, row) for row in GONE for name in ("pool", "mine")], tmp_path / "out", tmp_path)
    assert pl.read_parquet(tmp_path / "out" / "pool.parquet").equals(frame[kept(list(range(5)))])
    lines = (tmp_path / "out" / "mine.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == kept(TEXTS)
    assert [source.n_removed for source in result.sources] == [2, 2]


def test_saved_datasets_load_again(tmp_path: Path) -> None:
    import datasets

    one = datasets.Dataset.from_dict({"text": TEXTS, "label": [0, 1, 0, 1, 0]})
    one = one.cast_column("label", datasets.ClassLabel(names=["ok", "bad"]))
    datasets.DatasetDict(train=one, test=one.select([0])).save_to_disk(tmp_path / "ds")
    sources = [
        Source(name, str(tmp_path / "ds"), "arrow", "", name, *digest_file(tmp_path / "ds" / name))
        for name in ("train", "test")
    ]
    split(sources, [match("train", row) for row in GONE], tmp_path / "out", tmp_path)
    again = datasets.load_from_disk(str(tmp_path / "out"))
    assert again["train"].features == one.features
    assert again["train"]["text"][:] == kept(TEXTS)
    assert again["test"]["text"][:] == ["zero"]


def test_a_pool_of_several_files_keeps_its_names(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("en/train.jsonl.gz", "de/train.jsonl.gz", "de/more.txt"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        text = b"a\nb\n" if name.endswith("txt") else gzip.compress(b'{"text": "a"}\n{"text": "b"}\n')
        (data / name).write_bytes(text)
    sources = [file_source(path, str(path.relative_to(data))) for path in sorted(data.rglob("*.*")) if path.is_file()]
    matches = [match("de/train", 0), match("en/train", 1)]
    result = split(sources, matches, tmp_path / "new" / "out", tmp_path)
    out = tmp_path / "new" / "out"
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == [
        "benchmarks/bench.clean.jsonl", "de/more.txt", "de/train.jsonl.gz", "en/train.jsonl.gz", "manifest.json",
        "removed.parquet",
    ]  # fmt: skip
    assert gzip.decompress((out / "de/train.jsonl.gz").read_bytes()) == b'{"text": "b"}\n'
    assert gzip.decompress((out / "en/train.jsonl.gz").read_bytes()) == b'{"text": "a"}\n'
    assert result.removed.select("pool", "row").rows() == [("de/train", 0), ("en/train", 1)]
    assert decontaminated_files(out) == ("de/more.txt", "de/train.jsonl.gz", "en/train.jsonl.gz")
    assert decontaminated_files(data) is None


def test_nothing_condemned_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "pool.jsonl").write_bytes(b'{"text": "a"}\n\n{"text": "b"}')
    result = split([file_source(tmp_path / "pool.jsonl")], [], tmp_path / "out", tmp_path)
    assert (tmp_path / "out" / "pool.jsonl").read_bytes() == b'{"text": "a"}\n{"text": "b"}'
    assert (result.n_kept, len(result.removed)) == (2, 0)
    (tmp_path / "none.jsonl").write_bytes(b"")
    result = split([file_source(tmp_path / "none.jsonl")], [], tmp_path / "out2", tmp_path)
    assert (result.n_rows, (tmp_path / "out2" / "none.jsonl").read_bytes()) == (0, b"")


def test_review_rows_go_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text("a\nb\nc\n")
    matches = [match("pool", 0), match("pool", 1, verdict="review", tier="paraphrase", item=2)]
    source = file_source(tmp_path / "pool.txt")
    plain = split([source], matches, tmp_path / "plain", tmp_path)
    review = split([source], matches, tmp_path / "review", tmp_path, verdict="review")
    assert (tmp_path / "plain" / "pool.txt").read_text() == "b\nc\n"
    assert (tmp_path / "review" / "pool.txt").read_text() == "c\n"
    assert [(b.n_items, b.n_clean) for b in (*plain.benchmarks, *review.benchmarks)] == [(3, 2), (3, 1)]
    lines = [(tmp_path / name / "benchmarks" / "bench.clean.jsonl").read_text() for name in ("plain", "review")]
    assert lines == ['{"q": "item 1"}\n{"q": "item 2"}\n', '{"q": "item 1"}\n']


def test_the_reason_is_the_strongest_match(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text("a\nb\n")
    matches = [
        match("pool", 0, verdict="review", tier="exact", item=0),
        match("pool", 0, tier="near", ratio=0.9, item=1),
        match("pool", 0, tier="near", ratio=0.95, item=2, rule="r2", row_start=0, row_end=1),
        match("pool", 1, tier="contained", item=1),
        match("pool", 1, tier="near", ratio=1.0, item=0),
    ]
    removed = split([file_source(tmp_path / "pool.txt")], matches, tmp_path / "out", tmp_path).removed
    assert removed.schema == tables.REMOVED
    assert pl.read_parquet(tmp_path / "out" / "removed.parquet").equals(removed)
    assert removed.select("row", "row_id", "action", "item", "tier", "rule", "row_start", "row_end").rows() == [
        (0, "id0", "removed", 2, "near", "r2", 0, 1),
        (1, "id1", "removed", 1, "contained", "r1", None, None),
    ]
    assert removed["reason"][0] == "contaminated: near match of bench item 2, rule r2"


def test_broken_rows_are_set_aside_and_listed(tmp_path: Path) -> None:
    (tmp_path / "pool.jsonl").write_text('{"text": "a"}\nbroken\n{"text": "b"}\n[]\n')
    source = file_source(tmp_path / "pool.jsonl")
    result = split([source], [match("pool", 2)], tmp_path / "out", tmp_path, bad_rows="skip")
    assert (tmp_path / "out" / "pool.jsonl").read_text() == '{"text": "a"}\n'
    assert (result.n_rows, result.n_kept, result.n_removed, result.n_set_aside) == (4, 1, 1, 2)
    assert result.removed.select("row", "action", "row_id").rows() == [
        (1, "set_aside", None), (2, "removed", "id2"), (3, "set_aside", None),
    ]  # fmt: skip
    assert result.removed["reason"][0].startswith("broken record, line 2: not valid JSON")


def test_the_manifest_adds_up_and_repeats(tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    audit.mkdir()
    (audit / "report.json").write_text("{}")
    (tmp_path / "pool.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a"}\nno\n{"text": "b"}\n'))
    source = file_source(tmp_path / "pool.jsonl.gz")
    benchmark = benchmark_of(tmp_path, [{"q": "x"}])
    report = report_of(Pool((source,)), [benchmark], [match("pool", 0)], audit)
    for name in ("one", "two"):
        split([source], [], tmp_path / name, tmp_path, report=report, benchmarks=[benchmark], bad_rows="skip")
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).rglob("*") if p.is_file()} for n in ("one", "two"))
    assert one == two
    manifest = json.loads(one["manifest.json"])
    assert manifest["counts"] == {"n_rows": 3, "n_kept": 1, "n_removed": 1, "n_masked": 0, "n_set_aside": 1}
    assert manifest["audit"]["report_digest"] == digest_file(audit / "report.json")[0]
    assert (manifest["action"], manifest["verdict"], manifest["audit"]["rules_version"]) == (
        "remove",
        "contaminated",
        "v1",
    )
    (entry,) = manifest["sources"]
    assert entry["digest"] == source.digest
    assert entry["output_digest"] == digest_file(tmp_path / "one" / entry["output"])[0]
    assert manifest["benchmarks"][0]["output_digest"] == digest_file(tmp_path / "one/benchmarks/bench.clean.jsonl")[0]
    assert manifest["removed"]["output_digest"] == digest_file(tmp_path / "one" / "removed.parquet")[0]


def test_clean_subsets_hold_original_records_of_any_format(tmp_path: Path) -> None:
    import datetime

    table = pa.table({"q": ["é", "b"], "day": [datetime.date(2024, 1, 2)] * 2, "raw": [b"\xff", None]})
    pq.write_table(table, tmp_path / "odd name.parquet")
    benchmark = Benchmark("hf:a/b", file_source(tmp_path / "odd name.parquet"), tables.empty(tables.ITEMS), 2)
    (tmp_path / "pool.txt").write_text("a\n")
    found = [match("pool", 0, benchmark="hf:a/b", item=1)]
    split([file_source(tmp_path / "pool.txt")], found, tmp_path / "out", tmp_path, benchmarks=[benchmark])
    line = (tmp_path / "out/benchmarks/hf_a_b.clean.jsonl").read_text("utf-8")
    assert line == '{"q": "é", "day": "2024-01-02", "raw": "/w=="}\n'


def test_progress_counts_every_row(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text("a\n" * 1000)
    seen: list[int] = []
    split([file_source(tmp_path / "pool.txt")], [], tmp_path / "out", tmp_path, on_rows=seen.append, batch_bytes=5000)
    assert sum(seen) == 1000
    assert len(seen) > 2


def test_kept_rows_read_back_as_rows_of_the_pool(tmp_path: Path) -> None:
    """Permuted matches, small batches and doubled matches change nothing."""
    rows = [{"text": f"row {i}", "meta": {"n": i, "big": 2**70 + i}} for i in range(300)]
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    gone = [i for i in range(300) if i % 7 == 0]
    source = file_source(tmp_path / "pool.jsonl")
    matches = [match("pool", i) for i in [*reversed(gone), *gone]]
    outs = [tmp_path / "big", tmp_path / "small"]
    for out, size in zip(outs, (1 << 20, 300), strict=True):
        split([source], matches, out, tmp_path, batch_bytes=size)
    assert len({(out / "pool.jsonl").read_bytes() for out in outs}) == 1
    left = [b.exact(i) for b in read_records(file_source(outs[0] / "pool.jsonl")) for i in range(len(b.numbers))]
    assert left == [row for i, row in enumerate(rows) if i not in gone]
