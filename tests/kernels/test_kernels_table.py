"""The hash table and the sequence hashes equal a dict and plain integers."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend_all, finish, sequence_hashes
from auditkit.kernels.table import (
    build_filter,
    build_table,
    find,
    find_all,
    is_marked,
    may_hold,
    n_postings,
    pack_entries,
    posting_start,
)

#: Keys that fall on few slots, the two lowest among them, and any others.
keys = st.one_of(
    st.integers(0, 2**64 - 1), st.integers(0, 40), st.integers(0, 7).map(lambda n: n << 32), st.sampled_from([0, 1])
)


def slot_key(key: int) -> int:
    """Return the key under which the table keeps `key`: 0 marks a free slot, so 0 is kept as 1."""
    return key or 1


@given(st.lists(keys, unique_by=slot_key, max_size=60), st.lists(keys, max_size=40))
def test_the_table_is_a_dict(stored_keys: list[int], others: list[int]) -> None:
    values = np.arange(len(stored_keys), dtype=np.int64) * (1 << 40)
    table = build_table(np.array(stored_keys, np.uint64), values)
    truth = {slot_key(key): int(value) for key, value in zip(stored_keys, values, strict=True)}
    asked = [*stored_keys, *others]
    expected = [truth.get(slot_key(key), -1) for key in asked]
    assert find_all(table, np.array(asked, np.uint64)).tolist() == expected
    assert [int(find(table, np.uint64(key))) for key in asked] == expected


@pytest.mark.parametrize("n", [0, 1, 8, 9, 16, 17, 1000])
def test_two_thirds_of_a_table_are_taken_at_the_most(n: int) -> None:
    table = build_table(np.arange(2, n + 2, dtype=np.uint64), np.arange(n, dtype=np.int64))
    assert 1.5 * n <= len(table) <= 1.5 * n + 9
    assert int((table[:, 0] > 0).sum()) == n


@pytest.mark.parametrize("high", [0, 0xFFFFFFFF])
def test_keys_that_all_fall_on_one_slot(high: int) -> None:
    many = np.array([(high << 32) | (2 * n + 5) for n in range(500)], np.uint64)  # the last slot goes on at the first
    table = build_table(many, np.arange(500, dtype=np.int64))
    assert find_all(table, many).tolist() == list(range(500))
    assert find_all(table, many + np.uint64(1)).tolist() == [-1] * 500


@given(st.lists(keys, max_size=60))
def test_a_filter_holds_all_its_keys(stored_keys: list[int]) -> None:
    words = build_filter(np.array(stored_keys, np.uint64))
    assert all(may_hold(words, np.uint64(key)) for key in stored_keys)


def test_a_filter_turns_away_seven_of_eight_others() -> None:
    random = np.random.default_rng(1)
    stored_keys, others = random.integers(0, 2**64, (2, 4096), np.uint64)
    words = build_filter(stored_keys)
    assert 64 * len(words) == 8 * 4096
    assert np.mean([may_hold(words, key) for key in others]) < 1 / 8
    assert not any(may_hold(build_filter(np.empty(0, np.uint64)), key) for key in others)


@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.booleans()), max_size=9))
def test_entries_name_their_postings(counts: list[tuple[int, bool]]) -> None:
    starts = np.cumsum([0, *(count for count, _ in counts)])
    entries = pack_entries(starts, np.array([mark for _, mark in counts], np.bool_))
    found = [(int(posting_start(e)), int(n_postings(e)), bool(is_marked(e))) for e in entries]
    assert found == [(start, *pair) for start, pair in zip(starts.tolist(), counts, strict=False)]
    assert (entries >= 0).all()


hashes = st.integers(0, 2**64 - 1)


@given(st.lists(st.lists(hashes, max_size=8), max_size=6))
def test_sequence_hashes_equal_plain_integers(rows: list[list[int]]) -> None:
    flat = np.array([token for row in rows for token in row], np.uint64)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    assert sequence_hashes(flat, offsets).tolist() == [oracles.sequence_hash(row) for row in rows]


@given(st.lists(st.tuples(hashes, hashes), max_size=8))
def test_one_step_equals_plain_integers(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array([pair[i] for pair in pairs], np.uint64) for i in (0, 1))
    assert extend_all(left, right).tolist() == [oracles.extend(a, b) for a, b in pairs]
    for value, _ in pairs:
        assert int(finish(np.uint64(value))) == oracles.fmix64(value)


def test_the_order_of_tokens_matters_and_gaps_do_not_join() -> None:
    tokens = np.array([1, 2, 2, 1, 12], np.uint64)
    hashed = sequence_hashes(tokens, np.array([0, 2, 4, 5, 5], np.int64))
    assert len(set(hashed.tolist())) == 4
    assert int(hashed[3]) == oracles.fmix64(int(EMPTY_SEQUENCE))
