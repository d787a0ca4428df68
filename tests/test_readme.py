"""The README's commands and code run, and its figures are what they print."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from auditkit.cli.main import main
from auditkit.demo import write_demo

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def blocks(root: Path) -> list[tuple[str, str]]:
    return BLOCK.findall((root / "README.md").read_text("utf-8"))


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_demo(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def commands(block: str) -> list[list[str]]:
    return [shlex.split(line, comments=True) for line in block.splitlines() if line.strip()]


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_first_two_commands_print_what_the_readme_shows(
    blocks: list[tuple[str, str]], demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, output = blocks[0], blocks[1]
    assert (shell[0], output[0]) == ("sh", "text")
    for words in commands(shell[1]):
        assert words[0] == "auditkit"
        assert main(words[1:]) == 0
    printed = squeezed(capsys.readouterr().out)
    paragraphs = [part for part in output[1].split("\n\n") if part.strip()]
    assert len(paragraphs) == 4
    for paragraph in paragraphs:
        lines = [paragraph] if "For the paper" in paragraph else paragraph.splitlines()
        for line in lines:
            assert squeezed(line) in printed, line


def test_the_commands_for_a_pool_of_ones_own_run(
    blocks: list[tuple[str, str]], demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import polars as pl

    (demo / "more").mkdir()
    pl.DataFrame({"prompt": ["What is a prime number?", "Name three rivers."]}).write_parquet(demo / "more/a.parquet")
    shutil.copy(demo / "pool/train.jsonl", demo / "train.jsonl")
    shutil.copy(demo / "benchmarks/invented-harmful.csv", demo / "eval.csv")
    rows = [{"id": i, "prompt": f"Question number {i} of a made up set?", "label": "safe"} for i in range(450)]
    rows = [{**row, "label": "unsafe"} if row["id"] >= 250 else row for row in rows]
    pl.DataFrame(rows).write_csv(demo / "xstest_prompts.csv")
    block = next(text for kind, text in blocks if kind == "sh" and "more/*.parquet" in text)
    for words in commands(block):
        assert main(words[1:]) == 0, (words, capsys.readouterr().err)
    assert (demo / "clean/train.jsonl").stat().st_size < (demo / "train.jsonl").stat().st_size


def test_the_commands_before_training_run(
    blocks: list[tuple[str, str]], demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (demo / "clean").mkdir()
    shutil.copy(demo / "pool/train.jsonl", demo / "clean/train.jsonl")
    block = next(text for kind, text in blocks if kind == "sh" and "auditkit labels" in text)
    for words in commands(block):
        assert main(words[1:]) == 0, (words, capsys.readouterr().err)
    assert "near pairs on two sides: 0" in capsys.readouterr().out
    assert (demo / "sides/test/train.jsonl").is_file()


@pytest.mark.train
def test_the_two_commands_of_a_study_run(
    blocks: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As printed, but with the paths and columns changed (as the text says) to a small study of tiny models."""
    from study_support import save_model, study_values, write_inputs, write_study

    monkeypatch.chdir(tmp_path)
    block = next(text for kind, text in blocks if kind == "sh" and "auditkit study" in text)
    first, second = (line.split("#")[0] for line in block.strip().splitlines())
    words, _, target = first.partition(" > ")
    assert main(shlex.split(words)[1:]) == 0
    Path(target.strip()).write_text(capsys.readouterr().out, "utf-8")
    assert (tmp_path / "study.toml").is_file()
    write_inputs(tmp_path)
    save_model(tmp_path / "small")
    save_model(tmp_path / "large", n_layers=2, seed=1)
    write_study(tmp_path, study_values(tmp_path, "head", seeds=[1]))
    assert main(shlex.split(second)[1:]) == 0, capsys.readouterr().err
    assert (tmp_path / "study/study.html").is_file()


def test_the_python_code_runs(blocks: list[tuple[str, str]]) -> None:
    code = [text for kind, text in blocks if kind == "python"]
    assert len(code) == 1
    exec(compile(code[0], "README.md", "exec"), {})


def test_the_scripts_it_names_exist(root: Path, blocks: list[tuple[str, str]]) -> None:
    named = {words[0] for kind, text in blocks if kind == "sh" for words in commands(text) if words[0] != "auditkit"}
    assert named == {"scripts/demo", "scripts/test"}
    assert all((root / name).stat().st_mode & 0o100 for name in named)


def test_links_between_pages_lead_somewhere(root: Path) -> None:
    pages = [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), (page.name, target)


def test_every_rule_is_documented(root: Path) -> None:
    from auditkit.verify.rules import default_rules

    text = (root / "docs/rules.md").read_text("utf-8")
    for section, rules in default_rules().as_dict().items():
        if isinstance(rules, dict) and f"`{section}.*`" not in text:
            missing = [name for name in rules if f"`{section}.{name}`" not in text and f"`{name}`" not in text]
            assert missing == [], section


def test_printed_rules_are_the_defaults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from auditkit.verify.rules import load_rules

    assert main(["rules"]) == 0
    (tmp_path / "my.toml").write_text(capsys.readouterr().out, "utf-8")
    assert load_rules(tmp_path / "my.toml").changed() == {}


def test_the_number_of_registered_benchmarks_is_right(root: Path) -> None:
    from auditkit.read.registry import registered

    assert f"lists {len(registered())} with source" in (root / "README.md").read_text("utf-8")
