"""docs/scale.md is what its results give, and the model's sums are right."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

INDEX = {
    "n_items": 5000, "seconds_to_make": 1.0, "megabytes_sent": 20.0, "bytes_per_item": 4000, "seconds_to_pack": 0.1,
    "seconds_to_unpack": 0.5,
}  # fmt: skip


def measured(megabytes: float, seconds: float, report: float) -> dict[str, object]:
    return {
        "megabytes": megabytes, "n_items": 5000, "seconds": seconds, "megabytes_per_second": megabytes / seconds,
        "peak_megabytes": 500, "stages_of_last_run": {"report": report},
    }  # fmt: skip


RESULTS = {
    "machine": {"processor": "Test", "n_cores": 2, "load_before": 0.1},
    "formats": {
        "parquet": measured(1000, 21.0, 2.0) | {"bounds": {"reading": 400.0, "reading_and_normalising": 300.0}}
    },
    "sizes": [measured(100, 3.0, 0.2), measured(1000, 21.0, 2.0), measured(5100, 103.0, 10.2)],
    "many_items": measured(1000, 40.0, 2.0),
    "start_up": {"warm_seconds": 1.0, "cold_seconds": 7.0},
    "index": [INDEX],
    "paraphrase": {"megabytes": 20, "seconds_beyond_lexical": 30.0},
}


@pytest.fixture
def scale_page(scripts: Path) -> ModuleType:
    return importlib.import_module("scale_page")


def test_costs_are_what_a_larger_pool_adds(scale_page: ModuleType) -> None:
    costs = scale_page.costs_of(RESULTS)
    # 5 GB more take 100 s more on two cores, 10 s of them in one process at the end.
    assert costs.lexical == pytest.approx((100 - 10) * 2 / 5)
    assert costs.gathering == pytest.approx(10 / 5)
    assert costs.paraphrase == pytest.approx(30 * 2 / 0.02)


def test_sums_carried_to_a_cluster(scale_page: ModuleType) -> None:
    assumed = scale_page.Assumptions(dollars_per_core_hour=0.1, cores_per_node=10, busy=0.5, gigabytes_per_second=2.0)
    costs = scale_page.Costs(36.0, None, 1.8, [INDEX])
    found = scale_page.carried(1000, 5, costs.lexical, costs, INDEX, assumed)
    assert found.hours == pytest.approx(1000 * 36 / 0.5 / 3600 / 50)
    assert found.gathering_hours == pytest.approx(0.5)
    assert found.dollars == pytest.approx((20 + 0.5 * 10) * 0.1)
    assert found.broadcast_seconds == pytest.approx(0.02 * 4 / 2 + 0.5)


def test_the_page_says_what_is_computed_and_what_is_assumed(scale_page: ModuleType) -> None:
    page = scale_page.page(RESULTS)
    assert "**computed, not run**" in page
    assert "| parquet | 1,000 | 5,000 | 21.0 | 47.6 | 500 | 400 | 300 |" in page
    assert "0.05 dollars an hour" in page
    assert max(map(len, page.splitlines())) < 200
    without = scale_page.page({**RESULTS, "paraphrase": None})
    assert "paraphrase, beyond these" in page
    assert "paraphrase, beyond these" not in without


def test_the_documented_page_is_that_of_the_stored_results(root: Path, scale_page: ModuleType) -> None:
    stored = root / "benchmarks" / "results" / "scaling.json"
    written = (root / "docs" / "scale.md").read_text("utf-8")
    rendered = scale_page.page(json.loads(stored.read_text("utf-8")))
    assert written == rendered, "run: python benchmarks/scale_page.py > docs/scale.md"


def test_the_readme_names_the_stored_speed(root: Path) -> None:
    stored = json.loads((root / "benchmarks" / "results" / "scaling.json").read_text("utf-8"))["formats"]
    readme = (root / "README.md").read_text("utf-8")
    for form, where in (("parquet", "MB/s from Parquet"), ("jsonl.zst", "MB/s from `.jsonl.zst`")):
        assert f"{stored[form]['megabytes_per_second']:.0f} {where}" in readme
