"""Translations by their ratio margin: hand-computed, and the same for any shards."""

from __future__ import annotations

import polars as pl
import pytest

from auditkit.detect import proposals
from auditkit.verify.translations import ITEM_NEIGHBOURS, NEIGHBOUR, TRANSLATION, settle_translations

SCHEMA = {
    "pool": pl.String, "row": pl.Int64, "text": pl.Int64, "tier": pl.String, "rule": pl.String, "threshold": pl.Float64,
    "cosine": pl.Float64, "encoder": pl.String, "margin": pl.Float64, "row_mean": pl.Float64, "row_sequence": pl.UInt64,
}  # fmt: skip


def pair(row: int, cosine: float | None, row_mean: float | None = 0.8, **values: object) -> dict[str, object]:
    usual = {"pool": "p", "row": row, "text": 0, "tier": "paraphrase", "rule": TRANSLATION, "threshold": 1.003}
    return {**usual, "cosine": cosine, "encoder": "multilingual", "margin": None, "row_mean": row_mean,
            "row_sequence": row, **values}  # fmt: skip


def settle(*pairs: dict[str, object]) -> pl.DataFrame:
    return settle_translations(pl.DataFrame(list(pairs), schema=SCHEMA))


def test_the_margin_is_the_paper_s() -> None:
    rows = [pair(1, 0.9), *(pair(i, c, rule=NEIGHBOUR) for i, c in ((2, 0.8), (3, 0.78), (4, 0.76), (5, 0.2)))]
    found = settle(*rows)
    # The item's four closest rows have mean cosine (0.9 + 0.8 + 0.78 + 0.76) / 4 = 0.81; the row's closest items 0.8.
    assert found["row"].to_list() == [1]
    assert found["margin"].to_list() == [round(0.9 / ((0.81 + 0.8) / 2), 4)]
    assert found["row_mean"].to_list() == [None]


@pytest.mark.parametrize(("threshold", "is_found"), [(1.0588, True), (1.0589, False)])
def test_the_threshold_is_reached_at_equality(threshold: float, is_found: bool) -> None:
    # 0.9 / 0.85 = 1.0588 after rounding.
    assert len(settle(pair(1, 0.9, threshold=threshold))) == is_found


def test_equal_rows_count_once_and_are_all_found() -> None:
    rows = [pair(1, 0.9), pair(2, 0.9, row_sequence=1), pair(3, 0.7, rule=NEIGHBOUR)]
    found = settle(*rows)
    assert found["row"].to_list() == [1, 2]
    assert found["margin"].to_list() == [round(0.9 / ((0.8 + 0.8) / 2), 4)] * 2


def test_other_sources_and_other_tiers_change_nothing() -> None:
    alone = settle(pair(1, 0.9))
    lexical = pair(9, None, None, tier="near", rule="near.ratio", encoder=None)
    found = settle(lexical, pair(1, 0.9), pair(2, 0.95, pool="q"), pair(3, 0.95, text=1))
    assert found.filter(pl.col("row") == 1).equals(alone)
    assert found["rule"].to_list()[0] == "near.ratio"
    assert found["margin"].to_list()[0] is None


def test_settling_twice_is_settling_once() -> None:
    once = settle(pair(1, 0.9), pair(2, 0.5, rule=NEIGHBOUR))
    assert settle_translations(once).equals(once)


def test_shards_hand_on_as_many_closest_rows_as_the_mean_is_taken_over() -> None:
    assert proposals.ITEM_NEIGHBOURS == ITEM_NEIGHBOURS
