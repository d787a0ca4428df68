"""Provenance chains: upstream pools are audited alike, and every item says through which of them it leaked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from audit_support import files, jsonl

from auditkit.cli.main import main
from auditkit.errors import UsageError
from auditkit.report.as_json import load
from auditkit.stories.audit import audit
from auditkit.stories.settings import AuditSettings
from auditkit.stories.shards import audit_shard
from auditkit.stories.upstream import Upstream, parse_upstream

ITEMS = [f"How many {what} does the keeper of the old lighthouse count before breakfast?" for what in
         ("gulls", "sailing boats", "broken lamps", "seals", "barrels of oil")]  # fmt: skip
CLEAN = [f"Sentence number {n} is about the weather in the mountains and nothing else at all." for n in range(6)]


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, str]:
    """Items 0 and 1 in the pool, 1 and 2 in the teacher's pool, 3 in one of the base's two; 4 is nowhere."""
    pools = {
        "pool": [ITEMS[0], *CLEAN, ITEMS[1]],
        "teacher": [ITEMS[1], ITEMS[2], *CLEAN],
        "base-a": CLEAN,
        "base-b": [ITEMS[3], CLEAN[0]],
    }
    written = {name: str(jsonl(tmp_path / f"{name}.jsonl", texts)) for name, texts in pools.items()}
    return written | {"items": str(jsonl(tmp_path / "items.jsonl", ITEMS, "prompt"))}


def settings(inputs: dict[str, str]) -> AuditSettings:
    base = Upstream("base", (inputs["base-a"], inputs["base-b"]))
    return AuditSettings(decoys=0, upstream=(Upstream("teacher", (inputs["teacher"],)), base))


THROUGH = [["pool"], ["teacher", "pool"], ["teacher"], ["base"], []]


def test_every_item_names_the_pools_that_hold_it(inputs: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "audit"
    report = audit(inputs["pool"], inputs["items"], settings(inputs), out=out)
    assert report.items["leaked_through"].to_list() == THROUGH
    assert report.items["is_found"].to_list() == [True, True, False, False, False]
    chain = report.chain
    assert chain is not None
    assert [(link.name, link.n_rows, link.n_found["items"], link.n_alone["items"]) for link in chain.links] == [
        ("teacher", 8, 2, 1), ("base", 8, 1, 1), ("pool", 8, 2, 1),
    ]  # fmt: skip
    assert (chain.n_found, chain.leak_rates) == ({"items": 4}, {"items": 0.8})
    assert load(out).chain == chain
    assert load(out).items["leaked_through"].to_list() == THROUGH
    assert load(out / "upstream" / "base").n_rows_contaminated == 1


def test_a_chain_changes_no_match_and_none_is_null(inputs: dict[str, str], tmp_path: Path) -> None:
    alone = audit(inputs["pool"], inputs["items"], AuditSettings(decoys=0), out=tmp_path / "alone")
    audit(inputs["pool"], inputs["items"], settings(inputs), out=tmp_path / "chain")
    assert alone.chain is None
    assert alone.items["leaked_through"].to_list() == [None] * 5
    written = [(tmp_path / name / "matches.parquet").read_bytes() for name in ("alone", "chain")]
    assert written[0] == written[1]


def test_the_same_command_again_gives_the_same_bytes(inputs: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "audit"
    audit(inputs["pool"], inputs["items"], settings(inputs), out=out)
    before = {name: data for name, data in files(out).items() if not name.endswith("timing.json")}
    again = audit(inputs["pool"], inputs["items"], settings(inputs), out=out)
    assert again.run["n_shards_reused"] == 1
    assert {name: data for name, data in files(out).items() if not name.endswith("timing.json")} == before


def test_a_changed_upstream_pool_is_seen(inputs: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "audit"
    audit(inputs["pool"], inputs["items"], settings(inputs), out=out)
    jsonl(Path(inputs["teacher"]), [ITEMS[4]])
    report = audit(inputs["pool"], inputs["items"], settings(inputs), out=out)
    assert report.items["leaked_through"].to_list() == [["pool"], ["pool"], [], ["base"], ["teacher"]]


def test_the_report_names_the_chain_everywhere(inputs: dict[str, str], tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "audit"
    jsonl(tmp_path / "columns.jsonl", [{"note": "not read", "prompt": ITEMS[4], "text": CLEAN[0]}])
    (tmp_path / "more.toml").write_text(
        '[[upstream]]\nname = "stage-1"\npools = ["columns.jsonl"]\ntext = ["prompt"]\n', "utf-8"
    )
    wanted = ["--upstream", f"teacher={inputs['teacher']}", "--upstream", str(tmp_path / "more.toml")]
    status = main(["audit", inputs["pool"], "-b", inputs["items"], "-o", str(out), "--decoys", "0", *wanted])
    assert status == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "teacher, 8 rows: items 2 (40.0 %; 1 through it alone)" in printed
    assert "whole chain: items 4 (80.0 %)" in printed
    assert "| whole chain | items | 5 | 4 | 80.0 % |" in (out / "report.md").read_text("utf-8")
    assert "<h2>Leaked through</h2>" in (out / "report.html").read_text("utf-8")
    raw = json.loads((out / "report.json").read_bytes())
    assert [link["name"] for link in raw["chain"]["links"]] == ["teacher", "stage-1", "pool"]
    assert raw["settings"]["upstream"][1] == {
        "name": "stage-1", "pools": [str(tmp_path / "columns.jsonl")], "text": ["prompt"],
    }  # fmt: skip
    assert pl.read_parquet(out / "items.parquet")["leaked_through"].to_list()[4] == ["stage-1"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("teacher", "expected NAME=POOL"),
        ("=x.jsonl", "expected NAME=POOL"),
        ("a/b=x.jsonl", "it names a folder"),
        ("pool=x.jsonl", "stands for the audited pool"),
        ("missing.toml", "cannot be read"),
    ],
)
def test_a_wrong_upstream_is_one_line(value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_upstream([value])


def test_a_missing_upstream_pool_leaves_no_trace(inputs: dict[str, str], tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "audit"
    gone = ["--upstream", f"teacher={tmp_path / 'gone.jsonl'}"]
    assert main(["audit", inputs["pool"], "-b", inputs["items"], "-o", str(out), *gone]) == 2
    assert "gone.jsonl" in capsys.readouterr().err
    assert not out.exists()


def test_names_given_twice_and_shards_are_refused(inputs: dict[str, str], tmp_path: Path) -> None:
    twice = parse_upstream([f"t={inputs['base-a']}", f"t={inputs['base-b']}"])
    assert twice == (Upstream("t", (inputs["base-a"], inputs["base-b"])),)
    with pytest.raises(UsageError, match="one name"):
        AuditSettings(upstream=(Upstream("t", ("a",)), Upstream("T", ("b",))))
    with pytest.raises(UsageError, match="a shard has no chain"):
        audit_shard(inputs["pool"], inputs["items"], settings(inputs), shard=(1, 1), out=tmp_path / "shard")
