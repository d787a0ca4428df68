"""Public text in a whole audit: marked in items.parquet, counted apart in every view, and no match changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from audit_support import jsonl

from auditkit.cli.main import main
from auditkit.stories.audit import audit
from auditkit.stories.settings import AuditSettings

SAYING = "“The lamp on the far shore is lit by those who never sleep at all.”"
ITEMS = [
    {"prompt": SAYING, "topic": "sayings"},
    {"prompt": "How many gulls does the keeper of the lighthouse count before breakfast?", "topic": "birds"},
    {"prompt": "Which of the two sailing boats came back with a broken mast last winter?", "topic": "boats"},
    {
        "prompt": "Why did the old harbour master never learn to swim in all his life?",
        "topic": "boats",
        "is_public": True,
    },
]


def test_the_leak_rate_stands_with_public_text_and_without(tmp_path: Path, capsys: Any) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", [SAYING, ITEMS[1]["prompt"], "Something else altogether about the weather."])
    items = jsonl(tmp_path / "items.jsonl", ITEMS)
    out = tmp_path / "audit"
    assert main(["audit", str(pool), "-b", str(items), "-o", str(out), "--decoys", "0"]) == 0
    found = pl.read_parquet(out / "items.parquet")
    assert found["public_text"].to_list() == ["quotation", None, None, "column"]
    clause = (
        "2 of 4 items are public text (by the column is_public: 1, quotations: 1), which any pool of the web may hold; "
        "leak rate 50.0 % with them, 50.0 % without"
    )
    assert f"items: {clause}" in capsys.readouterr().out
    for name in ("report.md", "report.html"):
        assert clause in (out / name).read_text("utf-8").replace("&#95;", "_")


def test_what_a_user_declares_changes_no_match(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", [record["prompt"] for record in ITEMS[:2]])
    items = jsonl(tmp_path / "items.jsonl", ITEMS)
    plain = audit(pool, items, AuditSettings(decoys=0))
    told = audit(pool, items, AuditSettings(decoys=0, public=("items",)))
    assert plain.matches.equals(told.matches)
    assert told.items["public_text"].to_list() == ["declared"] * 4
    assert (told.benchmarks[0].leak_rate, told.benchmarks[0].leak_rate_without_public) == (0.5, None)


def test_an_unknown_name_ends_before_the_audit(tmp_path: Path, capsys: Any) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", ["some text of the pool"])
    items = jsonl(tmp_path / "items.jsonl", ITEMS)
    out = tmp_path / "audit"
    assert main(["audit", str(pool), "-b", str(items), "-o", str(out), "--public", "item"]) == 2
    assert "--public item: no benchmark 'item' in this audit; did you mean 'items'?" in capsys.readouterr().err
    assert not out.exists()
