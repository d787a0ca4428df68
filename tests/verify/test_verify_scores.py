"""Scores equal rapidfuzz.fuzz on the canonical texts, are exact at thresholds, and their bounds lose none."""

from __future__ import annotations

from fractions import Fraction

import lexical
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz import fuzz
from rapidfuzz.distance import Indel, LCSseq
from strategies import texts, token_lists

from auditkit import tables
from auditkit.text.normalise import canonical, tokens_of
from auditkit.verify.items import prepare
from auditkit.verify.rules import Rules, default_rules
from auditkit.verify.scores import (
    LONG_TOKENS,
    WHOLE_ROW_FACTOR,
    Scores,
    by_word,
    have_in_order,
    least_near,
    least_partial,
    score,
)
from auditkit.verify.windows import Windows

Place = tuple[int, int, int, int, int | None]


def windows_of(parts: list[str], rows: list[str], pairs: list[Place], rules: Rules | None = None) -> Windows:
    """Return the windows (unit, text, first, last, shared)."""
    names = ("unit", "text", "first", "last", "shared")
    frame = pl.DataFrame(pairs, schema=dict.fromkeys(names, pl.Int64), orient="row").with_columns(
        pl.lit("seeds").alias("detector"), pl.lit(None, pl.Float64).alias("cosine")
    )
    tables.check(frame, tables.CANDIDATES, "test")
    prepared = prepare(lexical.items_of(parts), rules or default_rules())
    return Windows.of(frame, lexical.rows_of(rows).tokens, prepared)


def scores_of(parts: list[str], rows: list[str], pairs: list[Place], rules: Rules | None = None) -> Scores:
    windows = windows_of(parts, rows, pairs, rules)
    return score(windows, np.arange(len(windows)))


def rules_from(least: float) -> Rules:
    """Return rules that are all reached at one score."""
    near = dict.fromkeys(["ratio", "token_sort", "common_ratio", "review_ratio", "short_ratio"], least)
    return lexical.rules_with(near=near, contained={"ratio": least, "review_ratio": least})


words = token_lists.filter(bool)
some_texts = st.one_of(words.map(" ".join), texts.filter(tokens_of), st.just("how to make soup of leek and potato"))


@given(st.lists(some_texts, min_size=1, max_size=5), some_texts, st.sampled_from([0.0, 0.3, 0.6, 0.75, 0.82, 0.9, 1.0]))
@example(["how to make"], "how to make soup", 0.86)
def test_scores_from_the_least_threshold_on_equal_rapidfuzz(rows: list[str], item: str, least: float) -> None:
    n_item = len(tokens_of(item))
    places: list[Place] = [(i, 0, 0, len(tokens_of(row)), None) for i, row in enumerate(rows)]
    windows = windows_of([item], rows, places, rules_from(least))
    found, text = score(windows, np.arange(len(rows))), canonical(item)
    for i, row in enumerate(map(canonical, rows)):
        n_row, is_unspaced = len(tokens_of(rows[i])), bool(windows.are_unspaced[i])
        is_whole = n_row <= WHOLE_ROW_FACTOR * n_item and n_item <= WHOLE_ROW_FACTOR * n_row
        mine, theirs = (row.replace(" ", ""), text.replace(" ", "")) if is_unspaced else (row, text)
        expected = {
            "ratio": fuzz.ratio(mine, theirs) / 100 if is_whole else 0,
            "token_sort": fuzz.token_sort_ratio(row, text) / 100 if is_whole and not is_unspaced else 0,
            "partial": fuzz.partial_ratio(row, text) / 100,
        }
        for name, value in expected.items():
            score_found = float(getattr(found, name)[i])
            assert score_found == pytest.approx(value if value >= least - 1e-9 else 0, abs=1e-9), name


def whole_window(row: str, part: str) -> Windows:
    """Return the one window that is the whole row."""
    return windows_of([part], [row], [(0, 0, 0, len(tokens_of(row)), None)])


@given(some_texts, some_texts, st.floats(0.05, 1))
def test_letters_in_order_bound_the_best_stretch(row: str, part: str, least: float) -> None:
    windows, at = whole_window(row, part), np.zeros(1, np.int64)
    left, right = canonical(row), canonical(part)
    letters, n_shorter = windows.letters_in_order(at)
    assert (letters[0], n_shorter[0]) == (LCSseq.similarity(left, right), min(len(left), len(right)))
    if fuzz.partial_ratio(left, right) / 100 >= least:
        assert have_in_order(windows, at, least / (2 - least)).tolist() == [True]


@pytest.mark.parametrize(("share", "expected"), [(0.75, True), (0.76, False)])
@pytest.mark.parametrize("letter", ["c", "ç"])
def test_letters_in_order_are_counted_of_the_shorter_text(share: float, expected: bool, letter: str) -> None:
    windows = whole_window(f"abx{letter}", f"aabb{letter}{letter}")
    assert have_in_order(windows, np.zeros(1, np.int64), share).tolist() == [expected]


@given(st.lists(words, min_size=1, max_size=4))
def test_words_are_sorted_as_token_sort_does(rows: list[list[str]]) -> None:
    assert by_word([" ".join(row) for row in rows]) == [" ".join(sorted(row)) for row in rows]
    assert by_word(["the cat and dog"]) == ["and cat dog the"]


def test_the_least_thresholds_are_those_of_any_rule() -> None:
    assert (least_near(default_rules()), least_partial(default_rules())) == (0.82, 0.86)
    assert least_near(lexical.rules_with(near={"common_ratio": 0.7})) == 0.7
    assert least_near(lexical.rules_with(near={"token_sort": 0.7})) == 0.7
    assert least_partial(lexical.rules_with(contained={"review_ratio": 0.95})) == 0.9


def test_only_the_windows_asked_for_are_scored() -> None:
    windows = windows_of(["a b c d"], ["a b c d", "a b c e"], [(0, 0, 0, 4, None), (1, 0, 0, 4, None)])
    found = score(windows, np.array([1]))
    assert (found.ratio[0], found.token_sort[0], found.partial[0]) == (0, 0, 0)
    assert found.ratio[1] == pytest.approx(6 / 7, abs=1e-9)


def test_long_texts_are_compared_token_by_token() -> None:
    item = [f"w{i}" for i in range(200)]
    row = [*(f"x{i}" for i in range(40)), *item[:90], "new", *item[100:], *(f"y{i}" for i in range(40))]
    assert len(item) > LONG_TOKENS
    places: list[Place] = [(0, 0, 0, len(row), 190), (0, 0, 0, len(row), 171)]
    windows = windows_of([" ".join(item)], [" ".join(row)], places)
    found = score(windows, np.arange(2))
    assert found.partial[0] == pytest.approx(190 / 200, abs=1e-9)
    assert found.partial[1] == 0  # 171 shared tokens are too few for 0.86 of 200
    assert windows.runs[0].tolist() == [100, 131, 100]


@given(words, words)
def test_a_ratio_equals_its_threshold_exactly(row: list[str], item: list[str]) -> None:
    left, right = " ".join(row), " ".join(item)
    total = len(left) + len(right)
    exact = Fraction(total - Indel.distance(left, right), total)
    found = scores_of([right], [left], [(0, 0, 0, len(row), None)], rules_from(float(exact)))
    if len(row) <= 3 * len(item) <= 9 * len(row):
        assert found.ratio[0] == round(float(exact), 9)


def test_nine_of_ten_letters_are_exactly_point_nine() -> None:
    found = scores_of(["abcdefghij"], ["abcdefghiz"], [(0, 0, 0, 1, None)])
    assert found.ratio[0] == 0.9


def test_a_window_is_scored_and_not_the_row_around_it() -> None:
    places: list[Place] = [(0, 0, 2, 6, 4), (0, 0, 0, 4, 2)]
    windows = windows_of(["c d e f"], ["a b c d e f g h"], places)
    found = score(windows, np.arange(2))
    assert windows.window_texts(np.arange(2)) == ["c d e f", "a b c d"]
    assert found.partial[0] == 1.0
    assert fuzz.partial_ratio("a b c d", "c d e f") / 100 < least_partial(default_rules())
    assert found.partial[1] == 0


@pytest.mark.parametrize(("shared", "is_scored"), [(None, True), (5, True), (4, False), (0, False)])
def test_windows_that_share_too_little_are_not_scored_in_part(shared: int | None, is_scored: bool) -> None:
    row, item = "aa bb cc dd ee ff gg hh ii jj kk ll", "aa bb cc dd ee ff gg hh ii jz"
    found = scores_of([item], [row], [(0, 0, 0, 12, shared)])
    assert bool(found.partial[0] > 0) is is_scored


def test_characters_of_unspaced_scripts_are_not_sorted() -> None:
    found = scores_of(["今日は東京へ行く"], ["行く東京へ今日は"], [(0, 0, 0, 8, None)], rules_from(0.0))
    assert found.token_sort[0] == 0.0
    assert 0 < found.ratio[0] < 0.9


def test_the_longest_run_is_found_with_its_places() -> None:
    windows = windows_of(["a b c d e f"], ["x a b y c d e z"], [(0, 0, 0, 8, None), (0, 0, 0, 4, None)])
    assert windows.runs.tolist() == [[3, 4, 2], [2, 1, 0]]


def test_no_candidates_have_no_scores() -> None:
    found = scores_of(["!!!"], ["a"], [])
    assert (len(found.ratio), len(found.token_sort), len(found.partial)) == (0, 0, 0)
