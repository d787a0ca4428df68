"""Letters in order equal rapidfuzz's longest common subsequence, on both sides of a word of 64 bits."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq

from auditkit.kernels.letters import NOT_ASCII, count_letters, letters_in_order

texts = st.text("abcé ", max_size=200)


def packed(parts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the UTF-8 of the texts side by side, and where each starts and ends."""
    encoded = [part.encode() for part in parts]
    ends = np.cumsum([0, *map(len, encoded)])
    return np.frombuffer(b"".join(encoded) or b"x", np.uint8), np.stack([ends[:-1], ends[1:]], axis=1)


@given(st.lists(st.tuples(texts, texts), max_size=4))
@example([("ab" * 32, "ba" * 32), ("ab" * 32, "ab" * 33), ("a" * 65, "a" * 65), ("", "a"), ("", "")])
@example([("abc" * 60, "acb" * 66)])
def test_letters_in_order_are_the_longest_common_subsequence(pairs: list[tuple[str, str]]) -> None:
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    expected = [LCSseq.similarity(a, b) if (a + b).isascii() else NOT_ASCII for a, b in pairs]
    assert letters_in_order(*packed(left), *packed(right)).tolist() == expected


@given(st.lists(st.text(max_size=20), max_size=4))
def test_letters_are_code_points(parts: list[str]) -> None:
    parts = [part.encode(errors="ignore").decode() for part in parts]
    assert count_letters(*packed(parts)).tolist() == [len(part) for part in parts]
