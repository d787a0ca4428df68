"""Files in a store: found, known by ETag, read by ranges, asked for again, and never half a file."""

from __future__ import annotations

import io
import random
import sys
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from formats_support import pack
from stores import Fault, Store

from auditkit.errors import BadRecordError, InputError, MissingExtraError
from auditkit.formats import read_records, remote, retry, streams
from auditkit.formats.naming import suffix_format
from auditkit.formats.remote import RemoteReader, find, is_remote, stat
from auditkit.records import Source

ROWS = [{"text": f"row {i} {random.Random(i).getrandbits(200):x}", "n": i} for i in range(3000)]
LINES = pl.DataFrame(ROWS).write_ndjson().encode()
BUSY = Fault("503 Slow Down", (("Retry-After", "3"),))


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(retry.time, "sleep", found.append)
    return found


def source_of(address: str) -> Source:
    there = stat(address)
    name = address.rpartition("/")[2]
    return Source("pool", address, *suffix_format(name, address), name, there.digest, there.n_bytes)


def rows_of(source: Source, **settings: Any) -> list[dict[str, Any]]:
    return [row for batch in read_records(source, **settings) for row in batch.rows()]


def parquet(rows: list[dict[str, Any]] = ROWS) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink, row_group_size=500)
    return sink.getvalue()


def test_addresses_are_told_from_paths() -> None:
    assert all(map(is_remote, ["s3://b/k", "gs://b", "hf://datasets/o/n/f.parquet", "https://h/f.jsonl", "S3://B/k"]))
    assert not any(map(is_remote, ["hf:org/name", "s3:/b", "a/b.jsonl", "C:\\x", "ftp://h/f", "memory"]))


def test_files_are_found_below_a_folder_by_pattern_and_by_name(store: Store) -> None:
    for key in ("p/b.jsonl", "p/en/a.jsonl", "p/c.parquet", "other/d.jsonl"):
        store.put(key, b'{"text": "x"}\n')
    store.put("p/empty/", b"")
    names = ["s3://pools/p/b.jsonl", "s3://pools/p/c.parquet", "s3://pools/p/en/a.jsonl"]
    assert [file.location for file in find("s3://pools/p")] == names
    assert [file.location for file in find("s3://pools/p/")] == names
    assert [file.location for file in find("s3://pools/p/**/*.jsonl")] == [names[0], names[2]]
    assert [file.location for file in find("s3://pools/p/e*")] == [names[2]]
    (one,) = find(names[0])
    assert one == stat(names[0])
    assert one.digest == f"etag:{store.client.head_object(Bucket='pools', Key='p/b.jsonl')['ETag'].strip(chr(34))}:14"


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.csv.gz", "a.parquet", "a.parquet.zst"])
@pytest.mark.parametrize("block_bytes", [10_000, remote.BLOCK_BYTES])
def test_every_format_is_read_as_from_disk(
    store: Store, name: str, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RemoteReader.__init__, "__defaults__", (block_bytes,))
    kind = name.split(".")[1]
    plain = {"jsonl": LINES, "csv": pl.DataFrame(ROWS).write_csv().encode(), "parquet": parquet()}[kind]
    source = source_of(store.put(name, pack(plain, name[name.index(kind) + len(kind) :])))
    expected = [{**row, "n": str(row["n"])} for row in ROWS] if kind == "csv" else ROWS
    batches = list(read_records(source, batch_bytes=50_000))
    assert [row for batch in batches for row in batch.rows()] == expected
    assert sum(batch.n_source_bytes for batch in batches) == source.n_bytes


def test_large_files_are_fetched_ahead(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "AHEAD_FROM_BYTES", 0)
    assert rows_of(source_of(store.put("a.jsonl", LINES))) == ROWS


def test_parquet_is_read_by_ranges(store: Store) -> None:
    data = parquet([{"text": f"{random.Random(i).getrandbits(4000):x}", "n": i} for i in range(2000)])
    address = store.put("a.parquet", data)
    store.requests.clear()
    with streams.open_bytes(address) as file, pq.ParquetFile(file) as opened:
        assert opened.metadata.num_rows == 2000
        assert opened.read_row_group(1, columns=["n"])["n"].to_pylist() == list(range(500, 1000))
    n_gets = sum(method == "GET" for method, _ in store.requests)
    assert n_gets * streams.RANGE_BYTES < len(data) / 2


def test_busy_answers_and_cut_bodies_are_asked_for_again(store: Store, pauses: list[float]) -> None:
    source = source_of(store.put("a.jsonl", LINES))
    store.faults += [
        BUSY, Fault("429 Too Many Requests", (("Retry-After", "2"),), "GET"), Fault("500 Oops", method="GET"),
        Fault(truncate=True, method="GET"),
    ]  # fmt: skip
    assert rows_of(source) == ROWS
    assert pauses[:3] == [3.0, 2.0, 1.0]
    assert len(pauses) == 4
    assert not store.faults


@pytest.mark.parametrize("fault", [BUSY, Fault(truncate=True, method="GET")])
def test_what_stays_unread_is_an_error_and_no_smaller_pool(store: Store, fault: Fault, pauses: list[float]) -> None:
    source = source_of(store.put("a.jsonl", LINES))
    store.faults += [fault] * 50
    with pytest.raises(InputError, match=r"s3://pools/a\.jsonl: could not be read in 6 attempts") as caught:
        rows_of(source, bad_rows="skip")
    assert "\n" not in str(caught.value)
    assert len(pauses) == retry.ATTEMPTS - 1


def test_a_listing_that_fails_is_an_error(store: Store, pauses: list[float]) -> None:
    store.put("p/a.jsonl", LINES)
    store.faults += [BUSY] * 50
    with pytest.raises(InputError, match=r"s3://pools/p: could not be read in 6 attempts \(status 503\)"):
        find("s3://pools/p")


def test_what_is_not_there_or_may_not_be_read_is_named(store: Store, pauses: list[float]) -> None:
    store.put("p/a.jsonl", LINES)
    for address in ("s3://pools/gone.jsonl", "s3://nobucket/a.jsonl", "s3://pools/gone/"):
        with pytest.raises(InputError, match=f"^{address}: no such file or folder; check the address$"):
            find(address)
    with pytest.raises(InputError, match="a folder where a file was expected"):
        stat("s3://pools/p")
    store.faults += [Fault("403 Forbidden")]
    with pytest.raises(InputError, match="access is denied; check that credentials are set") as caught:
        stat("s3://pools/p/a.jsonl")
    assert "very-secret-testing-key" not in str(caught.value)
    assert pauses == []


def test_a_file_that_changes_while_it_is_read_is_an_error(store: Store) -> None:
    source = source_of(store.put("a.jsonl", LINES))
    batches = read_records(source, batch_bytes=1000)
    next(batches)
    store.put("a.jsonl", LINES.replace(b"row 2999", b"row 3000"))
    with pytest.raises(InputError, match=r"a\.jsonl: changed while it was read \(was etag:.*, is etag:"):
        list(batches)
    broken = source_of(store.put("b.jsonl", LINES))
    store.put("b.jsonl", b"{broken\n")
    with pytest.raises(InputError, match="changed while it was read"):
        rows_of(broken)
    for_good = source_of(store.put("c.jsonl", b"{broken\n"))
    with pytest.raises(BadRecordError, match=r"c\.jsonl, line 1: not valid JSON"):
        rows_of(for_good)


def test_a_reader_seeks(store: Store) -> None:
    reader = RemoteReader(store.put("a", bytes(range(256))), block_bytes=10)
    assert (reader.seek(-6, io.SEEK_END), reader.read(100)) == (250, bytes(range(250, 256)))
    assert (reader.seek(5), reader.read(3), reader.tell(), reader.read(3)) == (5, b"\5\6\7", 8, b"\x08\x09\x0a")
    assert (reader.seek(400), reader.read(1)) == (400, b"")


def test_web_addresses_are_read_and_hold_no_secrets(store: Store) -> None:
    store.put("a.jsonl", LINES)
    store.client.put_object_acl(Bucket="pools", Key="a.jsonl", ACL="public-read")
    address = f"{store.address}/pools/a.jsonl"
    assert [file.location for file in find(address)] == [address]
    assert rows_of(source_of(address)) == ROWS
    for secret in ("http://me:pass@host/a.jsonl", "https://host/a.jsonl?X-Amz-Signature=pass"):
        with pytest.raises(InputError, match=r"host/a\.jsonl: an address with a password or a query") as caught:
            find(secret)
        assert "pass@" not in str(caught.value)
        assert "Signature" not in str(caught.value)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    remote._file_system.cache_clear()
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(MissingExtraError, match=r"^gs:// needs the extra 'remote', which is not installed"):
        find("gs://bucket/pool")
