"""Shared words are those of multisets; what sketches allow is never less."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from auditkit.kernels.overlap import (
    N_COMMON,
    SKETCH_WORDS,
    count_bits,
    count_missing,
    count_shared,
    sketch_sets,
    sketch_texts,
)

N_WORDS = 900
#: Few words many times, and any word: common ones with a bit of their own, others that share theirs.
words = st.lists(st.one_of(st.integers(0, 5), st.integers(0, N_WORDS - 1)), max_size=40)


def shared_by_counting(left: list[int], right: list[int]) -> int:
    return (Counter(left) & Counter(right)).total()


def sketched(texts: list[list[int]]) -> np.ndarray:  # type: ignore[type-arg]
    flat = np.array([word for text in texts for word in text], np.int32)
    return sketch_texts(flat, np.cumsum([0, *map(len, texts)]), N_WORDS)


@given(words, words, st.data())
def test_shared_words_are_a_multiset_intersection(row: list[int], item: list[int], data: st.DataObject) -> None:
    low = data.draw(st.integers(0, len(row)))
    high = data.draw(st.integers(low, len(row)))
    counts = np.zeros(N_WORDS, np.int32)
    around = np.array([1, *item, 2], np.int32)
    found = count_shared(np.array(row, np.int32), low, high, around, 1, 1 + len(item), counts)
    assert found == shared_by_counting(row[low:high], item)
    assert not counts.any()


@given(words, words)
def test_sketches_allow_all_that_is_shared(row: list[int], item: list[int]) -> None:
    sketches = sketched([row, item])
    missing = int(count_missing(sketches, 1, sketches, 0))
    assert len(item) - missing >= shared_by_counting(row, item)
    assert count_missing(sketches, 1, sketches, 1) == 0


def test_common_words_have_a_bit_each_and_repetitions_another() -> None:
    common = list(range(N_COMMON))
    sketches = sketched([common, [7], [7, 7], []])
    assert [int(count_missing(sketches, text, sketches, 3)) for text in range(4)] == [N_COMMON, 1, 2, 0]
    assert int(count_missing(sketches, 2, sketches, 0)) == 1
    assert sketches.shape == (4, SKETCH_WORDS)


@given(words, words)
def test_sketches_of_sets_allow_all_that_is_shared(row: list[int], item: list[int]) -> None:
    flat = np.array([*row, *item], np.uint64) << np.uint64(5)  # many fall on one bit
    sketches = sketch_sets(flat, np.array([0, len(row), len(flat)]))
    missing = int(count_missing(sketches, 1, sketches, 0))
    assert len(set(item)) - missing >= len(set(row) & set(item))
    assert count_missing(sketches, 1, sketches, 1) == 0


@given(st.integers(0, 2**64 - 1))
def test_bits_are_counted(word: int) -> None:
    assert int(count_bits(np.uint64(word))) == word.bit_count()
