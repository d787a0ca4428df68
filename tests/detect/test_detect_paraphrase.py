"""Paraphrase with an encoder whose vectors are made up: all pairs, compared one by one."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import lexical
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from auditkit import tables
from auditkit.detect import paraphrase
from auditkit.detect.paraphrase import Found, ParaphraseDetector, ParaphraseIndex, share
from auditkit.text.vectors import Embedder, VectorStore
from auditkit.verify.items import prepare
from auditkit.verify.matches import verify
from auditkit.verify.paraphrases import verify_paraphrases
from auditkit.verify.records import VERIFIED
from auditkit.verify.rules import default_rules


@dataclass
class FakeEncoder:
    """Unit vectors on a circle: by a table of angles, else by the text's digest."""

    name: str = "minilm"
    cosines: dict[str, float] = field(default_factory=dict)
    source: str = "made up"
    digest: str = "sha256:0"
    fingerprint: str = "made up"
    max_tokens: int = 4
    calls: list[list[str]] = field(default_factory=list)

    def vector(self, text: str) -> list[float]:
        at = self.cosines.get(text)
        if at is None:
            angle = int(hashlib.sha256(text.encode()).hexdigest()[:6], 16) / 2**24 * np.pi
            return [float(np.cos(angle)), float(np.sin(angle))]
        return [at, float(np.sqrt(1 - at * at))]

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        self.calls.append(texts)
        return np.array([self.vector(text) for text in texts], np.float32)

    def count_truncated(self, texts: list[str]) -> int:
        return sum(len(text.split()) > self.max_tokens for text in texts)


def index_of(encoder: Any, threshold: float, parts: list[Any], **settings: Any) -> ParaphraseIndex:
    """Return the index of some items, with vectors kept in memory."""
    embedder = Embedder(encoder, VectorStore(Path(os.devnull) / "none"))
    return ParaphraseDetector(encoder, threshold, embedder=embedder, **settings).index(lexical.items_of(parts))


def search(index: ParaphraseIndex, rows: list[str], known: Any = ()) -> Found:
    frame = pl.DataFrame(list(known), schema={"unit": pl.Int64, "text": pl.Int64}, orient="row")
    return index.search(lexical.rows_of(rows), frame)


names = st.lists(st.sampled_from([f"text {i}" for i in range(12)] + ["", "!!!"]), max_size=10)


@given(names, names, st.sampled_from([0.5, 0.9, 0.99]), st.sampled_from([1, 3, 2048]))
def test_pairs_are_all_those_of_the_full_matrix(
    parts: list[str], rows: list[str], threshold: float, block: int
) -> None:
    encoder = FakeEncoder()
    items = lexical.items_of(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paraphrase, "BLOCK_PAIRS", block)
        patch.setattr(paraphrase, "EMBED_ROWS", block)
        found = search(index_of(encoder, threshold, parts), rows).candidates
    expected = []
    for unit, row in enumerate(rows):
        for text, item in enumerate(items.canonicals):
            if row and row != "!!!":
                left, right = (np.array(encoder.vector(t), np.float32) for t in (row, item))
                cosine = round(float(left @ right), 4)
                if cosine >= threshold:
                    expected.append((unit, text, cosine))
    assert [pair[:2] for pair in found.select("unit", "text").rows()] == [pair[:2] for pair in expected]
    assert found["cosine"].to_list() == pytest.approx([pair[2] for pair in expected], abs=1e-4)
    tables.check(found, tables.CANDIDATES, "test")


def test_equal_rows_are_embedded_once_and_all_reported() -> None:
    encoder = FakeEncoder(cosines={"item": 1.0, "row": 0.9})
    index = index_of(encoder, 0.8, ["item"])
    found = search(index, ["row", "clean?", "row", "row", "!!!"])
    assert sorted(encoder.calls[1]) == ["clean?", "row"]
    assert found.candidates.filter(pl.col("cosine") == 0.9)["unit"].to_list() == [0, 2, 3]
    assert (found.counts["n_texts"], found.counts["n_compared"]) == (4, 4)
    # The next shard of the pool, and the next audit, need no embedding of them.
    assert 0 in search(index, ["row", "clean?"]).candidates["unit"].to_list()
    assert len(encoder.calls) == 2


@pytest.mark.parametrize(
    ("cosine", "is_found"), [(0.8, True), (0.79996, True), (0.79994, False), (0.8001, True), (0.7999, False)]
)
def test_the_threshold_is_reached_at_equality_after_rounding(cosine: float, is_found: bool) -> None:
    encoder = FakeEncoder(cosines={"item": 1.0, "row": cosine})
    assert len(search(index_of(encoder, 0.8, ["item"]), ["row"]).candidates) == is_found


def test_contexts_short_answers_and_texts_without_tokens_are_left_out() -> None:
    encoder = FakeEncoder()
    parts = [
        {"kind": "context", "text": "a page"},
        {"kind": "answer", "text": "yes"},
        {"kind": "answer", "text": "one two three four five six seven eight"},
        {"kind": "question", "text": "why?"},
        {"kind": "question", "text": "!!!"},
        {"kind": "context", "text": "why"},
    ]
    index = index_of(encoder, 0.5, parts)
    assert encoder.calls == [["one two three four five six seven eight", "why?"]]
    assert index.texts.tolist() == [1, 2]


@pytest.mark.parametrize("parts", [["!!!"], [{"kind": "context", "text": "a page"}]])
def test_without_items_nothing_is_embedded(parts: list[str]) -> None:
    encoder = FakeEncoder()
    assert len(search(index_of(encoder, 0.5, parts), ["row", "other"]).candidates) == 0
    assert encoder.calls == []


@pytest.mark.parametrize("rows", [[], [""], ["!!!", "\u200b"]])
def test_without_rows_nothing_is_embedded(rows: list[str]) -> None:
    encoder = FakeEncoder()
    found = search(index_of(encoder, 0.5, ["item"]), rows)
    assert len(found.candidates) == 0
    assert found.counts == dict.fromkeys(paraphrase.COUNTS, 0)
    assert encoder.calls == [["item"]]


def test_what_may_fall_either_way_and_what_was_cut_is_counted() -> None:
    cosines = {"item": 1.0, "a": 0.8, "b": 0.8005, "c": 0.7995, "d": 0.8006, "e": 0.7994, "much too long a row": 0.1}
    index = index_of(FakeEncoder(cosines=cosines), 0.8, ["item"])
    rows = list(cosines)[1:]
    described = index.describe(search(index, [*rows, *rows[-1:]]).counts)
    assert (described["n_at_margin"], described["n_truncated"], described["n_compared"]) == (3, 2, 7)
    assert index.describe()["n_texts"] == 0
    assert (described["encoder"], described["threshold"], described["margin"]) == ("minilm", 0.8, 0.0005)
    assert (described["source"], described["digest"], described["max_tokens"]) == ("made up", "sha256:0", 4)


# ---------------------------------------------------------------- the sieve


@dataclass
class LetterEncoder(FakeEncoder):
    """Vectors are sums of letters' vectors; it can be distilled, and counts what it embeds."""

    n_vocabulary: int = 128

    def vector(self, text: str) -> list[float]:
        total = LETTERS[[ord(letter) for letter in text]].sum(0)
        return (total / max(float(np.linalg.norm(total)), 1e-9)).tolist()

    def token_ids(self, texts: list[str]) -> list[list[int]]:
        return [[ord(letter) for letter in text] for text in texts]

    def token_views(self) -> NDArray[np.float32]:
        return np.tile(LETTERS, (1, 4))


LETTERS = np.random.default_rng(3).standard_normal((128, 40)).astype(np.float32)


def words(n: int, seed: int, size: int = 9) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(map(chr, rng.integers(97, 123, size))) for _ in range(n)]


@pytest.fixture
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITKIT_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_cache")
def test_the_sieve_leaves_rows_out_and_keeps_the_pairs() -> None:
    items = words(150, 1)
    rows = words(1500, 2) + [item[:-1] + "a" for item in items]
    encoder = LetterEncoder()
    sieved, whole = index_of(encoder, 0.8, items), index_of(LetterEncoder(), 0.8, items, is_exhaustive=True)
    found, every = search(sieved, rows), search(whole, rows)
    keys = ["unit", "text", "cosine"]
    kept = found.candidates.select(keys).rows()
    assert set(kept) <= set(every.candidates.select(keys).rows())
    assert len(kept) >= 0.98 * len(every.candidates) > 100
    counts = found.counts
    assert counts["n_sieved_out"] > 300
    assert counts["n_compared"] + counts["n_sieved_out"] == counts["n_texts"] == len(rows)
    # Rows that are items were embedded with them.
    assert sum(map(len, encoder.calls[1:])) <= counts["n_compared"] + counts["n_control"]
    described = sieved.describe(counts)["sieve"]
    assert described["is_used"]
    assert described["share_of_texts_sieved_out"]["share"] == round(counts["n_sieved_out"] / len(rows), 4)
    assert described["share_of_item_pairs_kept"]["share"] >= 0.99
    assert whole.describe()["sieve"] == {"is_used": False, "reason": "exhaustive search asked for"}


@pytest.mark.usefixtures("_cache")
def test_shards_and_order_change_neither_pairs_nor_counts() -> None:
    items, rows = words(60, 1), words(600, 2) + words(60, 1) * 2
    index = index_of(LetterEncoder(), 0.7, items)
    whole = search(index, rows)
    for size in (1, 7, 100):
        parts = [search(index, rows[i : i + size]) for i in range(0, len(rows), size)]
        counts = sum((Counter(part.counts) for part in parts), Counter(dict.fromkeys(paraphrase.COUNTS, 0)))
        assert {name: counts[name] for name in paraphrase.COUNTS} == whole.counts
        units = [unit + i * size for i, part in enumerate(parts) for unit in part.candidates["unit"].to_list()]
        assert units == whole.candidates["unit"].to_list()


@pytest.mark.usefixtures("_cache")
def test_control_rows_tell_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paraphrase, "CONTROL", 1)
    items = words(60, 1)
    index = index_of(LetterEncoder(), 0.8, items)
    assert index.sieve is not None
    blind = replace(index, sieve=replace(index.sieve, cut=9.0))
    found = search(blind, [*items, items[0], *words(100, 2)])
    assert (found.counts["n_compared"], found.counts["n_control"]) == (0, 161)
    assert found.counts["n_control_lost"] >= 61
    assert found.candidates["unit"].n_unique() == found.counts["n_control_lost"]
    # A pair that a stronger tier has is not lost.
    known = search(blind, items[:1], known=[(0, i) for i in range(60) if i != 7])
    assert (known.counts["n_control"], known.counts["n_control_lost"]) == (1, 0)


@pytest.mark.usefixtures("_cache")
def test_a_row_is_not_embedded_for_an_item_that_a_stronger_tier_gave_it() -> None:
    items = words(60, 1)
    encoder = LetterEncoder()
    index = index_of(encoder, 0.99, items)
    row = items[5]
    assert len(search(index, [row]).candidates) == 1
    n_calls = len(encoder.calls)
    fresh = index_of(LetterEncoder(), 0.99, items)
    found = search(fresh, [row, row], known=[(0, 5), (1, 5)])
    assert found.counts["n_compared"] == 0
    assert len(fresh.embedder.encoder.calls) == 1  # type: ignore[attr-defined]  # the items
    assert len(found.candidates) == 0
    # Another item is no reason to leave it out.
    assert search(fresh, [row], known=[(0, 6)]).counts["n_compared"] == 1
    assert len(encoder.calls) == n_calls


@pytest.mark.usefixtures("_cache")
def test_an_index_pickles_and_finds_the_same() -> None:
    index = index_of(LetterEncoder(), 0.8, words(60, 1))
    again = pickle.loads(pickle.dumps(index))
    rows = words(50, 2) + words(60, 1)
    assert search(again, rows).candidates.equals(search(index, rows).candidates)
    assert again.describe() == index.describe()


@pytest.mark.parametrize(
    ("k", "n", "expected"),
    [
        (0, 0, None),
        (0, 10, {"share": 0.0, "low": 0.0, "high": 0.2775, "n": 10}),
        (8, 10, {"share": 0.8, "low": 0.4902, "high": 0.9433, "n": 10}),
        (10, 10, {"share": 1.0, "low": 0.7225, "high": 1.0, "n": 10}),
    ],
)
def test_shares_have_wilson_s_interval(k: int, n: int, expected: Any) -> None:
    # Newcombe 1998, table I, has 0.8 of 10 as 0.4902 to 0.9433; statsmodels agrees with all three.
    assert share(k, n) == expected


# ---------------------------------------------------------------- verified

ITEM = "how do i bake a loaf of bread"
REPHRASED = "what steps does it take to make bread at home"


def paraphrases(rows: list[str], *encoders: FakeEncoder) -> pl.DataFrame:
    items, shard = lexical.items_of([ITEM]), lexical.rows_of(rows)
    prepared = prepare(items, default_rules())
    lexically = verify(lexical.candidates_of(items, shard), shard.texts, shard.tokens, prepared, lexical.LEXICAL).pairs
    close = pl.concat([search(index_of(encoder, 0.8, [ITEM]), rows).candidates for encoder in encoders])
    return verify_paraphrases(close, lexically, shard.texts, shard.tokens, prepared).pairs


def test_paraphrases_are_for_review_whatever_their_cosine() -> None:
    found = paraphrases([f" {REPHRASED}!"], FakeEncoder(cosines={ITEM: 1.0, f" {REPHRASED}!": 1.0}))
    assert found.schema == VERIFIED
    match = found.row(0, named=True)
    assert (match["tier"], match["verdict"], match["rule"]) == ("paraphrase", "review", "paraphrase.minilm")
    assert (match["cosine"], match["encoder"], match["threshold"]) == (1.0, "minilm", 0.8)
    assert (match["row_start"], match["row_end"]) == (1, 1 + len(REPHRASED))
    assert (match["item_first"], match["item_last"], match["is_partial"]) == (0, 8, False)
    assert 0 < match["ratio"] < 0.82


def test_a_pair_that_a_stronger_tier_has_is_not_reported_again() -> None:
    rows = [ITEM.upper(), REPHRASED]
    found = paraphrases(rows, FakeEncoder(cosines={ITEM: 1.0, rows[0]: 1.0, REPHRASED: 0.9}))
    assert found["unit"].to_list() == [1]


def test_of_two_encoders_the_higher_cosine_stands() -> None:
    low = FakeEncoder(cosines={ITEM: 1.0, REPHRASED: 0.85})
    high = FakeEncoder("multilingual", cosines={ITEM: 1.0, REPHRASED: 0.95})
    other = FakeEncoder("org/model", cosines={ITEM: 1.0, REPHRASED: 0.99})
    for encoders in ((low, high), (high, low)):
        match = paraphrases([REPHRASED], *encoders).row(0, named=True)
        assert (match["encoder"], match["cosine"], match["rule"]) == ("multilingual", 0.95, "paraphrase.multilingual")
    match = paraphrases([REPHRASED], low, other).row(0, named=True)
    assert (match["encoder"], match["rule"], match["threshold"]) == ("org/model", "paraphrase.other", 0.8)


def test_no_candidate_is_an_empty_frame() -> None:
    assert paraphrases(["clean"], FakeEncoder(cosines={ITEM: 1.0, "clean": 0.0})).schema == VERIFIED
