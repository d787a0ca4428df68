"""MinHash signatures equal datasketch's bit for bit; counts equal Python sets."""

from __future__ import annotations

import datasketch
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import token_lists

from auditkit.kernels.minhash import band_keys, permutations, signatures
from auditkit.kernels.sets import count_distinct, distinct_tokens, set_overlaps


def flat(rows: list[list[str]]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return token hashes and offsets of some rows."""
    hashes = np.array([oracles.token_hash(token) for row in rows for token in row], np.uint64)
    return hashes, np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def low_half(token: bytes) -> int:
    return oracles.token_hash(token.decode()) & 0xFFFFFFFF


def datasketch_signature(tokens: list[str], n: int, seed: int) -> list[int]:
    sketch = datasketch.MinHash(num_perm=n, seed=seed, hashfunc=low_half)
    for token in tokens:
        sketch.update(token.encode())
    return [int(value) for value in sketch.hashvalues]


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=20), max_size=4),
    st.sampled_from([1, 42, 0, 2**32 - 1]),
    st.sampled_from([128, 1, 64]),
)
def test_signatures_equal_datasketch_bit_for_bit(rows: list[list[str]], seed: int, n: int) -> None:
    tokens, offsets = flat(rows)
    mine = signatures(tokens, offsets, np.arange(len(rows), dtype=np.int64), *permutations(n, seed))
    assert mine.shape == (len(rows), n)
    assert mine.tolist() == [datasketch_signature(row, n, seed) for row in rows]


def test_the_signature_of_the_empty_set_is_datasketchs() -> None:
    mine = signatures(*flat([[]]), np.array([0], np.int64), *permutations(128, 1))
    assert mine[0].tolist() == [0xFFFFFFFF] * 128 == datasketch_signature([], 128, 1)


def test_datasketch_can_read_a_signature() -> None:
    rows = [list("abcdefgh"), list("abcdefxy")]
    values = signatures(*flat(rows), np.arange(2, dtype=np.int64), *permutations(128, 1))
    left, right = (datasketch.MinHash(num_perm=128, seed=1, hashvalues=value, scheme="affine32") for value in values)
    assert left.jaccard(right) == float((values[0] == values[1]).mean())


def test_signatures_are_of_the_rows_asked_for() -> None:
    tokens, offsets = flat([["a"], ["b", "c"], [], ["a", "a"]])
    parts = permutations(16, 3)
    every = signatures(tokens, offsets, np.arange(4, dtype=np.int64), *parts)
    some = signatures(tokens, offsets, np.array([3, 1, 1], np.int64), *parts)
    assert some.tolist() == every[[3, 1, 1]].tolist()
    assert every[0].tolist() == every[3].tolist()


@given(st.lists(token_lists, max_size=6))
def test_distinct_tokens_are_counted_like_sets(rows: list[list[str]]) -> None:
    assert count_distinct(*flat(rows)).tolist() == [len(set(row)) for row in rows]


@given(st.lists(token_lists, max_size=6))
def test_distinct_tokens_stand_once_in_their_order(rows: list[list[str]]) -> None:
    tokens, offsets = distinct_tokens(*flat(rows))
    assert tokens.tolist() == [oracles.token_hash(token) for row in rows for token in dict.fromkeys(row)]
    assert np.diff(offsets).tolist() == [len(set(row)) for row in rows]


@given(st.lists(token_lists, min_size=1, max_size=4), st.lists(token_lists, min_size=1, max_size=4), st.data())
def test_overlaps_are_those_of_sets(rows: list[list[str]], items: list[list[str]], data: st.DataObject) -> None:
    index = st.tuples(st.integers(0, len(rows) - 1), st.integers(0, len(items) - 1))
    pairs = sorted(data.draw(st.lists(index, max_size=8)))
    found = set_overlaps(*flat(rows), *flat(items), np.array(pairs, np.int64).reshape(-1, 2))
    assert found.tolist() == [[len(set(rows[r]) & set(items[i])), len(set(rows[r]) | set(items[i]))] for r, i in pairs]


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=2, max_size=2),
    st.sampled_from([(1, 1), (3, 2), (2, 3), (6, 1), (1, 6), (2, 2)]),
)
def test_bands_share_a_key_where_they_are_equal(values: list[list[int]], shape: tuple[int, int]) -> None:
    n_bands, n_rows = shape
    keys = band_keys(np.array(values, np.uint32), n_bands, n_rows)
    assert keys.shape == (2, n_bands)
    assert bool((keys[0] == keys[1]).any()) == oracles.collides(values[0], values[1], n_bands, n_rows)


def test_equal_values_in_different_bands_have_different_keys() -> None:
    keys = band_keys(np.full((1, 8), 7, np.uint32), 4, 2)
    assert len(set(keys[0].tolist())) == 4


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_multipliers_are_odd(seed: int) -> None:
    multipliers, increments = permutations(128, seed)
    assert (multipliers % 2 == 1).all()
    assert multipliers.dtype == increments.dtype == np.uint32
