"""Who an output folder belongs to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from auditkit.errors import OutputError
from auditkit.run import plan
from auditkit.run.plan import PLAN, claim_folder, plan_digest
from auditkit.run.versions import PACKAGES, versions

INPUTS = ["train sha256:aa", "bench sha256:bb"]
SETTINGS: dict[str, Any] = {"tiers": ["exact"], "rules": {"near": {"ratio": 0.9}}}


def claim(
    folder: Path, inputs: list[str] = INPUTS, settings: dict[str, Any] = SETTINGS, *, overwrite: bool = False
) -> None:
    """Claim the folder and, as an audit does at its end, write the plan."""
    content = claim_folder(folder, inputs, settings, overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PLAN).write_bytes(content)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_folder_is_claimed_without_a_trace(tmp_path: Path) -> None:
    content = claim_folder(tmp_path / "new" / "out", INPUTS, SETTINGS, overwrite=False)
    assert names(tmp_path) == []
    assert json.loads(content) == {"plan": plan_digest(INPUTS, SETTINGS), "inputs": INPUTS}


def test_an_empty_folder_is_claimed(tmp_path: Path) -> None:
    claim(tmp_path)
    assert names(tmp_path) == [PLAN]


def test_the_same_plan_may_write_again(tmp_path: Path) -> None:
    claim(tmp_path)
    (tmp_path / "matches.parquet").write_bytes(b"old")
    claim(tmp_path)
    claim(tmp_path, settings={name: SETTINGS[name] for name in reversed(SETTINGS)})


@pytest.mark.parametrize(
    ("inputs", "settings"),
    [
        (["train sha256:ab", "bench sha256:bb"], SETTINGS),
        (INPUTS[::-1], SETTINGS),
        (INPUTS, {**SETTINGS, "tiers": ["exact", "near"]}),
        (INPUTS, {**SETTINGS, "rules": {"near": {"ratio": 0.91}}}),
    ],
)
def test_another_plan_may_not(inputs: list[str], settings: dict[str, Any], tmp_path: Path) -> None:
    claim(tmp_path)
    before = (tmp_path / PLAN).read_bytes()
    with pytest.raises(OutputError, match=r"holds an audit of other inputs, settings or version .*--overwrite"):
        claim(tmp_path, inputs, settings)
    assert (tmp_path / PLAN).read_bytes() == before
    claim(tmp_path, inputs, settings, overwrite=True)
    assert (tmp_path / PLAN).read_bytes() != before


def test_another_version_may_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim(tmp_path)
    monkeypatch.setattr(plan.importlib.metadata, "version", lambda _: "99.0")
    with pytest.raises(OutputError, match="other inputs, settings or version"):
        claim(tmp_path)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_foreign_folder_is_left_alone(overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(OutputError, match=r"is in use and is no folder of an audit \(it has no plan\.json\); .*--out"):
        claim(tmp_path, overwrite=overwrite)
    assert names(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("below", [(), ("out",), ("a", "b")])
def test_a_file_in_place_of_the_folder_is_one_line(below: tuple[str, ...], overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError) as raised:
        claim(tmp_path.joinpath("file", *below), overwrite=overwrite)
    assert "\n" not in str(raised.value)
    assert "--out" in str(raised.value)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("content", ["", "{", "[]", '"plan"', '{"other": 1}', "\xff", "null"])
def test_a_broken_plan_is_another_audits(content: str, tmp_path: Path) -> None:
    (tmp_path / PLAN).write_bytes(content.encode("latin-1"))
    with pytest.raises(OutputError, match="holds an audit of other inputs"):
        claim(tmp_path)
    claim(tmp_path, overwrite=True)
    claim(tmp_path)


def test_a_name_that_no_folder_can_have_is_one_line(tmp_path: Path) -> None:
    for overwrite in (False, True):
        with pytest.raises(OutputError, match="cannot be used: File name too long"):
            claim(tmp_path / ("x" * 300), overwrite=overwrite)


def test_a_folder_without_permission_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match=r"cannot be written: no permission for .*--out"):
        claim(tmp_path / "out")


def test_names_of_any_script_are_kept(tmp_path: Path) -> None:
    content = claim_folder(tmp_path, ["日本/train sha256:aa"], {"pool": Path("é")}, overwrite=False)
    assert "日本/train" in content.decode("utf-8")


def test_versions_name_what_ran() -> None:
    lexical, embedding = versions(has_encoder=False), versions(has_encoder=True)
    assert set(lexical) == {"python", *PACKAGES}
    assert set(lexical) <= set(embedding)
    assert all(embedding.values())
