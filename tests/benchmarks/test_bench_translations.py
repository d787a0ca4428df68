"""The translations' benchmark: which items are taken out, and what counts as right, wrong and alone."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

ROWS = {"catqa_zh": ["a0", "a1", "a2", "a3"], "multijail_it": ["b0", "b1"]}
ITEMS = {"original_catqa": ["A0", "A1", "A2", "A3"], "original_multijail": ["B0", "B1"], "programs": ["P0", "P1"]}


@pytest.fixture
def script(scripts: Path) -> ModuleType:
    return importlib.import_module("translations")


def test_every_other_item_is_taken_out_of_what_is_translated(script: ModuleType) -> None:
    assert script._every_other(ITEMS) == {
        "original_catqa": ["A0", "", "A2", ""],
        "original_multijail": ["B0", ""],
        "programs": ["P0", "P1"],
    }


def test_matches_are_counted_as_what_they_are(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*matches: tuple[str, int, str, int]) -> pl.DataFrame:
        return pl.DataFrame(list(matches), schema=["pool", "row", "benchmark", "item"], orient="row")

    whole = found(
        ("catqa_zh", 0, "original_catqa", 0),
        ("catqa_zh", 1, "original_catqa", 3),
        ("catqa_zh", 2, "original_multijail", 1),
        ("multijail_it", 0, "original_multijail", 0),
        ("multijail_it", 0, "programs", 0),
        ("multijail_it", 0, "programs", 1),
    )
    half = found(("catqa_zh", 0, "original_catqa", 0), ("catqa_zh", 3, "original_catqa", 2))
    monkeypatch.setattr(script, "reported", lambda rows, items: half if "" in items["original_catqa"] else whole)
    counts = {what: {name: (one["count"], one["n"]) for name, one in shares.items()}
              for what, shares in script.measure(ROWS, ITEMS).items()}  # fmt: skip
    assert counts == {
        "own item": {"catqa_zh": (1, 4), "multijail_it": (1, 2), "all": (2, 6)},
        "beside the other benchmark of harmful requests": {"catqa_zh": (1, 4), "multijail_it": (0, 2), "all": (1, 6)},
        "beside benchmarks of other subjects": {"catqa_zh": (0, 4), "multijail_it": (1, 2), "all": (1, 6)},
        "beside their own benchmark, item taken out": {"catqa_zh": (1, 2), "multijail_it": (0, 1), "all": (1, 3)},
    }


def test_the_stored_figures_reach_the_bars_and_are_those_of_the_docs(script: ModuleType) -> None:
    stored = json.loads(script.RESULT.read_text("utf-8"))["reported"]
    own, other = stored["own item"]["all"], stored["beside benchmarks of other subjects"]["all"]
    assert own["share"] >= 0.9
    assert other["share"] <= 0.01
    page = (script.RESULT.parents[2] / "docs/paraphrase.md").read_text("utf-8")
    assert all(f"{one['all']['count']:,} of {one['all']['n']:,} (" in page for one in stored.values())
