"""`auditkit evaluate`: the predictions of any guard, in the terminal and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit_support import jsonl

from auditkit.cli.main import main

Capture = pytest.CaptureFixture[str]
ROWS = [
    {"id": "1", "score": 0.9, "status": "ok", "harm": 1, "block": 1, "label": 1},
    {"id": "2", "score": 0.2, "status": "ok", "harm": 0, "block": 0, "label": 0},
    {"id": "3", "score": 0.5, "status": "ok", "harm": 0, "block": 1, "label": 0},
    {"id": "4", "score": None, "status": "refused", "harm": 1, "block": 0, "label": 1},
]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    jsonl(tmp_path / "guard.jsonl", ROWS)
    (tmp_path / "words.csv").write_text("id,decision\n1,unsafe\n2,safe\n3,safe\n4,unsafe\n", "utf-8")
    (tmp_path / "labels.csv").write_text("id,label\n1,1\n2,0\n3,1\n4,1\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(words: list[str], capsys: Capture) -> dict[str, list[str]]:
    """Return measure -> the other cells of its line."""
    assert main(["evaluate", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    return {name.strip(): rest.split() for name, _, rest in (line.partition("  ") for line in lines) if rest}


def test_rates_with_failures_both_ways(work: Path, capsys: Capture) -> None:
    found = printed(["guard.jsonl", "--policy", "harm", "--policy", "block"], capsys)
    assert found["failed predictions"] == ["0.250", "[0.046,", "0.699]", "4"]
    # 0.9 and 0.5 are flagged (p >= 0.5), 0.2 is not; with the refusal as flagged three of four.
    assert found["flag rate"] == ["0.667", "[0.208,", "0.939]", "3", "0.750"]
    assert found["over-refusal, harm"] == ["0.500", "[0.095,", "0.905]", "2", "0.500"]
    assert found["over-refusal, block"] == ["0.000", "[0.000,", "0.793]", "1", "0.500"]
    assert found["AUROC, benchmark's labels"] == ["1.000", "3"]
    assert found["agreement with harm on D"][0] == "0.000"
    assert found["direction"] == ["-", "1", "-"]


def test_decisions_only_have_no_auroc(work: Path, capsys: Capture) -> None:
    found = printed(["words.csv", "--labels", "labels.csv"], capsys)
    assert found["flag rate"] == ["0.500", "[0.150,", "0.850]", "4"]
    assert found["miss, benchmark's labels"][0] == "0.333"
    assert found["AUROC, benchmark's labels"][0] == "-"


def test_json_has_every_number_and_null_for_undefined_ones(work: Path, capsys: Capture) -> None:
    assert main(["evaluate", "guard.jsonl", "--policy", "harm", "--policy", "block", "--out", "out/eval.json"]) == 0
    body = json.loads((work / "out/eval.json").read_text("utf-8"))
    assert body["format"] == "auditkit evaluation"
    assert body["cells"]["test"] == {"n": 4, "c1": 1, "c0": 1, "d10": 1, "d01": 1, "n_unknown": 0}
    rows = {(row["part"], row["metric"], row["point"]): row for row in body["metrics"]}
    assert rows["all", "agreement_auroc", ""]["value"] is None
    assert rows["all", "flag_rate", "native"]["value"] == pytest.approx(2 / 3)
    assert rows["fail_closed", "flag_rate", "native"]["value"] == 0.75


def test_several_guards_stand_one_below_the_other(work: Path, capsys: Capture) -> None:
    assert main(["evaluate", "guard.jsonl", "words.csv", "--set", "mine"]) == 0
    out = capsys.readouterr().out
    assert out.index("guard, on mine") < out.index("words, on mine")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["none.csv"], "none.csv: no such file"),
        (["words.csv", "--policy", "harm"], "--policy harm: expected it twice, with the columns of A and of B"),
        (["words.csv", "--policy", "harm", "--policy", "block"], "have a column 'harm'"),
        (["words.csv", "--fpr", "2"], "--fpr is 2.0, expected a number from 0 to 1"),
        (["words.csv", "--column", "score"], "--column 'score', expected MEANING=COLUMN"),
        (["words.csv", "--column", "wrong=x"], "unknown meaning 'wrong'"),
        (["words.csv", "--out", "."], "--out . is a folder, expected the name of a JSON file"),
        (["labels.csv"], "no column of scores or decisions"),
    ],
)
def test_wrong_use_is_one_line(work: Path, words: list[str], expected: str, capsys: Capture) -> None:
    assert main(["evaluate", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("auditkit: error: ")
    assert expected in err
    assert err.count("\n") == 1
