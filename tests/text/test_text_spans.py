"""Places of tokens in the text as read."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import disguises, sentences, texts

from auditkit.text.normalise import tokens_of
from auditkit.text.spans import place


@settings(max_examples=200)
@given(texts)
def test_places_are_those_of_the_tokens(text: str) -> None:
    placed = place(text)
    assert [one.token for one in placed] == tokens_of(text)
    for one in placed:
        assert 0 <= one.start < one.end <= len(text)
        assert one.token in tokens_of(text[one.start : one.end])
    for left, right in itertools.pairwise(placed):
        # One character can hold several tokens (a half: 1, slash, 2); places never run backwards.
        assert left.start <= right.start
        assert left.end <= right.end


@given(texts)
def test_from_the_first_to_the_last_token_is_the_whole_text(text: str) -> None:
    placed = place(text)
    if placed:
        assert tokens_of(text[placed[0].start : placed[-1].end]) == tokens_of(text)


@given(st.data())
def test_every_word_of_a_disguised_sentence_is_cut_out_by_itself(data: st.DataObject) -> None:
    words = data.draw(sentences)
    text = data.draw(disguises(words))
    for one, word in zip(place(text), words, strict=True):
        assert tokens_of(text[one.start : one.end]) == tokens_of(word)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("Ab, c", [("ab", 0, 2), ("c", 4, 5)]),
        ("cafe\u0301!", [("café", 0, 5)]),
        ("h\u200bow", [("how", 0, 4)]),
        ("\u1112\u1161\u11ab글", [("한글", 0, 4)]),
        ("か\u3099く", [("が", 0, 2), ("く", 2, 3)]),
        ("½", [("1", 0, 1), ("⁄", 0, 1), ("2", 0, 1)]),
        ("x😀y", [("x", 0, 1), ("😀", 1, 2), ("y", 2, 3)]),
        ("", []),
        ("?!\n", []),
    ],
)
def test_places_by_hand(text: str, spans: list[tuple[str, int, int]]) -> None:
    assert [(one.token, one.start, one.end) for one in place(text)] == spans
