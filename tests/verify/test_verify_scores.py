"""Scores equal rapidfuzz.fuzz on the canonical texts, and are exact at thresholds."""

from __future__ import annotations

from fractions import Fraction

import lexical
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz
from rapidfuzz.distance import Indel
from strategies import token_lists

from auditkit import tables
from auditkit.verify.items import prepare
from auditkit.verify.rules import default_rules
from auditkit.verify.scores import LONG_TOKENS, WHOLE_ROW_FACTOR, Scores, score

#: What reaches no rule is not scored to the end.
LEAST_PARTIAL = default_rules().contained.review_ratio


def scores_of(parts: list[str], rows: list[str], pairs: list[tuple[int, int, int, int, int | None]]) -> Scores:
    """Return the scores of (unit, text, first, last, shared)."""
    names = ("unit", "text", "first", "last", "shared")
    frame = pl.DataFrame(pairs, schema=dict.fromkeys(names, pl.Int64), orient="row").with_columns(
        pl.lit("seeds").alias("detector"), pl.lit(None, pl.Float64).alias("cosine")
    )
    tables.check(frame, tables.CANDIDATES, "test")
    return score(frame, lexical.rows_of(rows).tokens, prepare(lexical.items_of(parts), default_rules()))


words = token_lists.filter(bool)


@given(st.lists(words, min_size=1, max_size=4), words)
def test_scores_equal_rapidfuzz(rows: list[list[str]], item: list[str]) -> None:
    texts, text = [" ".join(row) for row in rows], " ".join(item)
    found = scores_of([text], texts, [(i, 0, 0, len(row), None) for i, row in enumerate(rows)])
    for i, row in enumerate(texts):
        is_whole = len(rows[i]) <= WHOLE_ROW_FACTOR * len(item) and len(item) <= WHOLE_ROW_FACTOR * len(rows[i])
        assert found.windows[i] == row
        assert found.rows[i] == (row if is_whole else "")
        assert found.ratio[i] == pytest.approx(fuzz.ratio(row, text) / 100 if is_whole else 0, abs=1e-9)
        assert found.token_sort[i] == pytest.approx(fuzz.token_sort_ratio(row, text) / 100 if is_whole else 0, abs=1e-9)
        partial = fuzz.partial_ratio(row, text) / 100
        assert found.partial[i] == pytest.approx(partial if partial >= LEAST_PARTIAL else 0, abs=1e-9)


def test_long_texts_are_compared_token_by_token() -> None:
    item = [f"w{i}" for i in range(200)]
    row = [*(f"x{i}" for i in range(40)), *item[:90], "new", *item[100:], *(f"y{i}" for i in range(40))]
    assert len(item) > LONG_TOKENS
    found = scores_of([" ".join(item)], [" ".join(row)], [(0, 0, 0, len(row), 190)])
    assert found.partial[0] == pytest.approx(190 / 200, abs=1e-9)
    assert found.runs[0].tolist() == [100, 131, 100]


@given(words, words)
def test_a_ratio_equals_its_threshold_exactly(row: list[str], item: list[str]) -> None:
    left, right = " ".join(row), " ".join(item)
    total = len(left) + len(right)
    exact = Fraction(total - Indel.distance(left, right), total)
    found = scores_of([right], [left], [(0, 0, 0, len(row), None)])
    if len(row) <= 3 * len(item) <= 9 * len(row):
        assert found.ratio[0] == round(float(exact), 9)


def test_nine_of_ten_letters_are_exactly_point_nine() -> None:
    found = scores_of(["abcdefghij"], ["abcdefghiz"], [(0, 0, 0, 1, None)])
    assert found.ratio[0] == 0.9


def test_a_window_is_scored_and_not_the_row_around_it() -> None:
    found = scores_of(["c d e f"], ["a b c d e f g h"], [(0, 0, 2, 6, 4), (0, 0, 0, 4, 2)])
    assert found.windows == ["c d e f", "a b c d"]
    assert found.partial[0] == 1.0
    assert fuzz.partial_ratio("a b c d", "c d e f") / 100 < LEAST_PARTIAL
    assert found.partial[1] == 0


@pytest.mark.parametrize(("shared", "is_scored"), [(None, True), (5, True), (4, False), (0, False)])
def test_windows_that_share_too_little_are_not_scored_in_part(shared: int | None, is_scored: bool) -> None:
    row, item = "aa bb cc dd ee ff gg hh ii jj kk ll", "aa bb cc dd ee ff gg hh ii jz"
    found = scores_of([item], [row], [(0, 0, 0, 12, shared)])
    assert bool(found.partial[0] > 0) is is_scored


def test_characters_of_unspaced_scripts_are_not_sorted() -> None:
    found = scores_of(["今日は東京へ行く"], ["行く東京へ今日は"], [(0, 0, 0, 8, None)])
    assert found.token_sort[0] == 0.0
    assert 0 < found.ratio[0] < 0.9


def test_the_longest_run_is_found_with_its_places() -> None:
    found = scores_of(["a b c d e f"], ["x a b y c d e z"], [(0, 0, 0, 8, None), (0, 0, 0, 4, None)])
    assert found.runs.tolist() == [[3, 4, 2], [2, 1, 0]]


def test_no_candidates_have_no_scores() -> None:
    found = scores_of(["!!!"], ["a"], [])
    assert (found.windows, found.rows, len(found.ratio), len(found.partial), found.runs.shape) == ([], [], 0, 0, (0, 3))
