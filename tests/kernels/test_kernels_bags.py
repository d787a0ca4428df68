"""Bags of tokens: against sums and sets in plain Python, and against what a sketch promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from auditkit.kernels.bags import sketches, weighted_sums

VOCABULARY, WIDTH = 50, 3
bags = st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=8), max_size=6)


def flat(texts: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)]).astype(np.int64)
    return np.array([token for text in texts for token in text], np.int32), offsets


def random_weights(seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).random(VOCABULARY, np.float32)


@given(bags)
def test_sums_are_those_of_the_tokens(texts: list[list[int]]) -> None:
    weights, table = random_weights(1), np.random.default_rng(2).random((VOCABULARY, WIDTH), np.float32)
    found = weighted_sums(*flat(texts), weights, table)
    expected = [sum((weights[t] * table[t] for t in text), np.zeros(WIDTH, np.float32)) for text in texts]
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array(expected, np.float32).reshape(-1, WIDTH), abs=1e-5)


@given(bags)
def test_a_sketch_is_of_the_set_of_tokens(texts: list[list[int]]) -> None:
    weights = random_weights(3)
    found = sketches(*flat(texts), weights, 16)
    once = sketches(*flat([sorted(set(text)) for text in texts]), weights, 16)
    assert found.shape == (len(texts), 16)
    assert found == pytest.approx(once, abs=1e-6)
    alone = sketches(*flat([[token] for token in range(VOCABULARY)]), weights, 16)
    assert (np.abs(alone).sum(axis=1) == weights).all()
    expected = [sum((alone[t] for t in set(text)), np.zeros(16, np.float32)) for text in texts]
    assert found == pytest.approx(np.array(expected, np.float32).reshape(-1, 16), abs=1e-5)


def test_products_of_sketches_are_those_of_the_sets_on_average() -> None:
    rng = np.random.default_rng(4)
    weights = np.ones(100_000, np.float32)
    left = [rng.choice(100_000, 20, replace=False).tolist() for _ in range(200)]
    right = [text[:10] + rng.choice(100_000, 10, replace=False).tolist() for text in left]
    a, b = sketches(*flat(left), weights, 512), sketches(*flat(right), weights, 512)
    shared = [len(set(x) & set(y)) for x, y in zip(left, right, strict=True)]
    error = np.einsum("ij,ij->i", a, b) - shared
    # Var = (|A||B| + |A & B|^2) / buckets at most: 1 token here, so the mean of 200 is within 4 x 0.07.
    assert abs(error.mean()) < 0.28
    assert error.std() < 1.5
