"""The rules file: what it may hold, and one line for what it may not."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from auditkit.errors import RulesError
from auditkit.verify.rules import Rules, default_rules, load_rules

BUNDLED = resources.files("auditkit.verify").joinpath("rules.toml").read_text(encoding="utf-8")


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "rules.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def flat(rules: Rules) -> dict[str, Any]:
    values = rules.as_dict()
    return {f"{s}.{n}": v for s, section in values.items() if isinstance(section, dict) for n, v in section.items()}


def test_the_bundled_file_is_the_default(written: Any) -> None:
    assert load_rules(written(BUNDLED)) == default_rules()
    assert default_rules().changed() == {}
    assert tomllib.loads(BUNDLED) == default_rules().as_dict()


def test_every_bundled_rule_is_explained() -> None:
    """A rule has a comment on its line, or on those above it."""
    lines = BUNDLED.splitlines()
    for i, line in enumerate(lines):
        if " = " in line and not line.startswith("#"):
            above = [previous for previous in lines[max(0, i - 4) : i] if previous]
            assert "#" in line or any("#" in previous for previous in above), line


def test_an_empty_file_changes_nothing(written: Any) -> None:
    assert load_rules(written("")) == default_rules()


def test_changed_names_just_what_differs(written: Any) -> None:
    path = written('version = "mine"\n[near]\nratio = 0.95\nreview_ratio = 0.82\n[contained]\nmin_tokens = 6.0\n')
    rules = load_rules(str(path))
    assert rules.changed() == {"version": "mine", "near.ratio": 0.95, "contained.min_tokens": 6}
    assert rules.near.ratio == 0.95
    assert isinstance(rules.contained.min_tokens, int)
    assert rules.near.token_sort == default_rules().near.token_sort


@pytest.mark.parametrize("name", sorted(flat(default_rules())))
def test_every_rule_can_be_set_and_checks_its_kind(name: str, written: Any) -> None:
    section, key = name.split(".")
    value = flat(default_rules())[name]
    other = "false" if value is True else "true" if value is False else "0.45" if isinstance(value, float) else "7"
    assert list(load_rules(written(f"[{section}]\n{key} = {other}\n")).changed()) == [name]
    wrong = ['"0.9"', "[1]", "1" if isinstance(value, bool) else "true", "nan", "inf", "-1"]
    wrong += ["1.5"] if not isinstance(value, bool) else []
    for bad in wrong:
        with pytest.raises(RulesError, match=rf"rules\.toml: {section}\.{key} is .*, expected ") as raised:
            load_rules(written(f"[{section}]\n{key} = {bad}\n"))
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[nearr]\nratio = 0.9", r"unknown section 'nearr'; did you mean 'near'\?"),
        ("[near]\nratoi = 0.9", r"unknown name 'near\.ratoi'; did you mean 'ratio'\?"),
        ("[near]\nxyzzy = 0.9", r"unknown name 'near\.xyzzy'$"),
        ("near = 0.9", r"'near' is 0\.9, expected a section \[near\]"),
        ("version = 2", r"version is 2, expected a text in quotes"),
        ("[version]\na = 1", r"version is \{'a': 1\}, expected a text in quotes"),
        ("[near]\nratio = 0.9\nratio = 0.8", r"is not TOML: "),
        ("[near\n", r"is not TOML: "),
        ("[near]\nratio = nan", r"near\.ratio is nan, expected a number in \[0, 1\]"),
        ("[near]\nratio = 1.5", r"near\.ratio is 1\.5, expected a number in \[0, 1\]"),
        ("[near]\nratio = -0.1", r"near\.ratio is -0\.1, expected a number in \[0, 1\]"),
        ("[near]\nratio = true", r"near\.ratio is True, expected a number"),
        ("[near]\nmin_tokens = 5.5", r"near\.min_tokens is 5\.5, expected a whole number of at least 0"),
        ("[near]\nmin_tokens = nan", r"near\.min_tokens is nan, expected a whole number"),
        ("[near]\nnumbers_condemn = 1", r"near\.numbers_condemn is 1, expected true or false"),
    ],
)
def test_a_wrong_file_is_one_line(text: str, message: str, written: Any) -> None:
    with pytest.raises(RulesError, match=message) as raised:
        load_rules(written(text))
    assert "rules.toml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RulesError, match="cannot be read: No such file"):
        load_rules(tmp_path / "none.toml")
    with pytest.raises(RulesError, match="cannot be read: Is a directory"):
        load_rules(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"version = '\xe9'")
    with pytest.raises(RulesError, match="is not TOML"):
        load_rules(tmp_path / "latin.toml")


def test_thresholds_of_paraphrases_are_by_encoder() -> None:
    rules = default_rules().paraphrase
    assert [rules.threshold(name) for name in ("minilm", "multilingual", "org/other")] == [
        rules.minilm, rules.multilingual, rules.other,
    ]  # fmt: skip


def test_sections_are_dataclasses_that_name_every_rule_of_the_file() -> None:
    assert {f.name for f in fields(Rules)} == set(tomllib.loads(BUNDLED))
