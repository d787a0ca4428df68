"""Predictions of any guard, from every format, and what a person gets wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sklearn.metrics

import auditkit.evaluate
from auditkit.errors import AuditkitError, BadRecordError, FieldError, InputError, LabelError, UsageError
from auditkit.evaluate.guard_rows import VERDICTS
from auditkit.evaluate.guards import evaluate_predictions
from auditkit.evaluate.metrics import value
from auditkit.read.labels import DEFAULT_VALUES

ROWS = [
    {"id": "p1", "score": 0.9, "harm": 1, "block": 1},
    {"id": "p2", "score": 0.5, "harm": 0, "block": 1},
    {"id": "p3", "score": 0.2, "harm": 0, "block": 0},
    {"id": "p4", "score": 0.6, "harm": 1, "block": 0},
]


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "json", "frame", "list"])
def test_every_format_says_the_same(tmp_path: Path, suffix: str) -> None:
    frame, path = pl.DataFrame(ROWS), tmp_path / f"guard.{suffix}"
    source: Any = path
    if suffix == "jsonl":
        jsonl(path, ROWS)
    elif suffix == "json":
        path.write_text(json.dumps(ROWS), "utf-8")
    elif suffix in ("csv", "parquet"):
        getattr(frame, f"write_{suffix}")(path)
    else:
        source = frame if suffix == "frame" else ROWS
    found = evaluate_predictions(source, policies=("harm", "block"), guard="g")
    assert value(found.metrics, "acc_a", point="native", arm="g") == 0.75
    assert value(found.metrics, "acc_b", point="native") == 0.75
    assert found.ids["id"].to_list() == ["p1", "p2", "p3", "p4"]
    assert found.cells["test"].d10 == found.cells["test"].d01 == 1
    assert "direction is not identifiable" in found.nested["test"]
    assert found.notes == ()


def test_the_package_is_the_function() -> None:
    found = auditkit.evaluate(ROWS, policies=("harm", "block"))  # type: ignore[operator]
    assert value(found.metrics, "flag_rate", point="native") == 0.75


def test_importing_the_package_loads_no_statistics() -> None:
    heavy = "sklearn", "scipy", "statsmodels", "torch"
    code = f"import sys, auditkit, auditkit.evaluate; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("first", ["", "from auditkit.evaluate.cells import count_cells; ", "auditkit.evaluate; "])
def test_the_public_name_can_be_called_whatever_was_imported_before(first: str) -> None:
    rows = [{"id": 1, "score": 0.5}]
    code = (
        f"import auditkit; {first}print(auditkit.evaluate({rows}).metrics.height, auditkit.evaluate.metrics.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7", "metrics"]  # failures, and a flag rate at each operating point


def test_labels_come_from_another_file(tmp_path: Path) -> None:
    guard = jsonl(tmp_path / "guard.jsonl", [{"id": i, "score": s} for i, s in (("x", 0.9), ("y", 0.1), ("z", 0.7))])
    labels = jsonl(
        tmp_path / "labels.jsonl",
        [{"id": "y", "label": "safe"}, {"id": "x", "label": "unsafe"}, {"id": "w", "label": 1}],
    )
    found = evaluate_predictions(guard, labels)
    assert value(found.metrics, "auroc_expected") == 1.0
    assert found.predictions["arm"].unique().to_list() == ["guard"]
    assert found.notes == (
        "1 of 3 predicted prompts have no label: they count in flag rates only",
        "1 labelled prompts have no prediction",
    )


def test_several_guards_are_told_apart_by_their_files(tmp_path: Path) -> None:
    paths = [jsonl(tmp_path / f"{name}.jsonl", ROWS) for name in ("one", "two")]
    found = evaluate_predictions(paths, policies=("harm", "block"))
    assert found.predictions["arm"].unique(maintain_order=True).to_list() == ["one", "two"]
    with pytest.raises(InputError, match="guard 'same' predicts prompt 'p1' of set 'test' twice"):
        evaluate_predictions(paths, policies=("harm", "block"), guard="same")


def test_a_run_of_guard_eval_harness(tmp_path: Path) -> None:
    rows = [
        {"sample_id": "x-1", "unsafe_score": 0.87, "unsafe_label": True, "threshold": 0.5, "metadata": {}},
        {"sample_id": "x-2", "unsafe_score": 0.4, "unsafe_label": True, "threshold": 0.3, "metadata": {}},
    ]
    path = jsonl(tmp_path / "my-run" / "datasets" / "xstest" / "predictions.jsonl", rows)
    found = evaluate_predictions(path, [{"id": "x-1", "expected": 1}, {"id": "x-2", "expected": 0}])
    assert found.predictions.select("arm", "set").row(0) == ("my-run", "xstest")
    assert value(found.metrics, "flag_rate", point="native") == 0.5
    assert value(found.metrics, "flag_rate", point="decision") == 1.0
    assert value(found.metrics, "over_refusal_expected", point="decision") == 1.0


def test_decisions_only_have_rates_and_no_auroc() -> None:
    rows = [
        {"prompt": f"q{i}", "verdict": v, "expected": e}
        for i, (v, e) in enumerate((("unsafe", 1), ("safe", 1), ("safe", 0)))
    ]
    found = evaluate_predictions(rows)
    assert value(found.metrics, "auroc_expected") is None
    assert value(found.metrics, "recall_expected", point="native") == 0.5
    assert found.det.height == 0


def test_failures_are_shown_both_ways() -> None:
    rows = [
        {"id": 1, "score": 0.9, "status": "ok", "expected": 1},
        {"id": 2, "score": None, "status": "refused", "expected": 0},
        {"id": 3, "score": 0.1, "status": "", "expected": 0},
    ]
    found = evaluate_predictions(rows)
    assert value(found.metrics, "failures") == pytest.approx(1 / 3)
    assert value(found.metrics, "over_refusal_expected", point="native") == 0.0
    assert value(found.metrics, "over_refusal_expected", point="native", part="fail_closed") == 0.5


def test_a_dev_set_gives_the_operating_points() -> None:
    rows = [
        {"id": i, "set": name, "score": (i + 1) / 20, "label_a": int(i > 9), "label_b": int(i > 9)}
        for name in ("dev", "test")
        for i in range(20)
    ]
    found = evaluate_predictions(rows)
    chosen = {t.point: t.threshold for t in found.thresholds}
    assert chosen["best_f1_a"] == 11 / 20
    assert value(found.metrics, "acc_a", point="best_f1_a", set="test") == 1.0


def test_auroc_is_scikit_learns() -> None:
    rows = [{"id": i, "score": s, "expected": e} for i, (s, e) in enumerate(((0.3, 1), (0.4, 0), (0.8, 1), (0.8, 0)))]
    expected = sklearn.metrics.roc_auc_score([1, 0, 1, 0], [0.3, 0.4, 0.8, 0.8])
    assert value(evaluate_predictions(rows).metrics, "auroc_expected") == expected


def test_words_can_be_mapped() -> None:
    rows = [{"id": 1, "decision": "Deny", "expected": 1}, {"id": 2, "decision": "pass", "expected": 0}]
    with pytest.raises(BadRecordError, match=r"memory, line 1: decision is 'Deny'; expected one of .*verdicts="):
        evaluate_predictions(rows)
    found = evaluate_predictions(rows, verdicts={"deny": 1, "pass": 0, "1": 1, "0": 0})
    assert value(found.metrics, "accuracy_expected", point="native") == 1.0


def test_verdicts_mean_what_a_pools_labels_mean() -> None:
    assert {text: DEFAULT_VALUES[text] for text in VERDICTS} == VERDICTS


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([], UsageError, "no predictions"),
        ([{"score": 0.5}], FieldError, "no column of ids or prompts among score"),
        ([{"id": 1, "a\n\x1b[2J": 1}], InputError, r"among id, 'a\\n\\x1b\[2J'; name one"),
        ([{"id": 1, "note": "x"}], InputError, "no column of scores or decisions among id, note"),
        ([{"id": 1, "score": 1.2}], BadRecordError, r"line 1: score is 1\.2; expected a probability"),
        ([{"id": 1, "score": float("nan")}], BadRecordError, "score is nan"),
        ([{"id": 1, "score": "high"}], BadRecordError, "score is 'high'"),
        ([{"id": 1, "score": True}], BadRecordError, "score is True"),
        ([{"id": 1, "score": None}], BadRecordError, "expected a score or a decision, or a status"),
        ([{"id": None, "score": 0.5}], BadRecordError, "id is None"),
        ([{"id": 1, "score": 0.5, "status": "fine"}], BadRecordError, "status is 'fine'"),
        ([{"id": 1, "score": None, "status": "ok"}], BadRecordError, "ok only with a score"),
        ([{"id": 1, "score": 0.5, "seed": "x"}], BadRecordError, "seed is 'x'; expected a whole number"),
        (
            [{"id": 1, "score": 0.5, "seed": s, "label": s} for s in (0, 1)],
            LabelError,
            "expected is 0 in one row and 1",
        ),
        ([{"id": 1, "score": 0.5}] * 2, InputError, "twice"),
    ],
)
def test_what_cannot_be_used_is_one_line(rows: list[dict[str, Any]], kind: type[AuditkitError], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        evaluate_predictions(rows)
    assert "\n" not in str(caught.value)


def test_bad_arguments_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(FieldError, match=r"column 'scor' is missing; columns are .*did you mean 'score'"):
        evaluate_predictions(ROWS, columns={"score": "scor"})
    with pytest.raises(FieldError, match="unknown meaning 'scores'"):
        evaluate_predictions(ROWS, columns={"scores": "score"})
    with pytest.raises(UsageError, match="policies"):
        evaluate_predictions(ROWS, policies=("harm",))
    with pytest.raises(LabelError, match="no predictions and no labels have a column 'harmful'"):
        evaluate_predictions(ROWS, policies=("harmful", "block"))
    with pytest.raises(LabelError, match="no column of labels among id"):
        evaluate_predictions([{"id": 1, "score": 0.5}], [{"id": 1}])
    with pytest.raises(InputError):
        evaluate_predictions(tmp_path / "missing.jsonl")
    with pytest.raises(InputError):
        evaluate_predictions(tmp_path / "missing.json")


# ---------------------------------------------------------------- Inspect logs


def sample(number: int, target: str, score: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    scores = {} if score is None else {"scores": {"guard_scorer": score}}
    return {"id": number, "epoch": 1, "input": "a prompt", "target": target, **scores, **more}


LOG = {
    "version": 2,
    "status": "success",
    "eval": {"task": "xstest", "model": "org/guard"},
    "samples": [
        sample(1, "unsafe", {"value": "C", "answer": None}),
        sample(2, "unsafe", {"value": "I", "answer": "safe"}),
        sample(3, "safe", {"value": {"unsafe_score": 0.7}}),
        sample(4, "safe", {"value": "I", "metadata": {"p_unsafe": 0.6}}),
        sample(5, "safe", None, error={"message": "timeout"}),
        sample(6, "safe", None, output={"choices": [{"stop_reason": "content_filter"}]}),
        sample(7, "safe", {"value": float("nan")}, output={"choices": [{"stop_reason": "max_tokens"}]}),
        sample(8, "safe", {"value": "I", "answer": "who knows"}, output={"choices": []}),
        sample(9, "?", {"value": "C"}),
    ],
}


def check_log(found: auditkit.evaluate.Evaluation) -> None:
    rows = found.predictions.sort("item")
    assert rows.select("arm", "seed", "set").row(0) == ("org/guard", 1, "xstest")
    assert rows["score"].to_list() == [None, None, 0.7, 0.6, None, None, None, None, None]
    assert rows["decision"].to_list() == [1, 0, None, None, None, None, None, 1, None]
    assert rows["status"].to_list() == ["ok", "ok", "ok", "ok", "error", "refused", "truncated", "ok", "unparsed"]
    assert found.targets.sort("item")["expected"].to_list() == [1, 1, 0, 0, 0, 0, 0, 0, None]


def test_an_inspect_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(LOG), "utf-8")
    check_log(evaluate_predictions(path))


def test_an_eval_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({**LOG, "samples": None}))
        for one in LOG["samples"]:
            archive.writestr(f"samples/{one['id']}_epoch_1.json", json.dumps(one))
    check_log(evaluate_predictions(path))
    path.write_bytes(b"no zip")
    with pytest.raises(InputError, match="inspect log convert --to json"):
        evaluate_predictions(path)


def test_inspect_logs_that_need_a_word(tmp_path: Path) -> None:
    path = tmp_path / "log.json"

    def write(*samples: dict[str, Any]) -> None:
        path.write_text(json.dumps({**LOG, "samples": list(samples)}), "utf-8")

    write(sample(1, "safe", {"value": 0.3}))
    with pytest.raises(BadRecordError, match=r"score value 0\.3 may be P\(flag\) or a grade"):
        evaluate_predictions(path)
    assert evaluate_predictions(path, value_is="score").predictions["score"].to_list() == [0.3]
    with pytest.raises(UsageError, match="value_is='scores'"):
        evaluate_predictions(path, value_is="scores")
    with pytest.raises(UsageError, match="no scorer 'guard'"):
        evaluate_predictions(path, scorer="guard")
    write({**sample(1, "safe", None), "scores": {"x": {"value": "C"}, "y": {"value": "I"}}})
    with pytest.raises(UsageError, match=r"several scorers \(x, y\)"):
        evaluate_predictions(path)
    assert evaluate_predictions(path, scorer="y").predictions["decision"].to_list() == [1]
    write()
    with pytest.raises(InputError, match="without samples"):
        evaluate_predictions(path)
    write({"epoch": 1})
    with pytest.raises(BadRecordError, match="without id"):
        evaluate_predictions(path)
