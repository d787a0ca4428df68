"""How much of a source was consumed: what the batches say adds up to the file as it lies on disk."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pytest
from formats_support import COMPRESSIONS, file_source, put

from auditkit.formats import digest_data, digest_file, read_records
from auditkit.records import Source

random.seed(5)
#: Random digits, so that compressed files do not shrink to nothing.
RECORDS = [{"text": f"{random.getrandbits(160):040x}", "n": i} for i in range(3000)]
LINES = b"".join(json.dumps(record).encode() + b"\n" for record in RECORDS)
FILES = {
    "a.jsonl": LINES,
    "a.txt": LINES,
    "a.csv": b"text,n\r\n" + b"".join(f"{r['text']},{r['n']}\r\n".encode() for r in RECORDS),
    "a.json": json.dumps(RECORDS, indent=1).encode(),
    "lines.json": LINES,
    "columns.json": json.dumps({name: [record[name] for record in RECORDS] for name in ("text", "n")}).encode(),
}


def consumed(source: Source, batch_bytes: int = 20_000) -> list[int]:
    sizes = [batch.n_source_bytes for batch in read_records(source, batch_bytes=batch_bytes)]
    assert all(size >= 0 for size in sizes)
    return sizes


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("name", FILES)
def test_row_formats_add_up_to_the_file(name: str, suffix: str, tmp_path: Path) -> None:
    source = put(tmp_path, name + suffix, FILES[name])
    assert source.n_bytes == (tmp_path / (name + suffix)).stat().st_size
    sizes = consumed(source)
    assert len(sizes) > 5
    assert sum(sizes) == source.n_bytes


def test_batches_of_a_plain_file_are_its_own_bytes(tmp_path: Path) -> None:
    source = put(tmp_path, "a.jsonl", LINES)
    batches = list(read_records(source, batch_bytes=20_000))
    assert [batch.n_source_bytes for batch in batches] == [sum(map(len, batch.raw or [])) for batch in batches]
    with_bad = put(tmp_path, "b.jsonl", b"\xef\xbb\xbf\n{broken\n" + LINES)
    assert sum(batch.n_source_bytes for batch in read_records(with_bad, "skip", 20_000)) == with_bad.n_bytes


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_compressed_file_is_followed_from_start_to_end(suffix: str, tmp_path: Path) -> None:
    lines = b"".join(b'{"text": "%0400x"}\n' % random.getrandbits(1600) for _ in range(20_000))
    source = put(tmp_path, f"a.jsonl{suffix}", lines)
    sizes = consumed(source, batch_bytes=1 << 20)
    # A buffer of a mebibyte is decoded ahead; beyond that no batch is far from its share.
    assert max(sizes) < 3 * source.n_bytes / len(sizes)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_parquet_adds_up_over_row_groups_of_any_size(suffix: str, tmp_path: Path) -> None:
    plain = tmp_path / "p.parquet"
    pl.DataFrame(RECORDS).write_parquet(plain, row_group_size=700)
    source = put(tmp_path, f"a.parquet{suffix}", plain.read_bytes())
    sizes = consumed(source)
    assert len(sizes) > 5
    assert sum(sizes) == source.n_bytes


def test_a_folder_saved_by_datasets_adds_up_to_its_files(tmp_path: Path) -> None:
    datasets.Dataset.from_list(RECORDS).save_to_disk(tmp_path / "saved", num_shards=2)
    digest, n_bytes = digest_file(tmp_path / "saved")
    source = Source("saved", str(tmp_path / "saved"), "arrow", "", "saved", digest, n_bytes)
    assert sum(consumed(source)) == pytest.approx(n_bytes, rel=0.01)


@pytest.mark.parametrize(
    ("kind", "data"),
    [("frame", pl.DataFrame(RECORDS)), ("list", RECORDS), ("frame", pl.DataFrame(RECORDS[:1])), ("list", ["x"])],
)
def test_memory_is_shared_out_by_records(kind: str, data: Any) -> None:
    digest, n_bytes = digest_data(data)
    sizes = consumed(Source("pool", "memory", kind, "", "", digest, n_bytes, data))
    assert sum(sizes) == n_bytes
    assert max(sizes) <= 1.2 * n_bytes / len(sizes)


def test_what_is_empty_is_consumed_too(tmp_path: Path) -> None:
    pl.DataFrame(schema={"text": pl.String}).write_parquet(tmp_path / "e.parquet")
    for source in (
        file_source(tmp_path / "e.parquet"),
        put(tmp_path, "e.jsonl", b"\n\n"),
        put(tmp_path, "e.csv", b"text\n"),
        put(tmp_path, "e.json", b"[ ]\n"),
        Source("pool", "memory", "list", "", "", "", 2, []),
        Source("pool", "memory", "frame", "", "", "", 100, pl.DataFrame(schema={"text": pl.String})),
    ):
        assert consumed(source) == [source.n_bytes]
