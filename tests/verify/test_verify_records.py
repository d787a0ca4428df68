"""Overlap, places, view and numbers of decided pairs, against plain Python."""

from __future__ import annotations

import itertools

import lexical
import numpy as np
import oracles
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts, token_lists

from auditkit.text.normalise import tokens_of
from auditkit.text.spans import place
from auditkit.verify.align import view_of
from auditkit.verify.items import prepare
from auditkit.verify.records import DECIDED, VERIFIED, completed, overlaps, shingle_sizes, shingles
from auditkit.verify.rules import default_rules

filled = token_lists.filter(bool)


@given(st.lists(token_lists, max_size=5), st.integers(1, 4))
def test_shingles_are_those_of_sets(rows: list[list[str]], size: int) -> None:
    index = np.arange(len(rows))[::-1]
    hashes, offsets = shingles(lexical.rows_of([" ".join(row) for row in rows]).tokens, index, size)
    found = [set(hashes[a:b].tolist()) for a, b in itertools.pairwise(offsets)]
    assert [len(one) for one in found] == [len(oracles.shingle_set(row, size)) for row in rows[::-1]]
    for i, left in enumerate(rows[::-1]):
        for j, right in enumerate(rows[::-1]):
            shared = oracles.shingle_set(left, size) & oracles.shingle_set(right, size)
            assert len(found[i] & found[j]) == len(shared)


@pytest.mark.parametrize(("n", "size"), [(1, 1), (4, 1), (5, 2), (7, 2), (8, 3), (500, 3)])
def test_short_items_have_short_shingles(n: int, size: int) -> None:
    assert shingle_sizes(np.array([n])).tolist() == [size]


@given(st.lists(filled, min_size=1, max_size=4), st.lists(filled, min_size=1, max_size=4))
def test_overlap_equals_sets(rows: list[list[str]], parts: list[list[str]]) -> None:
    items = lexical.items_of([" ".join(words) for words in parts])
    tokens = lexical.rows_of([" ".join(row) for row in rows]).tokens
    pairs = [(unit, text) for unit in range(len(rows)) for text in range(len(items))]
    unit, text = np.array(pairs).T
    found = overlaps(unit, text, tokens, prepare(items, default_rules()))
    for i, (one, other) in enumerate(pairs):
        theirs = items.tokens.words(other)
        size = int(shingle_sizes(np.array([len(theirs)]))[0])
        mine, yours = oracles.shingle_set(rows[one], size), oracles.shingle_set(theirs, size)
        shared = len(mine & yours)
        expected = (shared / len(yours), shared / len(mine), shared / len(mine | yours))
        assert tuple(float(column[i]) for column in found) == expected


@given(st.lists(texts.filter(tokens_of), min_size=1, max_size=4), texts.filter(tokens_of), st.data())
def test_places_views_and_numbers_are_those_of_the_stretches(rows: list[str], item: str, data: st.DataObject) -> None:
    shard, prepared = lexical.rows_of(rows), prepare(lexical.items_of([item]), default_rules())
    records, expected = [], []
    for unit, row in enumerate(rows):
        placed, words = place(row), tokens_of(item)
        first, last = sorted(data.draw(st.sets(st.integers(0, len(placed)), min_size=2, max_size=2)))
        begin, end = sorted(data.draw(st.sets(st.integers(0, len(words)), min_size=2, max_size=2)))
        records.append((unit, 0, "near", "review", "r", 0.9, 0.9, "ratio", None, None, first, last, begin, end, False))
        start, stop = placed[first].start, placed[last - 1].end
        mine = [one.token for one in placed[first:last]]
        numbers = [word for word in words[begin:end] if any(map(str.isdigit, word))]
        differ = any(numbers.count(number) > mine.count(number) for number in numbers)
        expected.append((start, stop, view_of(row[start:stop]), differ))
    decided = pl.DataFrame(records, schema=DECIDED, orient="row")
    found = completed(decided, shard.texts, shard.tokens, prepared)
    assert found.schema == VERIFIED
    assert found.select("row_start", "row_end", "view", "numbers_differ").rows() == expected
    assert found["row_sequence"].to_list() == shard.tokens.sequences.tolist()


def test_a_row_without_a_token_overlaps_with_nothing() -> None:
    prepared = prepare(lexical.items_of(["one two three"]), default_rules())
    found = overlaps(np.array([0]), np.array([0]), lexical.rows_of(["?!"]).tokens, prepared)
    assert [column.to_list() for column in found] == [[0.0], [0.0], [0.0]]


def test_a_shard_without_decisions_is_an_empty_frame() -> None:
    shard, prepared = lexical.rows_of(["a row"]), prepare(lexical.items_of(["!!!"]), default_rules())
    found = completed(pl.DataFrame(schema=DECIDED), shard.texts, shard.tokens, prepared)
    assert found.schema == VERIFIED
    assert found.is_empty()
