"""The calibration benchmark: its truth is true, its cases are the same for a seed, its sums are those of its parts."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("statsmodels")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def calibration() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        # A script finds the modules beside it.
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("calibration")


def test_a_case_is_the_same_for_its_seed_and_holds_what_it_says(calibration: ModuleType) -> None:
    case = calibration.simulated(3)
    assert case == calibration.simulated(3) != calibration.simulated(4)
    assert len(set(case.items)) == len(case.items)
    assert {row for row, _ in case.planted} <= set(range(len(case.rows)))
    row, item = min(case.planted)
    assert case.holds(row, item)


def test_a_row_with_the_whole_item_is_a_copy_whoever_wrote_it(calibration: ModuleType) -> None:
    case = calibration.Case("c", ["bake the bread"], ["Now: bake, the BREAD!", "bake the breads"], frozenset())
    assert case.holds(0, 0)
    assert not case.holds(1, 0)


def test_one_pool_is_measured(calibration: ModuleType) -> None:
    measured = calibration.measure(calibration.simulated(5), 5, 2)
    assert {one["kind"] for one in measured["power"]} == set(calibration.KINDS)
    assert all(one["low"] <= one["share"] <= one["high"] for one in measured["power"])
    assert all(0 <= one["true"] <= 1 and 0 < one["estimate"] <= 1 for one in measured["errors"])
    assert any(one["of"] == "contaminated" for one in measured["errors"])


def test_the_sums_are_those_of_the_parts(calibration: ModuleType) -> None:
    # Wilson's own interval of 1 of 2 is 0.095 to 0.905.
    power = [{"low": 0.4, "high": 0.6, "true": true, "n_found": 1, "n": 2} for true in (0.5, 0.7, 0.4, 0.99)]
    errors = [{"of": "reported", "estimate": 0.1, "true": true} for true in (0.0, 0.11, 0.13)]
    found = calibration.summary([{"power": power, "errors": errors}])
    assert found["power_intervals_that_hold"]["share"] == 0.5
    assert found["with_plain_wilson_intervals"]["share"] == 0.75
    assert found["of_those_with_a_true_share_of_2_to_98_percent"]["share"] == pytest.approx(2 / 3)
    assert found["error_estimates_within_0.02_or_above"]["share"] == pytest.approx(2 / 3)
    assert found["of_those_with_a_false_match"]["share"] == 0.5
    assert found["of_the_contaminated_matches"]["n"] == 0


def test_the_stored_figures_reach_the_bars() -> None:
    stored = json.loads((ROOT / "benchmarks/results/calibration.json").read_text("utf-8"))
    assert stored["simulated"]["n_pools"] == 1_000
    assert stored["real"]["n_pools"] == 20
    assert stored["simulated"]["power_intervals_that_hold"]["share"] >= 0.93
    assert stored["simulated"]["error_estimates_within_0.02_or_above"]["share"] >= 0.90
    assert stored["real"]["power_intervals_that_hold"]["share"] >= 0.93
    assert stored["round"] > 0
    assert stored["real"]["error_estimates_within_0.02_or_above"]["share"] >= 0.90
