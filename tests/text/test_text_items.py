"""Distinct texts of the benchmarks."""

from __future__ import annotations

import lexical
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from auditkit.text.normalise import canonical, tokens_of


def test_equal_texts_share_one_index_and_all_parts_are_named() -> None:
    items = lexical.items_of(
        ["How do I bake?", {"benchmark": "c", "item": 7, "text": "how do i BAKE"}, "something else"]
    )
    assert items.canonicals == ["how do i bake", "something else"]
    assert items.parts.select("benchmark", "item", "text_index").rows() == [("b", 0, 0), ("c", 7, 0), ("b", 2, 1)]


@given(st.lists(texts, max_size=8))
def test_distinct_texts_are_the_set_of_canonical_texts(values: list[str]) -> None:
    items = lexical.items_of(values)
    assert items.canonicals == list(dict.fromkeys(canonical(text) for text in values if tokens_of(text)))
    for part, index in items.parts.select("part_index", "text_index").iter_rows():
        assert items.canonicals[index] == canonical(values[part])
    assert items.unmatchable.tolist() == [i for i, text in enumerate(values) if not tokens_of(text)]


def test_empty_and_punctuation_are_unmatchable_and_not_equal_to_each_other() -> None:
    items = lexical.items_of(["", "!!!", "one"])
    assert items.unmatchable.tolist() == [0, 1]
    assert items.canonicals == ["one"]


@pytest.mark.parametrize(("n_words", "is_left_out"), [(7, True), (8, False)])
def test_short_answers_are_left_out_and_short_questions_are_not(n_words: int, is_left_out: bool) -> None:
    text = " ".join("abcdefgh"[:n_words])
    items = lexical.items_of([{"kind": "answer", "text": text}, {"kind": "question", "text": "x y"}])
    assert items.unmatchable.tolist() == ([0] if is_left_out else [])


def test_without_any_usable_text_there_is_an_empty_index() -> None:
    items = lexical.items_of(["!!!"])
    assert len(items) == 0
    assert items.are_unspaced.dtype == bool
    assert items.canonicals == []


@given(st.lists(texts, max_size=8))
def test_a_text_is_unspaced_when_half_of_its_tokens_follow_the_last_without_a_space(values: list[str]) -> None:
    items = lexical.items_of(values)
    n_tokens = [len(items.tokens.words(i)) for i in range(len(items))]
    joined = [n - 1 - text.count(" ") for n, text in zip(n_tokens, items.canonicals, strict=True)]
    assert items.are_unspaced.tolist() == [2 * j >= n for j, n in zip(joined, n_tokens, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("猫と犬", True),
        ("猫", False),
        ("the word 猫", False),
        ("今日は雨 Paris へ", True),
        ("plain words here", False),
    ],
)
def test_unspaced_texts(text: str, expected: bool) -> None:
    assert lexical.items_of(["some other words", text, "ねこと犬"]).are_unspaced.tolist() == [False, expected, True]
