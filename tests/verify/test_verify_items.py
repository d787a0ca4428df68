"""Shingles, shares and what many items have in common, against plain Python."""

from __future__ import annotations

from fractions import Fraction

import lexical
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import token_lists

from auditkit.verify.items import MIN_COMMON_TEXTS, at_least, prepare, shingle_size, shingles
from auditkit.verify.matches import ShardRows, overlap
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


@given(token_lists, st.integers(1, 4))
def test_shingles_are_those_of_sets(words: list[str], size: int) -> None:
    hashes = np.array([oracles.token_hash(word) for word in words], np.uint64)
    found = shingles(hashes, size)
    assert len(found) == len(oracles.shingle_set(words, size))
    assert found.tolist() == sorted(set(found.tolist()))


@pytest.mark.parametrize(("n", "size"), [(1, 1), (4, 1), (5, 2), (7, 2), (8, 3), (500, 3)])
def test_short_items_have_short_shingles(n: int, size: int) -> None:
    assert shingle_size(n) == size


@given(token_lists.filter(bool), token_lists.filter(bool))
def test_overlap_equals_sets(row: list[str], item: list[str]) -> None:
    items, rows = lexical.items_of([" ".join(item)]), lexical.rows_of([" ".join(row)])
    size = shingle_size(len(item))
    mine, theirs = oracles.shingle_set(row, size), oracles.shingle_set(item, size)
    found = overlap(0, 0, ShardRows(rows.texts, rows.tokens), prepare(items, default_rules()))
    shared = len(mine & theirs)
    assert found == {
        "containment": shared / len(theirs),
        "row_containment": shared / len(mine),
        "jaccard": shared / len(mine | theirs),
    }


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


def test_items_without_tokens_are_prepared() -> None:
    prepared = prepare(lexical.items_of(["!!!"]), default_rules())
    assert prepared.sorted_texts == []
    assert prepared.common == frozenset()
    assert len(prepared.in_template) == 0


def test_words_are_sorted_as_token_sort_does() -> None:
    assert prepare(lexical.items_of(["the cat AND dog"]), default_rules()).sorted_texts == ["and cat dog the"]
