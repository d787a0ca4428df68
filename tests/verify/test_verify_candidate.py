"""Where the text that a decision rests on lies, in tokens of row and item."""

from __future__ import annotations

import lexical
from hypothesis import given
from strategies import token_lists

from auditkit.text.normalise import tokens_of
from auditkit.verify.align import Spans
from auditkit.verify.candidate import Candidate
from auditkit.verify.decide import Decision
from auditkit.verify.items import prepare
from auditkit.verify.rules import default_rules


def candidate(row: str, item: str, first: int = 0) -> Candidate:
    """Return a candidate whose window begins at token `first` and goes on to the end, without a shared run."""
    tokens = lexical.rows_of([row]).tokens
    prepared = prepare(lexical.items_of([item]), default_rules())
    return Candidate.at(0, 0, (first, int(tokens.lengths[0])), (0, 0, 0), tokens, prepared)


def aligned(row: str, item: str, *, first: int = 0, is_partial: bool = False, tier: str = "contained") -> Spans:
    decision = Decision(tier, "contaminated", "contained.ratio", 0.9, 1.0, "partial_ratio", is_partial)
    return candidate(row, item, first).spans(decision)


def test_whole_rows_of_exact_and_near_copies() -> None:
    for tier in ("exact", "near"):
        assert aligned("one two three", "one two tree", tier=tier) == Spans((0, 3), (0, 3))


def test_an_edited_copy_inside_a_row() -> None:
    item = "please explain how the old clock tower was built"
    row = "well then, please explain how the odl clock tower was built, thank you very much"
    assert aligned(row, item) == Spans((2, 11), (0, 9))
    assert aligned(f"and so it is {row}", item, first=5) == Spans((6, 15), (0, 9))


def test_letters_beyond_ascii_are_counted_as_characters() -> None:
    item = "пожалуйста объясни как была построена старая башня"
    row = f"ну вот, {item.replace('старая', 'стараа')}, спасибо 日本語"
    assert aligned(row, item) == Spans((2, 9), (0, 7))


def test_a_row_that_is_a_part_lies_inside_the_item() -> None:
    item = "please explain how the old clock tower was built and who paid for all of it"
    assert aligned("how the odl clock tower was built", item, is_partial=True) == Spans((0, 7), (2, 9))


def test_long_texts_are_aligned_token_by_token() -> None:
    item = [f"w{i}" for i in range(120)]
    row = ["x"] * 10 + item[:60] + ["new"] + item[61:] + ["y"] * 10
    assert aligned(" ".join(row), " ".join(item)) == Spans((10, 130), (0, 120))


@given(token_lists.filter(bool), token_lists.filter(bool))
def test_ranges_lie_within_row_and_item(row: list[str], item: list[str]) -> None:
    spans = aligned(" ".join(row), " ".join(item))
    assert 0 <= spans.row[0] < spans.row[1] <= len(row)
    assert 0 <= spans.item[0] < spans.item[1] <= len(tokens_of(" ".join(item)))
