"""condemned finds the pairs that verify condemns, all and no other: what it leaves out early reaches no rule."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from auditkit import tables
from auditkit.detect.protocol import Rows, candidates
from auditkit.detect.seeds import SeedDetector
from auditkit.records import LEXICAL_TIERS
from auditkit.text.items import ItemTexts, distinct_texts
from auditkit.text.normalise import tokenise
from auditkit.verify.condemned import can_condemn, condemned
from auditkit.verify.items import prepare
from auditkit.verify.matches import verify
from auditkit.verify.rules import default_rules

TIERS = frozenset(LEXICAL_TIERS)
WORDS = "how do i keep basil alive on a north facing window in winter without any sun 12 13 日 本 語".split()  # noqa: SIM905
texts_of_words = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join), min_size=2, max_size=8
)


def items_of(texts: list[str]) -> ItemTexts:
    rows = [{**dict.fromkeys(tables.ITEMS), "benchmark": "b", "item": i, "part": "t", "kind": "question", "text": t}
            for i, t in enumerate(texts)]  # fmt: skip
    return distinct_texts(pl.DataFrame(rows, schema=tables.ITEMS), min_answer_tokens=0)


def same_as_verify(texts: list[str], edited: list[str]) -> None:
    prepared = prepare(items_of(texts), default_rules())
    series = pl.Series(edited, dtype=pl.String)
    rows = Rows(series, tokenise(series))
    unit, text = map(np.ravel, np.meshgrid(np.arange(len(edited)), np.arange(len(prepared.items)), indexing="ij"))
    every = candidates("all", unit, text, np.zeros(len(unit), np.int64), rows.tokens.lengths[unit])
    both = pl.concat([every, SeedDetector(min_tokens=1).index(prepared.items).scan(rows)])
    found = verify(both, series, rows.tokens, prepared, TIERS).pairs.filter(pl.col("verdict") == "contaminated")
    expected = set(found.select("unit", "text").rows())
    assert set(condemned(both, series, rows.tokens, prepared, TIERS).rows()) == expected


@given(texts_of_words, st.randoms(use_true_random=False))
def test_it_finds_what_verify_condemns(texts: list[str], rng: random.Random) -> None:
    edited = list(texts)
    for text in texts:
        words = text.split()
        words[rng.randrange(len(words))] = rng.choice(WORDS)
        edited.append(" ".join(words))
        edited.append(" ".join(rng.sample(WORDS, 5) + text.split()))
        edited.append(" ".join(text.split()[: max(1, len(words) * 2 // 3)]))
    same_as_verify(texts, edited)


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_long_copies_as_verify_does(seed: int) -> None:
    rng = random.Random(seed)
    word = [f"word{i}" for i in range(400)]
    texts = [" ".join(rng.choices(word, k=k)) for k in (110, 150, 260)]
    edited = []
    for text in texts:
        for n_edits in (3, 10, 18, 40):
            words = text.split()
            for at in rng.sample(range(len(words)), n_edits):
                words[at] = rng.choice(["x", "a very much longer piece than that which stood here", "word1"])
            edited += [" ".join(words), " ".join([*rng.choices(word, k=60), *words, *rng.choices(word, k=60)])]
    same_as_verify(texts, edited)


def test_a_pair_exactly_at_a_threshold_is_found() -> None:
    """rapidfuzz's own cutoffs give up some pairs just at them."""
    item, row = "big red gardens grow many purple flowers", "bix rex gardenx grow manx purplx flowerx"
    assert (len(item), len(row), Indel.distance(item, row)) == (40, 40, 12)  # a ratio of 34 / 40
    texts, tokens = pl.Series([row]), tokenise(pl.Series([row]))
    near = replace(default_rules().near, ratio=0.85)
    prepared = prepare(items_of([item]), replace(default_rules(), near=near))
    pair = candidates("all", *(np.array([i]) for i in (0, 0, 0, 7)))
    assert condemned(pair, texts, tokens, prepared, TIERS).rows() == [(0, 0)]


def test_nothing_proposed_is_nothing_condemned() -> None:
    prepared = prepare(items_of(["how do i keep basil alive"]), default_rules())
    none = tables.empty(tables.CANDIDATES)
    series = pl.Series([], dtype=pl.String)
    assert can_condemn(none, tokenise(series), prepared).tolist() == []
    assert condemned(none, series, tokenise(series), prepared, TIERS).rows() == []
