"""The truth is true: planted copies are near their own item and no other, and nothing else is near any item."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest
from rapidfuzz import fuzz, process

from auditkit.demo import LEXICAL_KINDS, expected_found, expected_rows, read_truth, write_demo
from auditkit.demo.parts import Family, Frames, Item, read_families, read_frames, read_items
from auditkit.demo.planting import BENCHMARKS, Row, make_rows
from auditkit.demo.write import N_TRAIN

ITEMS = {plan.name: read_items(plan.parts) for plan in BENCHMARKS}
KEYS = [(name, n) for name, items in ITEMS.items() for n in range(len(items))]


def canonical(text: str) -> str:
    """Return NFKC, casefolded, without format characters, punctuation as space: an oracle of its own."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = (" " if unicodedata.category(c).startswith("P") else c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join("".join(kept).split())


TEXTS = [canonical(ITEMS[name][n].prompt) for name, n in KEYS]


def ratios(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return token_sort_ratio and partial_ratio of every text with every item, in [0, 100]."""
    sort, partial = (process.cdist(texts, TEXTS, scorer=f) for f in (fuzz.token_sort_ratio, fuzz.partial_ratio))
    return sort, partial


@pytest.fixture(scope="module")
def frames() -> Frames:
    return read_frames()


@pytest.fixture(scope="module", params=[1, 2])
def rows(request: pytest.FixtureRequest, frames: Frames) -> list[Row]:
    return make_rows(ITEMS, read_families(), frames, request.param)


def test_no_row_of_the_pool_itself_is_near_an_item(rows: list[Row]) -> None:
    """Measured: at most 64 and 66 over three seeds; here only what reaches the bound is scored, which is faster."""
    own = [canonical(row.prompt) for row in rows if row.plant is None]
    assert not process.cdist(own, TEXTS, scorer=fuzz.token_sort_ratio, score_cutoff=75).any()
    assert not process.cdist(own, TEXTS, scorer=fuzz.partial_ratio, score_cutoff=85).any()


def test_chat_turns_and_frames_are_not_near_an_item(frames: Frames) -> None:
    around = [*frames.systems, *frames.helpful, *frames.refusing, *frames.follow_ups, *frames.prose, *frames.frames]
    sort, partial = ratios([canonical(text) for text in around])
    assert sort.max() < 75
    assert partial.max() < 85


def test_a_planted_row_is_near_its_own_item_and_no_other(rows: list[Row]) -> None:
    planted = [row for row in rows if row.plant is not None]
    sort, partial = ratios([canonical(row.prompt) for row in planted])
    for n, row in enumerate(planted):
        assert row.plant is not None
        own = KEYS.index((row.plant.benchmark, row.plant.item))
        best = max(sort[n, own], partial[n, own])
        assert best >= 90 if row.plant.kind in LEXICAL_KINDS else best < 75, row
        sort[n, own] = partial[n, own] = 0
    assert sort.max() < 75
    assert partial.max() < 85


def test_items_are_not_near_each_other() -> None:
    sort, partial = ratios(TEXTS)
    np.fill_diagonal(sort, 0)
    np.fill_diagonal(partial, 0)
    assert sort.max() < 75
    assert partial.max() < 85


def test_every_rephrasing_is_out_of_reach_of_the_lexical_tiers() -> None:
    others = [canonical(item.rephrased) for items in ITEMS.values() for item in items if item.rephrased]
    assert len(others) == 28
    sort, partial = ratios(others)
    assert sort.max() < 75
    assert partial.max() < 75


@pytest.mark.parametrize("kind", LEXICAL_KINDS)
def test_each_kind_can_be_made_of_every_item(kind: str, frames: Frames) -> None:
    for text in (item.prompt for items in ITEMS.values() for item in items):
        made = LEXICAL_KINDS[kind](text, Random(0), frames)
        assert made.strip()
        equal = canonical(made) == canonical(text)
        assert equal == (kind in {"verbatim", "case", "punctuation", "rewrapped", "full_width", "zero_width"})
        assert (made == text) == (kind == "verbatim")


def test_copies_are_what_their_kind_says(frames: Frames) -> None:
    text = "Write a note about the shed, the pond and seven quiet herons."
    made = {kind: make(text, Random(3), frames) for kind, make in LEXICAL_KINDS.items()}
    assert made["truncated"] == "Write a note about the shed, the pond and"
    assert made["rewrapped"] == "Write a note\nabout the shed,\nthe pond and\nseven quiet herons."
    assert made["full_width"].startswith("Ｗｒｉｔｅ ａ ｎｏｔｅ")
    assert made["zero_width"].replace("\u200b", "") == text
    assert text in made["wrapped"]
    assert text in made["embedded"]
    assert sum(a != b for a, b in zip(made["exchanged"].split(), text.split(), strict=True)) == 1
    assert sum(a != b for a, b in zip(made["typo"].split(), text.split(), strict=True)) == 2
    assert Counter(made["typo"]) == Counter(text)


def test_the_truth_names_the_rows_of_the_files(tmp_path: Path, rows: list[Row], frames: Frames) -> None:
    seed = 1 if rows == make_rows(ITEMS, read_families(), frames, 1) else 2
    truth = read_truth(write_demo(tmp_path, seed).truth)
    for pool, n, benchmark, item, kind in truth.iter_rows():
        plant = rows[n if pool == "train" else N_TRAIN + n].plant
        assert plant is not None
        assert (plant.benchmark, plant.item, plant.kind) == (benchmark, item, kind)
    assert truth.height == sum(row.plant is not None for row in rows)
    assert set(truth["pool"]) == {"train", "chats"}


def test_the_shares_that_leak_are_the_stated_ones(tmp_path: Path) -> None:
    truth = read_truth(write_demo(tmp_path).truth)
    found = {name: len(items) / len(ITEMS[name]) for name, items in expected_found(truth).items()}
    assert found == {
        "invented-benign": 0.88,
        "invented-harmful": 0.82,
        "invented-maths": 0.25,
        "invented-untouched": 0.0,
    }
    assert set(truth["kind"]) == {*LEXICAL_KINDS, "rephrased"}
    assert truth["kind"].value_counts()["count"].min() >= 8  # type: ignore[operator]
    assert len(expected_rows(truth)) == 115


def test_a_rephrased_item_is_not_expected_of_the_lexical_tiers() -> None:
    truth = pl.DataFrame(
        {
            "pool": ["train", "train", "chats"],
            "row": [1, 2, 2],
            "benchmark": ["invented-maths"] * 3,
            "item": [7, 8, 7],
            "kind": ["typo", "rephrased", "case"],
        }
    )
    assert expected_found(truth)["invented-maths"] == {7}
    assert expected_found(truth)["invented-benign"] == frozenset()
    assert expected_rows(truth) == {("train", 1), ("chats", 2)}


def test_a_family_with_too_few_phrases_says_so() -> None:
    family = Family("tiny", 0, 0, ("one {a}", "one {b}"), {"a": ("x", "y"), "b": ("x", "y")})
    with pytest.raises(ValueError, match="family tiny has too few phrases for 4 distinct prompts"):
        family.prompts(4, Random(1))


def test_items_of_a_text_file_may_have_a_rephrasing() -> None:
    first, last = ITEMS["invented-benign"][0], ITEMS["invented-benign"][-1]
    assert first.prompt.startswith("Draft a welcome speech")
    assert first.rephrased
    assert last == Item("Compose a thank-you card to the librarian who found my grandmother's lost recipe book.")
