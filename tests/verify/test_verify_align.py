"""Where the shared text lies, which view showed it, and whether its numbers differ."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given
from strategies import full_width, token_lists

from auditkit.text.normalise import tokens_of
from auditkit.verify.align import kept, numbers_differ, stands_at, tokens_between, view_of


def hashes(words: list[str]) -> np.ndarray:
    return np.array([oracles.token_hash(word) for word in words], np.uint64)


@given(token_lists, token_lists)
def test_the_first_place_equals_trying_all(needle: list[str], words: list[str]) -> None:
    expected = oracles.stands_at(needle, words)[0] if needle and oracles.stands_at(needle, words) else -1
    assert stands_at(hashes(needle), hashes(words)) == expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, 11, (0, 3)), (0, 3, (0, 1)), (2, 8, (1, 2)), (1, 3, (0, 1)), (2, 3, (0, 3)), (3, 4, (0, 3))],
)
def test_tokens_of_which_half_lies_between(start: int, end: int, expected: tuple[int, int]) -> None:
    letters = np.array([0, 4, 8]), np.array([3, 7, 11])  # "abc def ghi"
    assert tokens_between(letters, start, end) == expected


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
    numbers = [token for token in tokens_of(item) if any(char.isdigit() for char in token)]
    assert numbers_differ(hashes(tokens_of(row)), hashes(numbers)) is expected


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
