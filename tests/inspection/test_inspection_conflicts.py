"""Conflicting labels: each pair by itself, by a slow oracle; the ends of a chain are no pair."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from auditkit import tables
from auditkit.inspection.conflicts import opposed

labels = st.sampled_from([1, 0, None])
holdings = st.lists(st.tuples(st.integers(0, 4), labels, labels), max_size=12)
links = st.sets(st.sampled_from(list(combinations(range(5), 2))))


def candidates(pairs: set[tuple[int, int]]) -> pl.DataFrame:
    """Every pair of unlike texts, both ways, whether near or not: `shared` says which are."""
    both = [(a, b, int((min(a, b), max(a, b)) in pairs)) for a, b in permutations(range(5), 2)]
    frame = pl.DataFrame(both, schema={"unit": pl.Int64, "text": pl.Int64, "shared": pl.Int64}, orient="row")
    return pl.concat([tables.empty(tables.CANDIDATES), frame], how="diagonal")


def near(asked: pl.DataFrame) -> pl.DataFrame:
    return asked.filter(pl.col("shared") == 1).with_columns(
        tier=pl.lit("near"), verdict=pl.lit("contaminated"), rule=pl.lit("near.ratio"),
        ratio=0.9 + pl.col("unit") / 100, numbers_differ=pl.lit(False),
    )  # fmt: skip


def frame_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"text": pl.Int64, "A": pl.Int8, "B": pl.Int8}, orient="row")


@given(holdings, links)
def test_pairs_are_those_of_plain_python(rows: list[tuple[Any, ...]], pairs: set[tuple[int, int]]) -> None:
    found = opposed(frame_of(rows), ["A", "B"], candidates(pairs), near)
    expected = {
        (policy, one[0], other[0])
        for at, policy in ((1, "A"), (2, "B"))
        for one in rows
        for other in rows
        if one[at] == 1 and other[at] == 0
        and (one[0] == other[0] or (min(one[0], other[0]), max(one[0], other[0])) in pairs)
    }  # fmt: skip
    assert set(found.pairs.select("policy", "flagged", "passed").rows()) == expected
    assert len(found.pairs) == len(expected)


def test_the_ends_of_a_chain_are_no_pair() -> None:
    found = opposed(frame_of([(0, 1, 1), (1, None, 1), (2, 0, 1)]), ["A", "B"], candidates({(0, 1), (1, 2)}), near)
    assert found.pairs.rows() == []


def test_only_pairs_under_both_labels_are_measured_and_the_better_way_round_counts() -> None:
    asked: list[pl.DataFrame] = []

    def measured(frame: pl.DataFrame) -> pl.DataFrame:
        asked.append(frame)
        return near(frame)

    found = opposed(frame_of([(0, 1, None), (1, 0, None), (2, 1, None)]), ["A"], candidates({(0, 1), (0, 2)}), measured)
    assert set(asked[0].select("unit", "text").rows()) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert found.n_measured == 2
    assert found.pairs.select("flagged", "passed", "tier", "ratio").rows() == [(0, 1, "near", 0.91)]


def test_an_equal_text_under_both_labels_is_exact() -> None:
    found = opposed(frame_of([(3, 1, None), (3, 0, None)]), ["A"], candidates(set()), near)
    assert found.pairs.rows() == [("A", 3, 3, "exact", "contaminated", "exact", 1.0, False)]
