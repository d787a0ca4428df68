"""Exact: equality of whole token sequences."""

from __future__ import annotations

import lexical
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from auditkit.detect.exact import ExactDetector
from auditkit.text.normalise import canonical, tokens_of


def scanned(parts: list[str], rows: list[str]) -> list[tuple[int, ...]]:
    items = lexical.items_of(parts)
    found = ExactDetector().index(items).scan(lexical.rows_of(rows))
    return found.select("unit", "text", "first", "last").rows()


@given(st.lists(texts, max_size=6), st.lists(texts, max_size=6), st.data())
def test_pairs_are_those_of_equal_tokens(parts: list[str], others: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.permutations([*others, *parts]))
    canonicals = list(dict.fromkeys(canonical(text) for text in parts if tokens_of(text)))
    expected = [
        (unit, canonicals.index(canonical(row)), 0, len(tokens_of(row)))
        for unit, row in enumerate(rows)
        if tokens_of(row) and canonical(row) in canonicals
    ]
    assert scanned(parts, rows) == expected


@pytest.mark.parametrize("item", ["cat", "日", "😀", "a b", "how do i " * 50])
def test_every_item_from_one_token_up_is_found(item: str) -> None:
    assert [pair[:2] for pair in scanned(["dog", item], ["bird", item.upper(), f"{item} x"])] == [(1, 1)]


def test_rows_and_items_without_tokens_equal_nothing() -> None:
    assert scanned(["", "!!!", "a"], ["", "!!!", "\u200b"]) == []


def test_ten_equal_rows_are_ten_pairs() -> None:
    assert scanned(["one two"], ["One two."] * 10) == [(i, 0, 0, 2) for i in range(10)]
