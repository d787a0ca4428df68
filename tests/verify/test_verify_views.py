"""Which of several readings of a row stands, and where its pairs lie in the text as read."""

from __future__ import annotations

from typing import Any

import polars as pl

from auditkit.text.views.reading import Reading
from auditkit.verify.records import VERIFIED
from auditkit.verify.views import RANK, RIVAL, joined, placed


def pairs(*records: dict[str, Any]) -> pl.DataFrame:
    usual = {"unit": 0, "text": 0, "tier": "near", "verdict": "contaminated", "rule": "near.ratio", "threshold": 0.9,
             "ratio": 0.95, "row_start": 0, "row_end": 10, "view": "canonical"}  # fmt: skip
    return pl.DataFrame([{**dict.fromkeys(VERIFIED), **usual, **one} for one in records], schema=VERIFIED)


def of_view(rank: int, *records: dict[str, Any]) -> pl.DataFrame:
    return pairs(*({"view": "leet", **one} for one in records)).with_columns(pl.lit(rank, pl.Int64).alias(RANK))


def said(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    return frame.select("unit", "text", "verdict", "rule", "view").rows()


def test_what_the_canonical_text_condemns_is_not_decided_again() -> None:
    found = joined(pairs({}), [of_view(1, {"ratio": 1.0, "tier": "exact", "rule": "exact"})], 9)
    assert said(found) == [(0, 0, "contaminated", "near.ratio", "canonical")]


def test_a_view_raises_what_the_canonical_text_only_reviews() -> None:
    weak = {"verdict": "review", "rule": "near.review_ratio"}
    found = joined(pairs(weak, {**weak, "text": 1}), [of_view(1, {}, {**weak, "text": 1})], 9)
    assert said(found) == [
        (0, 0, "contaminated", "near.ratio", "leet"),
        (0, 1, "review", "near.review_ratio", "canonical"),
    ]


def test_of_two_views_the_earlier_stands_with_all_its_places() -> None:
    first = of_view(1, {"view": "leet"}, {"view": "leet", "row_start": 20, "row_end": 30})
    found = joined(pairs(), [first, of_view(2, {"view": "spaced"})], 9)
    assert found["view"].to_list() == ["leet", "leet"]


def test_a_near_twin_of_what_a_view_shows_is_for_review() -> None:
    found = joined(pairs(), [of_view(1, {"ratio": 1.0}, {"text": 1, "ratio": 0.93})], 9)
    assert said(found) == [(0, 0, "contaminated", "near.ratio", "leet"), (0, 1, "review", RIVAL, "leet")]
    assert found["threshold"].to_list() == [0.9, 1.0]


def test_twins_rival_in_one_place_of_one_row_only_and_equal_ones_both_stand() -> None:
    far = {"text": 1, "ratio": 0.93, "row_start": 10, "row_end": 20}
    for other in (far, {**far, "row_start": 0, "ratio": 0.95}, {**far, "row_start": 0, "unit": 1}):
        found = joined(pairs(), [of_view(1, {}, other)], 9)
        assert found["verdict"].to_list() == ["contaminated", "contaminated"]


def test_a_canonical_pair_is_never_lowered_but_lowers() -> None:
    found = joined(pairs({"ratio": 0.97}), [of_view(1, {"text": 1})], 9)
    assert found["verdict"].to_list() == ["contaminated", "review"]
    found = joined(pairs({"ratio": 0.91}), [of_view(1, {"text": 1})], 9)
    assert found["verdict"].to_list() == ["contaminated", "contaminated"]


def test_decoys_rival_among_themselves() -> None:
    found = joined(pairs(), [of_view(1, {"text": 0, "ratio": 0.91}, {"text": 5, "ratio": 1.0}, {"text": 6})], 5)
    assert found["verdict"].to_list() == ["contaminated", "contaminated", "review"]


def test_without_views_nothing_changes() -> None:
    canonical = pairs({}, {"text": 1})
    assert joined(canonical, [], 9) is canonical


def test_places_are_those_of_the_text_as_read() -> None:
    reading = Reading.of("say: YWJj").replaced([(5, 9, "abc")], "base64")
    found = pairs({"row_start": 5, "row_end": 7}, {"row_start": 0, "row_end": 3, "view": "compatibility"})
    moved = placed(found, [7], [reading], 3)
    assert moved.select("unit", "row_start", "row_end", "view", RANK).rows() == [
        (7, 5, 9, "base64", 3), (7, 0, 3, "base64+compatibility", 3),
    ]  # fmt: skip
