"""MinHash: bands, the exact threshold, and that nothing else is lost."""

from __future__ import annotations

from fractions import Fraction

import datasketch
import lexical
import numpy as np
import oracles
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditkit.detect.minhash import (
    MinHashDetector,
    choose_bands,
    collision_probability,
    to_datasketch,
    token_hash_32,
)
from auditkit.errors import UsageError
from auditkit.kernels.minhash import permutations, signatures

#: One row a band: two sets with anything in common are as good as sure to be proposed.
SURE = {"n_bands": 128, "n_rows": 1}


def scanned(detector: MinHashDetector, parts: list[str], rows: list[str]) -> list[tuple[int, int]]:
    return detector.index(lexical.items_of(parts)).scan(lexical.rows_of(rows)).select("unit", "text").rows()


def signature(tokens: list[str], detector: MinHashDetector) -> list[int]:
    sketch = datasketch.MinHash(
        detector.n_permutations, detector.seed, hashfunc=lambda token: oracles.token_hash(token.decode()) & 0xFFFFFFFF
    )
    for token in tokens:
        sketch.update(token.encode())
    return list(sketch.hashvalues)


word_lists = st.lists(st.sampled_from([f"w{i}" for i in range(14)]), max_size=14)


@settings(max_examples=40)
@given(st.lists(word_lists, max_size=5), st.lists(word_lists, max_size=5), st.sampled_from([0.3, 0.6, 0.7, 1.0]))
def test_the_scan_equals_comparing_every_pair(parts: list[list[str]], rows: list[list[str]], threshold: float) -> None:
    detector = MinHashDetector(jaccard=threshold, n_permutations=32, n_bands=8, n_rows=3)
    distinct = [list(words) for words in dict.fromkeys(tuple(words) for words in parts if words)]
    expected = [
        (unit, text)
        for unit, row in enumerate(rows)
        for text, item in enumerate(distinct)
        if row
        and len(item) >= detector.min_tokens
        and oracles.jaccard(set(row), set(item)) >= Fraction(str(threshold))
        and oracles.collides(signature(row, detector), signature(item, detector), 8, 3)
    ]
    assert scanned(detector, [" ".join(words) for words in parts], [" ".join(words) for words in rows]) == expected


@pytest.mark.parametrize(
    ("row", "threshold", "is_found"),
    [
        ("a b c e", 0.6, True),  # 3 of 5
        ("a b c e", 0.600001, False),
        ("a b c d e f g h i j k", 0.3637, False),  # 4 of 11
        ("a b c d e f g h i j k", 0.3636, True),
        ("d c b a", 1.0, True),
        ("a b c d x", 1.0, False),
    ],
)
def test_the_threshold_is_compared_exactly(row: str, threshold: float, is_found: bool) -> None:
    found = scanned(MinHashDetector(jaccard=threshold, **SURE), ["a b c d"], [row])
    assert found == ([(0, 0)] if is_found else [])


def test_a_pair_at_055_is_not_reported_at_06() -> None:
    shared, item, row = [[f"{name}{i}" for i in range(n)] for name, n in (("s", 11), ("i", 4), ("r", 5))]
    assert oracles.jaccard({*shared, *item}, {*shared, *row}) == Fraction(11, 20)
    parts, rows = [" ".join(shared + item)], [" ".join(shared + row)]
    assert scanned(MinHashDetector(jaccard=0.6, **SURE), parts, rows) == []
    assert scanned(MinHashDetector(jaccard=0.55, **SURE), parts, rows) == [(0, 0)]


def test_ten_pairs_with_three_of_a_hundred_tokens_changed_are_all_found() -> None:
    parts = [" ".join(f"t{k}x{i}" for i in range(100)) for k in range(10)]
    rows = [" ".join(f"t{k}x{i}" if i not in (7, 50, 99) else f"other{i}" for i in range(100)) for k in range(10)]
    assert scanned(MinHashDetector(), parts, rows) == [(k, k) for k in range(10)]


@given(st.floats(0.05, 1.0).map(lambda x: round(x, 3)), st.floats(0.05, 0.995), st.sampled_from([16, 100, 128, 256]))
def test_bands_reach_the_recall_with_the_most_rows(jaccard: float, recall: float, n: int) -> None:
    reachable = [r for r in range(1, n + 1) if 1 - (1 - jaccard**r) ** (n // r) >= recall]
    if not reachable:
        with pytest.raises(UsageError, match=r"minhash.*permutations reach a recall of .*, wanted"):
            choose_bands(jaccard, recall, n)
        return
    n_bands, n_rows = choose_bands(jaccard, recall, n)
    assert (n_bands, n_rows) == (n // max(reachable), max(reachable))
    assert collision_probability(jaccard, n_bands, n_rows) >= recall


def test_known_bands() -> None:
    assert round(collision_probability(0.8, 21, 6), 3) == 0.998
    assert MinHashDetector().bands() == choose_bands(0.6, 0.98, 128)
    assert MinHashDetector(n_bands=9, n_rows=14).bands() == (9, 14)


@pytest.mark.parametrize("value", [float("nan"), -1.0, 1.5, 0.0, float("inf")])
@pytest.mark.parametrize("name", ["jaccard", "recall"])
def test_impossible_thresholds_are_errors_that_name_the_range(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=rf"minhash\.{name} is {value}, expected a number in \(0, 1\]"):
        MinHashDetector(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n_bands": 20, "n_rows": 7}, "bands is 20 and minhash.rows 7, .* at most 128 permutations"),
        ({"n_bands": 3}, "both or neither"),
        ({"n_rows": 3}, "both or neither"),
        ({"n_bands": -2, "n_rows": 3}, "bands is -2 and minhash.rows 3"),
        ({"n_bands": -2, "n_rows": -3}, "bands is -2 and minhash.rows -3"),
        ({"n_permutations": 0}, "permutations is 0, expected at least 1"),
        ({"seed": -1}, r"minhash\.seed is -1, expected a whole number from 0 to 4294967295"),
        ({"seed": 1 << 32}, r"minhash\.seed is 4294967296"),
    ],
)
def test_settings_that_cannot_work_are_errors(values: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        MinHashDetector(**values)  # type: ignore[arg-type]


def test_the_report_has_the_curve() -> None:
    described = MinHashDetector().index(lexical.items_of(["a b c d"])).describe()
    n_bands, n_rows = described["n_bands"], described["n_rows"]
    assert described["n_permutations_used"] == n_bands * n_rows <= described["n_permutations"] == 128
    assert described["expected_recall"] >= 0.98
    assert "warning" not in described
    curve = dict(described["curve"])
    assert list(curve) == [j / 20 for j in range(21)]
    assert curve[0.0] == 0.0
    assert curve[1.0] == 1.0
    assert curve[0.5] == round(1 - (1 - 0.5**n_rows) ** n_bands, 6)


def test_hopeless_bands_are_warned_of_with_their_recall() -> None:
    detector = MinHashDetector(n_bands=5, n_rows=25)
    described = detector.index(lexical.items_of(["a b c d"])).describe()
    assert described["expected_recall"] == round(5 * 0.6**25, 6) == 0.000014
    assert described["warning"].startswith("5 bands of 25 rows propose a pair at Jaccard 0.6 with probability 0.0000")


def test_unspaced_and_short_items_are_left_to_the_other_detectors() -> None:
    detector = MinHashDetector(jaccard=0.5, **SURE)
    assert scanned(detector, ["今日は東京へ行きます", "a b c"], ["今日は東京へ行きます", "a b c"]) == []


@pytest.mark.parametrize("rows", [[], [""], ["a"], ["", "!!!", "a b c d e"]])
@pytest.mark.parametrize("parts", [["!!!"], ["one"], ["one two three four"]])
def test_nothing_to_find_is_an_empty_frame(parts: list[str], rows: list[str]) -> None:
    assert scanned(MinHashDetector(), parts, rows) == []


@given(st.lists(word_lists, max_size=6), st.lists(word_lists, max_size=4))
def test_row_order_and_company_change_nothing(rows: list[list[str]], parts: list[list[str]]) -> None:
    index = MinHashDetector().index(lexical.items_of([" ".join(words) for words in parts]))
    texts = [" ".join(words) for words in rows]
    together = index.scan(lexical.rows_of(texts))
    alone = [index.scan(lexical.rows_of([text])).with_columns(unit=pl.lit(i, pl.Int64)) for i, text in enumerate(texts)]
    assert together.rows() == [row for frame in alone for row in frame.rows()]


def test_signatures_go_to_datasketch_and_stand_beside_its_own() -> None:
    words = ["how", "do", "i", "bake", "bread", "at", "home"]
    tokens = lexical.rows_of([" ".join(words)]).tokens
    ours = signatures(tokens.hashes, tokens.offsets, np.array([0]), *permutations(128, 3))[0]
    theirs = datasketch.MinHash(num_perm=128, seed=3, hashfunc=token_hash_32)
    theirs.update_batch([word.encode() for word in words])
    moved = to_datasketch(ours, seed=3)
    assert moved.jaccard(theirs) == 1.0
    theirs.update(b"tomorrow")
    assert 0.7 < moved.jaccard(theirs) < 1.0
    moved.update(b"tomorrow")  # it can be added to, with the same hash function
    assert moved.jaccard(theirs) == 1.0


def test_rows_with_thousands_of_pairs_lose_none() -> None:
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    # The scratch array of 256 texts grows, and that of 2,048 pairs in mid-scan: that row is done again.
    parts = [" ".join([*words[i % 8 :], *words[: i % 8], f"w{i}"]) for i in range(300)]
    found = scanned(MinHashDetector(), parts, [" ".join(words)] * 20 + ["other words"] + [" ".join(words[::-1])])
    assert found == [(row, text) for row in [*range(20), 21] for text in range(300)]
