"""`auditkit labels` and `auditkit split` on the command line: what they print and write, and wrong input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from audit_support import files, jsonl

from auditkit.cli.main import main

LABELS = ["--label", "harm=harm", "--label", "block=block"]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a pool of 40 unlike rows in four cells and a family of two labels; it is the current one."""
    rows = [
        {"text": " ".join(f"w{i}x{j}" for j in range(9)), "harm": i % 2, "block": i // 2 % 2, "source": f"s{i % 2}"}
        for i in range(40)
    ]
    jsonl(tmp_path / "pool.jsonl", [*rows, {**rows[0], "harm": 1}])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def test_labels_prints_the_cells_and_writes_only_where_asked(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["labels", "pool.jsonl", *LABELS, "--source-column", "source"]) == 0
    out = capsys.readouterr().out
    assert "A is harm, B is block." in out
    assert "all   10  10   11   10        0     48.8 %  -0.024" in out
    assert "1 family (2 rows) under harm and 0 families (0 rows) under block" in out
    assert "Warning: only 11 rows are flagged by harm alone (D10), fewer than 30" in out
    assert set(files(work)) == {"pool.jsonl"}
    assert main(["labels", "pool.jsonl", *LABELS, "--out", "found"]) == 0
    assert "labels.json" in capsys.readouterr().out
    assert set(files(work / "found")) == {"labels.json", "conflicts.parquet"}


def test_split_prints_the_counts_and_the_proof(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["split", "pool.jsonl", *LABELS, "--train", "0.6", "--dev", "0.2", "--test", "0.2", "--seed", "5"]
    assert main([*command, "--out", "sides"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("41 rows = 25 train + 8 dev + 8 test\n")
    assert "40 near-duplicate families, 1 of several rows, the largest of 2 rows" in out
    assert "near pairs on two sides: 0 (texts of the other sides: " in out
    manifest = json.loads((work / "sides/manifest.json").read_text("utf-8"))
    assert manifest["settings"]["shares"] == {"train": "0.6", "dev": "0.2", "test": "0.2"}
    assert manifest["settings"]["seed"] == 5


def test_hostile_names_are_shown_not_obeyed(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": f"row number w{i}", "a": i % 2, "b": i // 2 % 2, "from": "[red]\x1b[2J"} for i in range(8)]
    jsonl(work / "odd.jsonl", [*rows, {**rows[0], "from": "other"}])
    assert main(["labels", "odd.jsonl", "--label", "A=a", "--label", "B=b", "--source-column", "from"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[red]<U+001B>[2J" in out


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["labels", "pool.jsonl"], "0 policies given (none), expected exactly two"),
        (["labels", "pool.jsonl", "--label", "harm=harm"], "1 policies given (harm), expected exactly two"),
        (["labels", "pool.jsonl", *LABELS[:2], "--label", "b=blok"], "no label column 'blok' for policy 'b'; did you"),
        (["labels", "pool.jsonl", *LABELS[:2], "--label", "b=source"], "none of the 41 values of column 'source' is a"),
        (["labels", "pool.jsonl", *LABELS[:2], "--label", "b=source:s0=1,s1=1"], "policy b: all 41 known labels are 1"),
        (["labels", "pool.jsonl", *LABELS, "--source-column", "sauce"], "no source column 'sauce'; did you mean"),
        (["labels", "none.jsonl", *LABELS], "none.jsonl: no such file"),
        (["split", "pool.jsonl", "--out", "out", "--train", "0.9"], "shares 0.9 + 0.1 + 0.1 make 1.1"),
        (["split", "pool.jsonl", "--out", "out", "--train", "nan"], "share train is 'nan', expected a number above 0"),
        (["split", "pool.jsonl", "--out", "out", "--test", "0"], "share test is 0, expected a number above 0"),
        (["split", "pool.jsonl", "--out", "."], "holds the input"),
        (
            ["split", "two.jsonl", "--out", "out"],
            "2 rows are 2 near-duplicate families (the largest has 1 rows), fewer",
        ),
        (["split", "pool.jsonl", "--out", "out", "--rules", "no.toml"], "rules file no.toml cannot be read"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(
    work: Path, capsys: pytest.CaptureFixture[str], command: Sequence[str], says: str
) -> None:
    jsonl(work / "two.jsonl", ["One row of text.", "Another row, quite unlike."])
    before = files(work)
    assert main(command) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.startswith("auditkit: error: ")
    assert error.count("\n") == 1
    assert files(work) == before
