"""A run that was stopped goes on: the same bytes, no finished shard scanned twice; a grown pool scans what is new."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from audit_support import jsonl
from run_support import ITEMS, SHARD_BYTES, audit, parts, results, rows, settings

import auditkit
from auditkit.errors import BadRecordError, OutputError, UsageError
from auditkit.formats import columnar
from auditkit.records import TextBatch
from auditkit.stories import scan_pool
from auditkit.stories.scan import Scanner, Shard


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    jsonl(tmp_path / "pool.jsonl", rows(605))
    jsonl(tmp_path / "bench.jsonl", ITEMS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the keys of the shards that were really scanned."""
    scanned: list[str] = []
    scan = Scanner.scan

    def counted(self: Scanner, batch: TextBatch) -> Shard:
        scanned.append(scan_pool.key_of(batch, self.digest))
        return scan(self, batch)

    monkeypatch.setattr(Scanner, "scan", counted)
    return scanned


# ---------------------------------------------------------------- stopped and resumed

CODE = """
import sys, auditkit
read = auditkit.ReadSettings(labels=(auditkit.LabelRule("harm", "harm"),), shard_bytes=int(sys.argv[1]))
auditkit.audit(("pool.jsonl",), "bench.jsonl", auditkit.AuditSettings(read=read), out="out")
"""


def kill_after(n_parts: int) -> None:
    """Start an audit in another process, and kill it when it has made so many parts more."""
    before = len(parts("out"))
    process = subprocess.Popen([sys.executable, "-c", CODE, str(SHARD_BYTES)])
    while process.poll() is None and len(parts("out")) < before + n_parts:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_run_that_is_killed_goes_on(work: Path, scans: list[str]) -> None:
    audit("whole")
    n_shards = len(scans)
    assert n_shards > 25
    known: dict[str, tuple[int, int]] = {}
    for n_parts in (1, 5, 9):
        kill_after(n_parts)
        assert known.items() <= parts("out").items()
        known = parts("out")
    scans.clear()
    report = audit("out")
    assert known.items() <= parts("out").items()
    assert len(scans) == n_shards - len(known) > 0
    assert (report.run["n_shards"], report.run["n_shards_reused"]) == (n_shards, len(known))
    assert results("out") == results("whole")
    assert sorted(parts("out")) == sorted(parts("whole"))


def test_a_damaged_part_is_made_again(work: Path, scans: list[str]) -> None:
    audit("out")
    expected, n_shards = results("out"), len(scans)
    scans.clear()
    for path, size in zip(sorted(Path("out/parts").iterdir()), (0, 100, 1000), strict=False):
        path.write_bytes(path.read_bytes()[:size])
    assert audit("out").run["n_shards_reused"] == n_shards - 3
    assert (len(scans), results("out")) == (3, expected)


def test_another_plan_is_refused_and_overwrite_uses_what_fits(work: Path, scans: list[str]) -> None:
    audit("out")
    with pytest.raises(OutputError, match="holds an audit of other inputs, settings or version"):
        audit("out", tiers=("exact",))
    jsonl(work / "pool.jsonl", [*rows(605), *rows(60, seed=2)])
    n_before = len(scans)
    scans.clear()
    with pytest.raises(OutputError, match="holds an audit of other inputs"):
        audit("out")
    report = audit("out", overwrite=True)
    assert report.run["n_shards_reused"] == n_before - 1  # the last shard of the old file grew
    assert len(scans) == report.run["n_shards"] - n_before + 1
    audit("new")
    assert results("out") == results("new")
    assert sorted(parts("out")) == sorted(parts("new"))


def test_parts_of_another_folder_are_reused(work: Path, scans: list[str]) -> None:
    audit("old")
    jsonl(work / "more/extra.jsonl", rows(30, seed=3))
    (work / "pool.jsonl").rename(work / "more/renamed.jsonl")
    n_before, before = len(scans), parts("old")
    scans.clear()
    report = audit("new", "more", run=auditkit.RunSettings(reuse=("old",)))
    assert (report.run["n_shards_reused"], len(scans)) == (n_before, report.run["n_shards"] - n_before)
    assert parts("old") == before
    audit("fresh", "more")
    assert results("new") == results("fresh")
    with pytest.raises(UsageError, match=r"bench\.jsonl holds no parts"):
        audit("other", "more", run=auditkit.RunSettings(reuse=("bench.jsonl",)))
    assert not Path("other").exists()


def test_an_error_later_on_keeps_the_parts_before(work: Path, scans: list[str]) -> None:
    lines = (work / "pool.jsonl").read_bytes()
    (work / "pool.jsonl").write_bytes(lines + b"{broken\n")
    with pytest.raises(BadRecordError, match="line 606"):
        audit("out")
    n_parts = len(parts("out"))
    assert n_parts == len(scans)
    assert sorted(path.name for path in Path("out").iterdir()) == ["parts", "plan.json"]
    (work / "pool.jsonl").write_bytes(lines)
    assert audit("out", overwrite=True).run["n_shards_reused"] == n_parts


def test_an_error_in_the_first_shard_leaves_no_trace(work: Path) -> None:
    (work / "pool.jsonl").write_bytes(b"{broken\n")
    with pytest.raises(BadRecordError):
        audit("out")
    assert not Path("out").exists()


# ---------------------------------------------------------------- how it is run changes nothing


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("shard_bytes", [1, SHARD_BYTES, 1 << 24])
def test_workers_and_shards_change_no_byte(shard_bytes: int, workers: int, work: Path) -> None:
    jsonl(work / "pool.jsonl", rows(120))
    audit("usual")
    audit("out", shard_bytes=shard_bytes, run=auditkit.RunSettings(workers=workers))
    for name in ("matches.parquet", "items.parquet"):
        assert results("out")[name] == results("usual")[name]
    usual, other = (json.loads(results(out)["report.json"]) for out in ("usual", "out"))
    assert other["settings"].pop("shard_bytes") == shard_bytes
    usual["settings"].pop("shard_bytes")
    assert other == usual


def test_pieces_of_a_parquet_file_change_no_byte(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame(rows(605)).write_parquet("pool.parquet", row_group_size=90)
    whole = audit("whole", "pool.parquet")
    assert whole.not_examined["duplicate id"] == 5
    monkeypatch.setattr(columnar, "PIECE_BYTES", 1)
    audit("out", "pool.parquet")
    assert results("out") == results("whole")
    assert len(parts("out")) != len(parts("whole"))


def test_in_memory_nothing_is_written_and_equal_files_are_scanned_once(work: Path, scans: list[str]) -> None:
    records = rows(100)
    report = auditkit.audit({"a": records, "b": records}, {"bench": ITEMS}, settings(1 << 20), run=one_worker())
    assert (report.run["n_shards"], len(scans)) == (2, 1)
    assert [source.n_rows_contaminated for source in report.sources] == [15, 15]
    assert set(report.matches["pool"]) == {"a", "b"}


def one_worker() -> auditkit.RunSettings:
    return auditkit.RunSettings(workers=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workers": -1}, "workers is -1, expected a whole number from 1"),
        ({"engine": "rya"}, "unknown engine 'rya'; did you mean 'ray'"),
        ({"address": "10.0.0.1:6379"}, "give engine ray with it"),
    ],
)
def test_run_settings_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        auditkit.RunSettings(**given)
