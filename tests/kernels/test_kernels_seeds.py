"""The small steps of the seed scan; the scan as a whole is compared in tests/detect/test_detect_seeds.py."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.kernels.seeds import _run_of_all_pairs, _run_of_grams, is_candidate, longest_runs, shared_tokens

small = st.lists(st.integers(0, 5), max_size=12)


@given(small, small)
def test_shared_tokens_are_a_multiset_intersection(window: list[int], item: list[int]) -> None:
    found = shared_tokens(np.array(window, np.uint64), np.array(sorted(item), np.uint64))
    assert found == sum((Counter(window) & Counter(item)).values())


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 10), st.data())
def test_candidates_share_half_of_the_item_or_a_stretch_or_are_a_part(
    n_item: int, n_window: int, n_hits: int, data: st.DataObject
) -> None:
    shared = data.draw(st.integers(0, min(n_item, n_window)))
    is_half = Fraction(shared, n_item) >= Fraction(1, 2)
    is_part = n_window < n_item and Fraction(shared, n_window) >= Fraction(3, 4)
    expected = n_hits >= oracles.STRETCH_SEEDS or is_half or (is_part and Fraction(shared, n_item) >= Fraction(3, 10))
    assert is_candidate(shared, n_item, n_window, n_hits) == expected


@pytest.mark.parametrize(
    ("shared", "n_item", "n_window", "n_hits", "expected"),
    [
        (5, 10, 30, 1, True),
        (4, 10, 30, 1, False),
        (3, 10, 4, 1, True),
        (3, 10, 5, 1, False),
        (2, 10, 2, 1, False),
        (0, 4, 9, 1, False),
        (9, 90, 300, 8, True),
        (9, 90, 300, 7, False),
        (60, 64, 80, 1, True),
        (60, 96, 120, 6, True),  # long items share half of their words by chance: one seed in sixteen is asked for
        (60, 96, 120, 5, False),
    ],
)
def test_candidates_by_hand(shared: int, n_item: int, n_window: int, n_hits: int, expected: bool) -> None:
    assert is_candidate(shared, n_item, n_window, n_hits) == expected


@given(st.lists(small, min_size=1, max_size=3), st.lists(small, min_size=1, max_size=3), st.data())
def test_the_longest_run_equals_trying_all(rows: list[list[int]], items: list[list[int]], data: st.DataObject) -> None:
    row, item = data.draw(st.integers(0, len(rows) - 1)), data.draw(st.integers(0, len(items) - 1))
    first = data.draw(st.integers(0, len(rows[row])))
    last = data.draw(st.integers(first, len(rows[row])))
    flat = [
        (np.array([token for one in many for token in one], np.uint64), np.cumsum([0, *map(len, many)]))
        for many in (rows, items)
    ]
    found = longest_runs(*flat[0], *flat[1], np.array([[row, item, first, last]], np.int64))
    length, in_row, in_item = found[0].tolist()
    expected, at = oracles.longest_run(rows[row][first:last], items[item])
    assert length == expected
    if length:
        assert in_row == first + at
        assert items[item][in_item : in_item + length] == rows[row][in_row : in_row + length]


@given(st.lists(st.integers(0, 3), max_size=40), st.lists(st.integers(0, 3), max_size=40))
def test_runs_by_hashed_grams_equal_runs_by_all_pairs(left: list[int], right: list[int]) -> None:
    window, item = np.array(left, np.uint64), np.array(right, np.uint64)
    assert _run_of_grams(window, item) == _run_of_all_pairs(window, item)
