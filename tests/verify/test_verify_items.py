"""Shares, sizes, numbers and what many items have in common, against plain Python."""

from __future__ import annotations

from fractions import Fraction

import lexical
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts, token_lists

from auditkit.verify.items import MIN_COMMON_TEXTS, at_least, prepare
from auditkit.verify.rules import default_rules


@given(st.integers(0, 200), st.integers(1, 200), st.decimals(0, 1, places=4).map(float))
def test_shares_are_compared_as_fractions(count: int, size: int, share: float) -> None:
    assert at_least(count, share, size) == (Fraction(count, size) >= Fraction(str(share)))


@pytest.mark.parametrize(
    ("count", "share", "size", "expected"),
    [(3, 0.6, 5, True), (7, 0.7, 10, True), (6, 0.6, 10, True), (29, 0.29, 100, True), (28, 0.29, 100, False)],
)
def test_a_share_is_reached_at_equality(count: int, share: float, size: int, expected: bool) -> None:
    assert at_least(count, share, size) is expected


@given(st.lists(token_lists, max_size=20), st.sampled_from([0.01, 0.3, 0.5, 1.0]))
def test_common_words_are_in_many_texts(item_words: list[list[str]], share: float) -> None:
    items = lexical.items_of([" ".join(words) for words in item_words])
    prepared = prepare(items, lexical.rules_with(near={"common_share": share}))
    texts = [set(items.tokens.words(i)) for i in range(len(items))]
    for word in "abcdefgh":
        count = sum(word in text for text in texts)
        expected = count >= MIN_COMMON_TEXTS and Fraction(count, len(texts)) >= Fraction(str(share))
        assert (oracles.token_hash(word) in prepared.common) == expected


@given(
    st.lists(st.tuples(st.sampled_from("xy"), st.lists(st.sampled_from("ab"), max_size=8)), max_size=14),
    st.sampled_from([2, 3]),
    st.sampled_from([0.05, 0.5]),
)
def test_template_tokens_lie_in_grams_that_many_texts_share(
    parts: list[tuple[str, list[str]]], min_texts: int, share: float
) -> None:
    gram = 3
    items = lexical.items_of([{"benchmark": name, "text": " ".join(words)} for name, words in parts])
    rules = lexical.rules_with(templates={"gram": gram, "min_texts": min_texts, "share": share})
    prepared = prepare(items, rules)
    owners: dict[str, set[int]] = {}
    for name, index in items.parts.select("benchmark", "text_index").iter_rows():
        owners.setdefault(name, set()).add(index)
    texts = [items.tokens.words(i) for i in range(len(items))]
    for t, words in enumerate(texts):
        expected = [False] * len(words)
        for i in range(len(words) - gram + 1):
            for mine in owners.values():
                holders = sum(bool(oracles.stands_at(words[i : i + gram], texts[other])) for other in mine)
                if t in mine and holders >= min_texts and Fraction(holders, len(mine)) >= Fraction(str(share)):
                    expected[i : i + gram] = [True] * gram
        assert prepared.template_mask(t).tolist() == expected


@given(st.lists(texts, max_size=8))
def test_numbers_are_tokens_with_a_digit(values: list[str]) -> None:
    prepared = prepare(lexical.items_of(values), default_rules())
    for text in range(len(prepared.items)):
        expected = [any(char.isdigit() for char in word) for word in prepared.items.tokens.words(text)]
        assert prepared.number_mask(text).tolist() == expected
        assert prepared.has_number[text] == any(expected)
        assert prepared.has_template[text] == prepared.template_mask(text).any()
        assert prepared.n_characters[text] == len(prepared.items.canonicals[text])


def test_numbers_of_other_scripts() -> None:
    prepared = prepare(lexical.items_of(["h2o ١٢ مرحبا 日3 ｆ５ x² none"]), default_rules())
    words = prepared.items.tokens.words(0)
    numbers = [word for word, yes in zip(words, prepared.number_mask(0), strict=True) if yes]
    assert numbers == ["h2o", "١٢", "3", "f5", "x2"]


def test_items_without_tokens_are_prepared() -> None:
    prepared = prepare(lexical.items_of(["!!!"]), default_rules())
    assert prepared.common == frozenset()
    assert len(prepared.in_template) == len(prepared.is_number) == len(prepared.has_number) == 0
