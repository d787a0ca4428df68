"""Where the shared text lies, which view showed it, and whether its numbers differ."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given
from strategies import full_width, token_lists

from auditkit.text.normalise import canonical, tokens_of
from auditkit.text.spans import place
from auditkit.verify.align import Spans, align, characters, kept, numbers_differ, stands_at, view_of
from auditkit.verify.decide import Decision


def hashes(words: list[str]) -> np.ndarray:
    return np.array([oracles.token_hash(word) for word in words], np.uint64)


@given(token_lists, token_lists)
def test_the_first_place_equals_trying_all(needle: list[str], words: list[str]) -> None:
    expected = oracles.stands_at(needle, words)[0] if needle and oracles.stands_at(needle, words) else -1
    assert stands_at(hashes(needle), hashes(words)) == expected


def aligned(row: str, item: str, *, first: int = 0, is_partial: bool = False, tier: str = "contained") -> Spans:
    decision = Decision(tier, "contaminated", "contained.ratio", 0.9, 1.0, "partial_ratio", is_partial)
    words = tokens_of(row)
    return align(decision, words, canonical(row), first, tokens_of(item), canonical(item), first + len(words))


def test_whole_rows_of_exact_and_near_copies() -> None:
    for tier in ("exact", "near"):
        assert aligned("one two three", "one two tree", tier=tier) == Spans((0, 3), (0, 3))


def test_an_edited_copy_inside_a_row() -> None:
    item = "please explain how the old clock tower was built"
    row = "well then, please explain how the odl clock tower was built, thank you very much"
    assert aligned(row, item) == Spans((2, 11), (0, 9))
    assert aligned(row, item, first=5) == Spans((7, 16), (0, 9))


def test_a_row_that_is_a_part_lies_inside_the_item() -> None:
    item = "please explain how the old clock tower was built and who paid for all of it"
    assert aligned("how the odl clock tower was built", item, is_partial=True) == Spans((0, 7), (2, 9))


@given(token_lists.filter(bool), token_lists.filter(bool))
def test_ranges_lie_within_row_and_item(row: list[str], item: list[str]) -> None:
    spans = aligned(" ".join(row), " ".join(item))
    assert 0 <= spans.row[0] < spans.row[1] <= len(row)
    assert 0 <= spans.item[0] < spans.item[1] <= len(item)


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("Ab, cd! ef", (0, 3), (0, 10)),
        ("Ab, cd! ef", (1, 2), (4, 6)),
        ("x caf\u0065\u0301 y", (1, 2), (2, 7)),
        ("", (0, 0), (0, 0)),
        ("!!!", (0, 0), (0, 0)),
    ],
)
def test_characters_of_a_token_range(text: str, span: tuple[int, int], expected: tuple[int, int]) -> None:
    assert characters(place(text), span) == expected


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("How DO i?", "canonical"),
        ("café naïve", "canonical"),
        ("cafe\u0301", "canonical"),
        ("non\u00a0breaking", "canonical"),
        ("日本語", "canonical"),
        (full_width("how do i"), "compatibility"),
        ("ﬁne", "compatibility"),
        ("h\u200bow", "invisible"),
        ("\ufeffhow", "invisible"),
        (full_width("how") + "\u2060", "compatibility+invisible"),
        ("", "canonical"),
    ],
)
def test_the_view_that_a_stretch_needed(text: str, view: str) -> None:
    assert view_of(text) == view


@pytest.mark.parametrize(
    ("row", "item", "expected"),
    [
        ("road 1506 is closed", "road 1507 is closed", True),
        ("road 1506 is closed", "road 1506 is closed", False),
        ("48 friends", "52 friends", True),
        ("pay 5 and 5", "pay 5 and 6", True),
        ("pay 5", "pay 5 and 5", True),
        ("pay 5 and 5 and 7", "pay 5 and 5", False),
        ("no numbers", "at all", False),
        ("١٢ days", "١٣ days", True),
        ("h2o", "h3o", True),
        ("five", "5", True),
    ],
)
def test_differing_numbers(row: str, item: str, expected: bool) -> None:
    assert numbers_differ(tokens_of(row), tokens_of(item)) is expected


@pytest.mark.parametrize(
    ("item", "window", "expected"),
    [
        ("how to make soup", "well how to make soup now", 1.0),
        ("how to make soup", "how to make", 1.0),  # all of the shorter one
        ("how to make abc", "how to make xyz", 12 / 15),  # a shared beginning
        ("abcd", "xyzw", 0.0),
        ("", "abc", 0.0),
    ],
)
def test_what_is_kept_of_the_shorter_text(item: str, window: str, expected: float) -> None:
    assert kept(item, window) == pytest.approx(expected)
