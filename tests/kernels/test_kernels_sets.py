"""Sets on scratch memory are Python sets, and a new stamp empties them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from auditkit.kernels.sets import add_token, has_token, keep_new, longest_text, make_set

tokens = st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1), st.sampled_from([0, 64, 128])), max_size=30)


@given(st.lists(tokens, max_size=4), tokens)
def test_a_scratch_set_is_a_set(texts: list[list[int]], asked: list[int]) -> None:
    slots, stamps = make_set(max((len(text) for text in texts), default=0))
    for stamp, text in enumerate(texts, start=1):
        truth: set[int] = set()
        for token in text:
            assert add_token(np.uint64(token), slots, stamps, stamp) == (token not in truth)
            truth.add(token)
        assert [has_token(np.uint64(token), slots, stamps, stamp) for token in asked] == [t in truth for t in asked]


def test_the_longest_text_is_that_of_the_range() -> None:
    offsets = np.array([0, 5, 5, 8, 20])
    assert [longest_text(offsets, 0, 4), longest_text(offsets, 1, 3), longest_text(offsets, 2, 2)] == [12, 3, 0]


@given(st.lists(st.integers(0, 9), max_size=8), st.lists(st.integers(0, 9), max_size=7))
def test_new_keys_are_those_that_no_call_brought_before(first: list[int], second: list[int]) -> None:
    slots = np.zeros(16, np.uint64)
    mine, theirs = {max(key, 1) for key in first}, {max(key, 1) for key in second}
    assert keep_new(np.array(first, np.uint64), slots) == len(mine)
    assert keep_new(np.array(second, np.uint64), slots) == len(theirs - mine)
    assert set(slots[slots != 0].tolist()) == mine | theirs
