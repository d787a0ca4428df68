"""Pools and benchmarks in a store: the same sources, names and texts as on a disk."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from read_support import counts
from stores import Fault, Store

from auditkit.errors import InputError
from auditkit.formats import retry
from auditkit.read import open_benchmarks, open_pool, read_texts
from auditkit.records import Pool, ReadSettings

LINE = b'{"id": 1, "text": "how do I tie a bowline"}\n'


def texts_of(pool: Pool) -> pl.DataFrame:
    return pl.concat([batch.texts for source in pool.sources for batch in read_texts(source, ReadSettings())])


def both(store: Store, folder: Path, files: dict[str, bytes]) -> None:
    """Write files below a folder and below the prefix p/."""
    for name, data in files.items():
        (folder / "p" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "p" / name).write_bytes(data)
        store.put(f"p/{name}", data)


FILES = {"train.jsonl": LINE * 3, "en/train.csv": b"id,text\n7,hello there\n", ".hidden.jsonl": LINE, "notes.md": b"x"}


def test_a_folder_is_the_pool_that_it_is_on_a_disk(store: Store, tmp_path: Path) -> None:
    both(store, tmp_path, {**FILES, "dataset_info.json": b"{}", ".git/a.jsonl": LINE})
    there, here = open_pool("s3://pools/p"), open_pool(str(tmp_path / "p"))
    assert [(s.name, s.relative, s.format, s.n_bytes) for s in there.sources] == [
        (s.name, s.relative, s.format, s.n_bytes) for s in here.sources
    ]
    # On a disk a hidden folder is named as one.
    assert {name.removeprefix("s3://pools/p/") for name in there.skipped_files} == {
        ".hidden.jsonl", ".git/a.jsonl", "notes.md", "dataset_info.json",
    }  # fmt: skip
    assert texts_of(there).equals(texts_of(here))
    assert all(source.digest.startswith("etag:") for source in there.sources)


def test_named_files_patterns_and_disks_go_together(store: Store, tmp_path: Path) -> None:
    both(store, tmp_path, FILES)
    assert [s.name for s in open_pool("s3://pools/p/train.jsonl").sources] == ["train"]
    assert [s.location for s in open_pool("s3://pools/p/**/*.csv").sources] == ["s3://pools/p/en/train.csv"]
    mixed = open_pool(("s3://pools/p/train.jsonl", str(tmp_path / "p/train.jsonl")))
    assert len({source.name for source in mixed.sources}) == 2
    assert len(texts_of(mixed)) == 6
    assert [s.name for s in open_pool({"mine": "s3://pools/p/train.jsonl"}).sources] == ["mine"]
    with pytest.raises(InputError, match=r"s3://pools/p/train\.jsonl: is given twice; name each file once"):
        open_pool(("s3://pools/p/train.jsonl", "s3://pools/p/train.jsonl"))


def test_a_decontaminated_pool_is_its_own_files_only(store: Store, tmp_path: Path) -> None:
    manifest = {
        "kind": "auditkit decontaminated pool",
        "sources": [{"output": "train.jsonl"}],
        "benchmarks": [{"output": "benchmarks/b.clean.jsonl"}],
    }
    files = {"train.jsonl": LINE, "removed.parquet": b"PAR1", "benchmarks/b.clean.jsonl": LINE, "stray.jsonl": LINE}
    both(store, tmp_path, {**files, "manifest.json": json.dumps(manifest).encode()})
    there, here = open_pool("s3://pools/p"), open_pool(str(tmp_path / "p"))
    assert [s.name for s in there.sources] == [s.name for s in here.sources] == ["train"]
    assert [Path(n).name for n in there.skipped_files] == [Path(n).name for n in here.skipped_files] == ["stray.jsonl"]
    store.client.delete_object(Bucket="pools", Key="p/train.jsonl")
    with pytest.raises(InputError, match=r"s3://pools/p/train\.jsonl: named by manifest\.json and not there"):
        open_pool("s3://pools/p")


def test_what_cannot_be_read_is_named(store: Store) -> None:
    store.put("only/notes.md", b"x")
    with pytest.raises(InputError, match=r"^s3://pools/only: no data that can be read \(seen: notes\.md\); expected"):
        open_pool("s3://pools/only")
    with pytest.raises(InputError, match=r"^s3://pools/only/notes\.md: the suffix '\.md' is unknown"):
        open_pool("s3://pools/only/notes.md")
    with pytest.raises(InputError, match=r"^s3://pools/gone: no such file or folder"):
        open_pool("s3://pools/gone")
    store.put("ds/state.json", b"{}")
    store.put("ds/dataset_info.json", b"{}")
    with pytest.raises(InputError, match=r"^s3://pools/ds: saved by `datasets`, which is read from a disk only"):
        open_pool("s3://pools/ds")


def test_one_unread_file_fails_the_whole_pool(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry.time, "sleep", lambda _: None)
    for name in "ab":
        store.put(f"p/{name}.jsonl", LINE * 2)
    pool = open_pool("s3://pools/p")
    batches = list(read_texts(pool.sources[0], ReadSettings()))
    assert counts(batches) == {"duplicate id": 1}
    store.faults += [Fault("503 Busy", method="GET")] * 50
    with pytest.raises(InputError, match=r"s3://pools/p/b\.jsonl: could not be read in 6 attempts \(status 503\)"):
        list(read_texts(pool.sources[1], ReadSettings(bad_rows="skip")))


def test_benchmarks_lie_in_stores_too(store: Store) -> None:
    store.put("bench/items.jsonl", b'{"prompt": "how do I tie a bowline"}\n' * 2)
    plain, named = open_benchmarks(["s3://pools/bench/items.jsonl", "mine=s3://pools/bench/items.jsonl::prompt"])
    assert (plain.name, plain.n_items, named.name, named.n_items) == ("items", 2, "mine", 2)
    assert plain.source.digest.startswith("etag:")
    with pytest.raises(InputError, match=r"s3://pools/bench/gone\.jsonl: no such file or folder"):
        open_benchmarks(["s3://pools/bench/gone.jsonl"])
