"""From hits to windows, step by step; the scan as a whole is compared in tests/detect/test_detect_seeds.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.kernels.overlap import sketch_texts
from auditkit.kernels.seeds import DIAGONAL_SHIFT
from auditkit.kernels.windows import N_CROWDS, drop_hopeless, is_candidate


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 10), st.data())
def test_candidates_share_half_of_the_item_or_a_stretch_or_are_a_part(
    n_item: int, n_window: int, n_hits: int, data: st.DataObject
) -> None:
    shared = data.draw(st.integers(0, min(n_item, n_window)))
    is_half = Fraction(shared, n_item) > Fraction(1, 2) or (2 * shared == n_item and n_hits >= 4)
    is_part = n_window < n_item and Fraction(shared, n_window) >= Fraction(3, 4)
    expected = n_hits >= oracles.STRETCH_SEEDS or is_half or (is_part and Fraction(shared, n_item) >= Fraction(3, 10))
    assert is_candidate(shared, n_item, n_window, n_hits) == expected


@pytest.mark.parametrize(
    ("shared", "n_item", "n_window", "n_hits", "expected"),
    [
        (6, 10, 30, 1, True),
        (5, 10, 30, 4, True),
        (5, 10, 30, 3, False),  # just half: one phrase that both have by chance
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


def kept(hits: list[tuple[int, int]], row: list[int], items: list[list[int]]) -> list[tuple[int, int]]:
    """Return the (text, diagonal) hits that drop_hopeless keeps."""
    offsets = np.cumsum([0, *map(len, items)])
    sketches = sketch_texts(np.array([word for item in items for word in item], np.int32), offsets, 1000)
    sketch = sketch_texts(np.array(row, np.int32), np.array([0, len(row)]), 1000)
    packed = np.array([(text << 32) | (diagonal + DIAGONAL_SHIFT) for text, diagonal in hits], np.int64)
    crowds = np.full(N_CROWDS, 99)  # what an earlier row left
    n = drop_hopeless(packed, len(packed), len(row), offsets, sketches, sketch, crowds)
    return [(hit >> 32, (hit & 0xFFFFFFFF) - DIAGONAL_SHIFT) for hit in packed[:n].tolist()]


def test_hits_of_texts_that_share_too_little_are_dropped() -> None:
    row, items = list(range(20)), [list(range(5, 15)), [0, *range(500, 509)], [7, 8, 9, 10, 600, 601, 602, 603, 604]]
    assert kept([(1, 0), (0, 5), (2, 7), (0, 6)], row, items) == [(0, 5), (0, 6)]


def test_eight_hits_of_a_text_are_kept_whatever_it_shares() -> None:
    row, item = [0, 1] * 10, [0, 1, *range(500, 530)]
    hits = [(0, 2 * i) for i in range(8)]
    assert kept(hits, row, [item]) == hits
    assert kept(hits[:7], row, [item]) == []


def test_all_hits_of_a_text_are_kept_where_one_may_be_a_candidate() -> None:
    # Four of ten tokens are shared: enough for a window shorter than the item, as at the end of the row, only.
    row, item = [*range(500, 530), 0, 1, 2, 3], [0, 1, 2, 3, *range(100, 106)]
    assert kept([(0, 33)], row, [item]) == [(0, 33)]
    assert kept([(0, 5)], row, [item]) == []
    assert kept([(0, 5), (0, 33)], row, [item]) == [(0, 5), (0, 33)]
