"""Paraphrase with an encoder whose vectors are made up: all pairs, compared one by one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import lexical
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from auditkit import tables
from auditkit.detect import paraphrase
from auditkit.detect.paraphrase import ParaphraseDetector
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


names = st.lists(st.sampled_from([f"text {i}" for i in range(12)] + ["", "!!!"]), max_size=10)


@given(names, names, st.sampled_from([0.5, 0.9, 0.99]), st.sampled_from([1, 3, 2048]))
def test_pairs_are_all_those_of_the_full_matrix(
    parts: list[str], rows: list[str], threshold: float, block: int
) -> None:
    encoder = FakeEncoder()
    items = lexical.items_of(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paraphrase, "BLOCK_ROWS", block)
        found = ParaphraseDetector(encoder, threshold).index(items).scan(lexical.rows_of(rows))
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
    index = ParaphraseDetector(encoder, 0.8).index(lexical.items_of(["item"]))
    found = index.scan(lexical.rows_of(["row", "clean?", "row", "row", "!!!"]))
    assert sorted(encoder.calls[1]) == ["clean?", "row"]
    assert found.filter(pl.col("cosine") == 0.9)["unit"].to_list() == [0, 2, 3]
    assert index.describe()["n_embedded"] == 2


@pytest.mark.parametrize(
    ("cosine", "is_found"), [(0.8, True), (0.79996, True), (0.79994, False), (0.8001, True), (0.7999, False)]
)
def test_the_threshold_is_reached_at_equality_after_rounding(cosine: float, is_found: bool) -> None:
    encoder = FakeEncoder(cosines={"item": 1.0, "row": cosine})
    found = ParaphraseDetector(encoder, 0.8).index(lexical.items_of(["item"])).scan(lexical.rows_of(["row"]))
    assert len(found) == is_found


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
    index = ParaphraseDetector(encoder, 0.5).index(lexical.items_of(parts))
    assert encoder.calls == [["one two three four five six seven eight", "why?"]]
    assert index.texts.tolist() == [1, 2]


@pytest.mark.parametrize("parts", [["!!!"], [{"kind": "context", "text": "a page"}]])
def test_without_items_nothing_is_embedded(parts: list[str]) -> None:
    encoder = FakeEncoder()
    found = ParaphraseDetector(encoder, 0.5).index(lexical.items_of(parts)).scan(lexical.rows_of(["row", "other"]))
    assert len(found) == 0
    assert encoder.calls == []


@pytest.mark.parametrize("rows", [[], [""], ["!!!", "\u200b"]])
def test_without_rows_nothing_is_embedded(rows: list[str]) -> None:
    encoder = FakeEncoder()
    found = ParaphraseDetector(encoder, 0.5).index(lexical.items_of(["item"])).scan(lexical.rows_of(rows))
    assert len(found) == 0
    assert encoder.calls == [["item"]]


def test_what_may_fall_either_way_and_what_was_cut_is_counted() -> None:
    cosines = {"item": 1.0, "a": 0.8, "b": 0.8005, "c": 0.7995, "d": 0.8006, "e": 0.7994, "much too long a row": 0.1}
    index = ParaphraseDetector(FakeEncoder(cosines=cosines), 0.8).index(lexical.items_of(["item"]))
    index.scan(lexical.rows_of(list(cosines)[1:]))
    described = index.describe()
    assert (described["n_at_margin"], described["n_truncated"], described["n_embedded"]) == (3, 1, 6)
    assert (described["encoder"], described["threshold"], described["margin"]) == ("minilm", 0.8, 0.0005)
    assert (described["source"], described["digest"], described["max_tokens"]) == ("made up", "sha256:0", 4)


# ---------------------------------------------------------------- verified

ITEM = "how do i bake a loaf of bread"
REPHRASED = "what steps does it take to make bread at home"


def paraphrases(rows: list[str], *encoders: FakeEncoder) -> pl.DataFrame:
    items, shard = lexical.items_of([ITEM]), lexical.rows_of(rows)
    prepared = prepare(items, default_rules())
    lexically = verify(lexical.candidates_of(items, shard), shard.texts, shard.tokens, prepared, lexical.LEXICAL).pairs
    close = pl.concat([ParaphraseDetector(encoder, 0.8).index(items).scan(shard) for encoder in encoders])
    return verify_paraphrases(close, lexically, shard.texts, shard.tokens, prepared)


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
