"""`auditkit inspect` on the command line: what it prints and writes, and wrong input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from audit_support import files, jsonl

from auditkit.cli.main import main

LABELS = ["--label", "harm=harm", "--label", "block=block"]
TEXT = "How do I keep basil alive on a north facing window in winter?"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a pool of 20 unlike rows and a pair of equal ones with opposite labels; it is the current one."""
    rows = [{"text": " ".join(f"w{i}x{j}" for j in range(9)), "harm": i % 2, "block": i // 2 % 2} for i in range(20)]
    jsonl(
        tmp_path / "pool.jsonl", [*rows, {"text": TEXT, "harm": 1, "block": 0}, {"text": TEXT, "harm": 0, "block": 0}]
    )
    jsonl(tmp_path / "eval.jsonl", [{"prompt": TEXT, "label": 1}])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def test_it_prints_the_counts_and_each_pair(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "pool.jsonl", *LABELS, "--out", "out", "--max-tokens", "12", "-b", "eval.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "22 rows of 1 file, 22 prompts" in out
    assert "exact 1 2 near 0 0" in " ".join(out.split())
    assert "harm: pool:20 is 1 (" in out
    assert "and pool:21 is 0 (" in out
    assert "harm: pool:21 is 0 (" in out
    assert "and eval:0 is 1 (" in out
    assert "11-30 2 9.1 % 2" in " ".join(out.split())
    assert TEXT not in out
    assert set(files(work / "out")) == {
        "rows.parquet", "families.parquet", "conflicts.parquet", "inspection.json", "inspection.md"
    }  # fmt: skip


def test_long_tables_say_what_they_leave_out(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": f"word{i} of row w{i}", "from": f"source {i}"} for i in range(15)]
    jsonl(work / "many.jsonl", rows)
    assert main(["inspect", "many.jsonl", "--source-column", "from", "--no-families", "--out", "out"]) == 0
    assert "and 3 more in inspection.md" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["none.jsonl", "--out", "out"], "none.jsonl: no such file"),
        (["pool.jsonl", "--out", "."], "holds the input"),
        (["pool.jsonl", "--out", "out", "--label", "text=harm"], "policy 'text' has the name of something that is"),
        (["pool.jsonl", "--out", "out", "--label", "h=hram"], "no label column 'hram' for policy 'h'; did you mean"),
        (["pool.jsonl", "--out", "out", "-b", "eval.jsonl"], "and no labels: name them, --label P=COLUMN"),
        (["pool.jsonl", "--out", "out", *LABELS, "-b", "evil"], "evil"),
        (["pool.jsonl", "--out", "out", "--long-tokens", "0"], "long_tokens is 0, expected a whole number from 1"),
        (["pool.jsonl", "--out", "out", "--max-tokens", "-1"], "max_tokens is -1, expected a whole number from 1"),
        (["pool.jsonl", "--out", "out", "--source-column", "txt"], "no source column 'txt'; did you mean 'text'?"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(
    work: Path, capsys: pytest.CaptureFixture[str], command: Sequence[str], says: str
) -> None:
    before = files(work)
    assert main(["inspect", *command]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.startswith("auditkit: error: ")
    assert error.count("\n") == 1
    assert files(work) == before
