"""Which pairs are proposed below the threshold, and that shards change nothing."""

from __future__ import annotations

from typing import Any

import lexical
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from test_detect_neighbours import parts, vectors

from auditkit.detect.neighbours import Neighbours
from auditkit.detect.proposals import ITEM_NEIGHBOURS, PAIRS, Proposals, Proposer, foreign, vocabulary

NONE = (np.empty(0, np.int64), np.empty(0, np.int64))
KNOWN = (np.array([0, 3]), np.array([1, 2]))


def propose(seed: int, size: int, proposals: Proposals | None, n: int = 30, known: Any = KNOWN) -> pl.DataFrame:
    """Return the pairs of n rows, handed over in blocks of `size`; every third row is foreign."""
    items, rows, places = vectors(9, seed), vectors(n, seed + 1), np.arange(n)
    found = Proposer(0.9, 0.0005, proposals, items, Neighbours.of(parts(["a"] * 5 + ["b"] * 4), items), known)
    for start in range(0, n, size):
        block = slice(start, start + size)
        found.add(places[block], rows[block], places[block] % 3 == 0)
    return found.pairs().sort("distinct", "place")


@given(st.integers(0, 1000), st.integers(1, 30))
def test_blocks_change_nothing(seed: int, size: int) -> None:
    for proposals in (None, Proposals(0.3, 0.7), Proposals(0.3, 0.9, is_for_translations=True)):
        found = propose(seed, size, proposals)
        # One row is multiplied in another order than many: the last digit may differ.
        assert_frame_equal(found, propose(seed, 30, proposals), check_exact=False, abs_tol=2e-4)
        assert not {(0, 1), (3, 2)} & set(found.select("distinct", "place").rows())
        assert found.schema == PAIRS


def test_without_proposals_only_the_threshold_counts() -> None:
    found = propose(1, 30, None)
    assert (found["cosine"] >= 0.899).all()
    assert found["is_proposed"].to_list() == (found["cosine"] >= 0.9).to_list()


def test_each_row_proposes_its_closest_item_of_each_benchmark() -> None:
    found = propose(1, 30, Proposals(0.0, 0.7), known=NONE).filter("is_proposed")
    cosines = vectors(30, 2) @ vectors(9, 1).T
    for row in range(30):
        best = {int(cosines[row, :5].argmax()), 5 + int(cosines[row, 5:].argmax())}
        wanted = {j for j in best if cosines[row, j] >= 0} | set(
            np.flatnonzero(np.round(cosines[row], 4) >= 0.9).tolist()
        )
        assert set(found.filter(pl.col("distinct") == row)["place"].to_list()) == wanted


def test_only_foreign_rows_are_proposed_as_translations_and_each_item_keeps_its_closest() -> None:
    found = propose(1, 7, Proposals(0.3, 0.9, is_for_translations=True)).filter(pl.col("cosine") < 0.8995)
    assert set(found["distinct"].to_list()) <= set(range(0, 30, 3))
    cosines = np.round(vectors(30, 2) @ vectors(9, 1).T, 4)
    cosines[KNOWN], cosines[cosines >= 0.9] = -2, -2
    for place in range(9):
        closest = 3 * np.argsort(-cosines[::3, place])[:ITEM_NEIGHBOURS]
        known = found.filter(pl.col("place") == place)["distinct"].to_list()
        assert {row for row in closest.tolist() if cosines[row, place] > -2} <= set(known)
    assert (found.filter(~pl.col("is_neighbour"))["centred"] >= 0.3).all()
    assert (found.filter(~pl.col("is_neighbour"))["lead"] >= 0).all()


@pytest.mark.parametrize(
    ("row", "is_foreign"),
    [
        ("how do i bake bread", False),
        ("bake bread with some salt", False),  # 2 of 5: exactly the least share
        ("bake bread with some more salt", True),  # 2 of 6
        ("come si fa il pane", True),
        ("如何烤面包", True),
    ],
)
def test_a_row_is_foreign_where_few_of_its_tokens_are_the_items(row: str, is_foreign: bool) -> None:
    known = vocabulary(lexical.items_of(["how do i bake bread", "bake a cake"]))
    assert foreign(lexical.rows_of([row]).tokens, np.array([0]), known).tolist() == [is_foreign]
