"""--shard I/N and merge: the same bytes as at once, whatever the folders; what is missing or foreign is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from audit_support import jsonl
from run_support import ITEMS, audit, parts, results, rows, settings

import auditkit
from auditkit.cli.main import main
from auditkit.errors import InputError, OutputError, StaleAuditError, UsageError
from auditkit.formats import columnar
from auditkit.stories.scan import Scanner

N_PIECES = 8


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pool of seven pieces of a Parquet file and a JSONL file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(columnar, "PIECE_BYTES", 1)
    (tmp_path / "pool").mkdir()
    pl.DataFrame(rows(605)).write_parquet("pool/a.parquet", row_group_size=90)
    jsonl(tmp_path / "pool/b.jsonl", rows(90, seed=2))
    jsonl(tmp_path / "bench.jsonl", ITEMS)
    return tmp_path


def scan(number: int, of: int, out: str = "out", **more: Any) -> auditkit.stories.shards.ShardResult:
    return auditkit.audit_shard("pool", "bench.jsonl", settings(**more), shard=(number, of), out=out)


@pytest.mark.parametrize("of", [1, 3, N_PIECES])
def test_merged_shards_are_the_audit_at_once(of: int, work: Path) -> None:
    audit("whole", "pool")
    done = [scan(number, of) for number in range(of, 0, -1)]
    assert sum(shard.n_rows for shard in done) == 695
    assert sum(shard.n_pieces for shard in done) == N_PIECES
    assert not Path("out/report.json").exists()
    assert sorted(parts("out")) == sorted(parts("whole"))
    report = auditkit.merge(["out"], out="out")
    assert results("out") == results("whole")
    assert report.not_examined["duplicate id"] == 10
    assert report.run["n_shards"] == len(parts("out"))
    again = audit("out", "pool")
    assert again.run["n_shards_reused"] == again.run["n_shards"]


def test_shards_lie_in_several_folders(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit("whole", "pool")
    for number in (1, 2, 3):
        scan(number, 3, out=f"node-{number}")
    Path("pool").rename("gone")  # the pool is not read again
    auditkit.merge(["node-1", "node-2", "node-3"], out="merged")
    assert results("merged") == results("whole")
    assert not Path("merged/parts").exists()


def test_missing_shards_are_named(work: Path) -> None:
    scan(1, 4)
    with pytest.raises(UsageError, match=r"^out: shards 2, 3 and 4 of 4 missing; run auditkit audit --shard I/4"):
        auditkit.merge(["out"], out="merged")
    scan(2, 4)
    scan(4, 4)
    with pytest.raises(UsageError, match=r"^out: shard 3 of 4 missing"):
        auditkit.merge(["out"], out="merged")
    Path("out/shard-1-of-4.json").write_text("{")
    with pytest.raises(InputError, match=r"shard-1-of-4\.json: cannot be read as what auditkit audit --shard writes"):
        auditkit.merge(["out"], out="merged")
    assert not Path("merged").exists()


def test_a_part_that_is_gone_is_named(work: Path) -> None:
    scan(1, 1)
    next(Path("out/parts").iterdir()).write_bytes(b"")
    with pytest.raises(OutputError, match="is gone or damaged since it was made; run the same"):
        auditkit.merge(["out"], out="merged")
    assert not Path("merged").exists()


def test_shards_of_two_audits_are_not_merged(work: Path) -> None:
    scan(1, 2, out="one")
    scan(2, 2, out="two", tiers=("exact",))
    with pytest.raises(UsageError, match="two holds shards of another audit than one"):
        auditkit.merge(["one", "two"], out="merged")
    with pytest.raises(InputError, match=r"pool: no shards of an audit \(plan\.json is missing"):
        auditkit.merge(["one", "pool"], out="merged")
    with pytest.raises(UsageError, match="no folder given"):
        auditkit.merge([], out="merged")
    audit("whole", "pool")
    with pytest.raises(UsageError, match="whole: no finished shard"):
        auditkit.merge(["whole"], out="merged")
    scan(2, 2, out="one")
    audit("whole", "pool", tiers=("exact",), overwrite=True)
    with pytest.raises(OutputError, match="whole holds an audit of other inputs"):
        auditkit.merge(["one"], out="whole")


def test_another_benchmark_or_version_is_stale(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan(1, 1)
    before = Path("bench.jsonl").read_bytes()
    jsonl(work / "bench.jsonl", ITEMS[:2])
    with pytest.raises(StaleAuditError, match="the benchmarks have changed"):
        auditkit.merge(["out"], out="merged")
    Path("bench.jsonl").write_bytes(before)
    monkeypatch.setattr(Scanner, "digest", "another")
    with pytest.raises(StaleAuditError, match="another version of auditkit or of its packages"):
        auditkit.merge(["out"], out="merged")


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), (1, 0)])
def test_a_shard_lies_between_one_and_n(shard: tuple[int, int], work: Path) -> None:
    with pytest.raises(UsageError, match=r"expected I/N with I from 1 to N"):
        scan(*shard)


def test_too_many_shards_say_how_many_pieces_there_are(work: Path) -> None:
    with pytest.raises(UsageError, match=r"shard 1/9: the pool has 8 pieces .* fewer than 9; give an N of 8 at most"):
        scan(1, 9)
    assert not Path("out").exists()


def test_parts_are_kept_on_a_disk(work: Path) -> None:
    with pytest.raises(UsageError, match="s3://bucket/audit: a shard's parts are kept on a disk"):
        scan(1, 2, out="s3://bucket/audit")


def test_another_plan_takes_the_shards_over(work: Path) -> None:
    scan(1, 2)
    auditkit.audit_shard("pool", "bench.jsonl", settings(tiers=("exact",)), shard=(2, 2), out="out", overwrite=True)
    assert [path.name for path in Path("out").glob("shard-*")] == ["shard-2-of-2.json"]


# ---------------------------------------------------------------- the commands


def command(*more: str) -> list[str]:
    return ["audit", "pool", "-b", "bench.jsonl", *more]


def test_the_commands(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        assert main(command("--shard", f"{number}/2", "--out", "out")) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"shard {number} of 2: ")
        assert said.endswith("when all 2 are done: auditkit merge out --out DIR\n")
    assert main(["merge", "out", "--out", "merged", "--fail-over", "0"]) == 1
    merged = capsys.readouterr().out
    assert main(command("--out", "whole", "--fail-over", "0")) == 1
    assert capsys.readouterr().out == merged
    assert results("merged") == results("whole")
    assert main(command("--shard", "1/2", "--out", "out")) == 0
    assert "scans known from an earlier run" in capsys.readouterr().out
    assert json.loads(Path("merged/timing.json").read_text())["run"]["engine"] == "merge"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shard", "one"], "--shard is 'one', expected I/N with I from 1 to N, for example 2/8"),
        (["--shard", "x/2"], "--shard is 'x/2', expected"),
        (["--shard", "1/2", "--fail-over", "0"], "give the gate's options to auditkit merge"),
    ],
)
def test_a_slip_is_one_line(options: list[str], message: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command("--out", "out", *options)) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
