"""Stretches of canonical text, and places of tokens in the text as read."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import disguises, sentences, texts

from auditkit.text.normalise import canonical, tokenise, tokens_of
from auditkit.text.spans import characters, letters_of_tokens, n_characters, n_spaces, place, stretches, wholes


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


def places_of_ranges(values: list[str], ranges: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    index, first, last = (np.array([one[i] for one in ranges], np.int64) for i in range(3))
    start, end = characters(values, index, first, last)
    return list(zip(start.tolist(), end.tolist(), strict=True))


@settings(max_examples=200)
@given(st.lists(texts, max_size=6), st.data())
def test_characters_of_many_ranges_are_those_of_placed_tokens(values: list[str], data: st.DataObject) -> None:
    ranges, expected = [], []
    for i, text in enumerate(values):
        placed = place(text)
        for _ in range(data.draw(st.integers(0, 2))):
            first = data.draw(st.integers(0, max(len(placed) - 1, 0)))
            last = data.draw(st.integers(first + 1, len(placed))) if placed else 0
            ranges.append((i, first, last))
            expected.append((placed[first].start, placed[last - 1].end) if placed else (0, 0))
    assert places_of_ranges(values, ranges) == expected


@settings(max_examples=300)
@given(texts)
def test_characters_of_each_token_are_its_place(text: str) -> None:
    placed = place(text)
    ranges = [(0, i, i + 1) for i in range(len(placed))]
    assert places_of_ranges([text], ranges) == [(one.start, one.end) for one in placed]


@pytest.mark.parametrize("start", range(0, 0x3000, 0x400))
def test_every_character_between_others_is_placed_as_when_folded_in_pieces(start: int) -> None:
    values = [f"a{chr(point)}b {chr(point)}c{chr(point)}" for point in range(start, start + 0x400)]
    placed = [place(text) for text in values]
    ranges = [(i, k, k + 1) for i, tokens in enumerate(placed) for k in range(len(tokens))]
    assert places_of_ranges(values, ranges) == [(one.start, one.end) for tokens in placed for one in tokens]


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("Ab, cd! ef", (0, 3), (0, 10)),
        ("Ab, cd! ef", (1, 2), (4, 6)),
        ("x caf\u0065\u0301 y", (1, 2), (2, 7)),
        ("Straße ﬁne", (0, 1), (0, 6)),
        ("Straße ﬁne", (1, 2), (7, 10)),
        ("", (0, 0), (0, 0)),
        ("!!!", (0, 0), (0, 0)),
    ],
)
def test_characters_of_a_token_range(text: str, span: tuple[int, int], expected: tuple[int, int]) -> None:
    assert places_of_ranges(["two words", text, "e\u0301"], [(1, *span)]) == [expected]


@given(st.lists(texts, max_size=6))
def test_stretches_are_slices_of_the_canonical_text(values: list[str]) -> None:
    tokens = tokenise(pl.Series(values, dtype=pl.String))
    index = np.arange(len(values))
    canonicals = [canonical(text) for text in values]
    assert wholes(tokens, index) == canonicals
    assert n_characters(tokens).tolist() == [len(text) for text in canonicals]
    assert n_spaces(tokens).tolist() == [text.count(" ") for text in canonicals]
    ranges = [(i, a, b) for i in range(len(values)) for a, b in itertools.combinations(range(tokens.lengths[i] + 1), 2)]
    columns = np.array(ranges, np.int64).reshape(-1, 3).T
    assert stretches(tokens, *columns) == [tokens.slice(*one) for one in ranges]


@given(texts.filter(lambda text: len(tokens_of(text)) > 1), st.data())
def test_tokens_stand_at_their_letters_of_a_stretch(text: str, data: st.DataObject) -> None:
    tokens = tokenise(pl.Series([text]))
    first = data.draw(st.integers(0, int(tokens.lengths[0]) - 1))
    last = data.draw(st.integers(first + 1, int(tokens.lengths[0])))
    stretch = tokens.slice(0, first, last)
    starts, ends = letters_of_tokens(tokens, 0, first, last)
    assert [stretch[a:b] for a, b in zip(starts, ends, strict=True)] == tokens.words(0)[first:last]
