"""`auditkit study` and `auditkit demo --study` as a person uses them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from study_support import save_model, study_values, write_inputs, write_study

from auditkit.cli import demo as demo_command
from auditkit.cli.main import main
from auditkit.demo import write_demo, write_demo_study
from auditkit.stories.study_file import example, load_study

Capture = pytest.CaptureFixture[str]


def error_of(words: list[str], capsys: Capture) -> str:
    """Return the one line on stderr of a command that ends with status 2."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    told = [line for line in err.splitlines() if line.startswith("auditkit: error: ")]
    assert len(told) == 1
    assert err.endswith(told[0] + "\n")
    return told[0].removeprefix("auditkit: error: ")


def test_example_prints_the_file(capsys: Capture) -> None:
    assert main(["study", "--example"]) == 0
    printed = capsys.readouterr().out
    assert printed == example()
    assert len(tomllib.loads(printed)["arms"]) == 10


@pytest.mark.parametrize("words", [[], ["study.toml"], ["--out", "out"], ["--report-only", "--out", "out"]])
def test_what_is_missing_is_one_line(words: list[str], capsys: Capture) -> None:
    told = error_of(["study", *words], capsys)
    assert told == "`auditkit study` needs a study file and --out DIR; `auditkit study --example` prints one"


def test_a_study_file_that_is_not_there(tmp_path: Path, capsys: Capture) -> None:
    told = error_of(["study", str(tmp_path / "none.toml"), "--out", str(tmp_path / "out")], capsys)
    assert told == f"study file {tmp_path / 'none.toml'} cannot be read: No such file or directory"
    assert not (tmp_path / "out").exists()


def test_report_only_without_a_study(tmp_path: Path, capsys: Capture) -> None:
    file = write_study(tmp_path, study_values(tmp_path, "head"))
    told = error_of(["study", str(file), "--out", str(tmp_path / "out"), "--report-only"], capsys)
    assert told == (
        f"{tmp_path / 'out'} holds no finished study (predictions.parquet is missing); run `auditkit study` first"
    )
    assert not (tmp_path / "out").exists()


def test_a_folder_in_use_is_left_alone(tmp_path: Path, capsys: Capture) -> None:
    file = write_study(tmp_path, study_values(tmp_path, "head"))
    told = error_of(["study", str(file), "--out", str(tmp_path)], capsys)
    assert "is in use" in told
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_a_pool_that_is_not_there(tmp_path: Path, capsys: Capture) -> None:
    write_inputs(tmp_path)
    (tmp_path / "pool.jsonl").unlink()
    file = write_study(tmp_path, study_values(tmp_path, "head"))
    assert "pool.jsonl" in error_of(["study", str(file), "--out", str(tmp_path / "out")], capsys)


@pytest.mark.train
def test_a_study_runs_and_its_report_is_computed_again(tmp_path: Path, capsys: Capture) -> None:
    write_inputs(tmp_path)
    save_model(tmp_path / "small")
    save_model(tmp_path / "large", n_layers=2, seed=1)
    file, out = write_study(tmp_path, study_values(tmp_path, "head", seeds=[1])), tmp_path / "out"
    assert main(["study", str(file), "--out", str(out)]) == 0
    first = capsys.readouterr()
    assert "Ranges across arms" in first.out
    assert f"Report: {out / 'study.html'}" in first.out.replace("\n", "")
    assert "auditkit: audit of the pool" in first.err
    assert main(["study", str(file), "--out", str(out), "--report-only"]) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert again.err == ""


# ---------------------------------------------------------------- the demo


def test_the_demo_has_the_ten_arms_of_the_example(tmp_path: Path) -> None:
    (tmp_path / "example.toml").write_text(example(), encoding="utf-8")
    study, bundled = (
        load_study(write_demo_study(write_demo(tmp_path), example())),
        load_study(tmp_path / "example.toml"),
    )
    assert study.arms == bundled.arms
    assert study.models == bundled.models
    assert study.trainer == "head"
    assert len(study.seeds) == 3
    assert all(Path(path).is_file() for path in study.pool)
    assert all(Path(one.spec).is_file() for one in study.benchmarks)
    assert all(one.policy for one in study.benchmarks)


@pytest.mark.train
def test_the_demo_runs_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """With tiny random models: ten arms, five benchmarks, the planted copies gone. They need not have learnt much."""
    save_model(tmp_path / "small")
    save_model(tmp_path / "large", n_layers=6, seed=1)
    text = example()
    for name, source in (("small", "minilm-3"), ("large", "minilm")):
        text = text.replace(f'source = "{source}" ', f'source = "{tmp_path / name}" ')
        text = text.replace(f'source = "{source}"\n', f'source = "{tmp_path / name}"\n')
    text = text.replace("max_tokens = 128", "max_tokens = 32").replace("batch_size = 32", "batch_size = 256")
    assert 'minilm-3"' not in text
    monkeypatch.setattr(demo_command, "example", lambda: text)
    assert main(["demo", "--study", "--out", str(tmp_path / "demo")]) == 0
    printed = capsys.readouterr().out
    for name in ("invented-benign", "invented-harmful", "invented-maths", "invented-untouched", "invented-house"):
        assert f"- {name}: " in printed
    assert f"Report: {tmp_path / 'demo/study/study.html'}" in printed.replace("\n", "")
    assert (tmp_path / "demo/study.toml").is_file()
    from auditkit.report import study_json

    result = study_json.load(tmp_path / "demo/study")
    assert len(result.ledger) == 30
    rates = result.contamination["before"]["leak_rate"]
    assert rates == {
        "invented-benign": 0.88, "invented-harmful": 0.82, "invented-maths": 0.25, "invented-untouched": 0.0,
        "invented-house": 0.0,
    }  # fmt: skip
    assert set(result.contamination["after"]["leak_rate"].values()) == {0.0}
