"""The walk over the places of a row finds what a search for every gram finds."""

from __future__ import annotations

import numpy as np
import oracles
from hypothesis import given, settings
from hypothesis import strategies as st

from auditkit.kernels.hashing import EMPTY_SEQUENCE
from auditkit.kernels.seeds import DIAGONAL_SHIFT, gather_hits
from auditkit.kernels.table import build_filter, build_table, pack_entries

grams = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple), max_size=8, unique=True)


def gram_hash(gram: tuple[int, ...]) -> int:
    value = int(EMPTY_SEQUENCE)
    for token in gram:
        value = oracles.extend(value, token)
    return value


@settings(max_examples=60)
@given(grams, st.lists(st.integers(0, 3), max_size=20), st.sampled_from([1, 3, 99]))
def test_hits_are_the_places_of_each_gram(seeds: list[tuple[int, ...]], row: list[int], n_room: int) -> None:
    prefixes = {seed[:size] for seed in seeds for size in range(1, len(seed))}
    # As in an index, single tokens that only go on are left out. Gram number t is the seed at place t of text t.
    longer = sorted(prefix for prefix in prefixes - set(seeds) if len(prefix) > 1)
    keys = np.array([gram_hash(gram) for gram in (*seeds, *longer)], np.uint64)
    starts = np.array([*range(len(seeds) + 1), *[len(seeds)] * len(longer)])
    entries = pack_entries(starts, np.array([gram in prefixes for gram in (*seeds, *longer)], np.bool_))
    postings = np.array([(t << 32) - t for t in range(len(seeds))], np.int64)
    around = np.array([9, *row, 0, 1], np.uint64)  # neighbours in the batch are no part of the row
    hits = np.empty(n_room, np.int64)
    n = gather_hits(
        around,
        1,
        1 + len(row),
        build_table(keys, entries),
        build_filter(keys),
        postings,
        np.empty(len(row), np.int64),
        np.empty(len(row), np.uint64),
        np.empty(len(row), np.int64),
        hits,
    )
    expected = [
        (t << 32) | (place - t + DIAGONAL_SHIFT)
        for t, seed in enumerate(seeds)
        for place in range(len(row))
        if tuple(row[place : place + len(seed)]) == seed
    ]
    assert n == len(expected)
    if n <= n_room:
        assert sorted(hits[:n].tolist()) == sorted(expected)
