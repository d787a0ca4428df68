"""Each kind of copy is what it says: measured against its item by other means than those that made it."""

from __future__ import annotations

import base64
import codecs
import unicodedata
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.plant.copies import DISGUISES, RATES, WRAPPERS, Material, kinds, substituted, truncated, typos

ITEM = "How many of the green marbles did Anna leave in the wooden box after she gave some of them to her brother?"
ROWS = ("A row of the pool that says something else altogether.", "word")
MATERIAL = Material(("river", "copper", "seventeen", "blanket"), ROWS, {ITEM: "What number of marbles stayed?"})


def made(name: str, text: str = ITEM, seed: int = 1) -> str | None:
    kind = {kind.name: kind for kind in kinds(has_pairs=True)}[name]
    return kind.make(text, Random(seed), MATERIAL)


@pytest.mark.parametrize("name", [kind.name for kind in kinds(has_pairs=True)])
def test_equal_seeds_give_equal_copies(name: str) -> None:
    assert made(name) == made(name)
    assert made(name) is not None


@pytest.mark.parametrize(("rate", "n_changed"), [(1, 1), (2, 2), (0.1, 2), (0.2, 4)])
def test_as_many_words_are_changed_as_stated(rate: float, n_changed: int) -> None:
    for seed in range(20):
        copy = substituted(ITEM, Random(seed), MATERIAL.words, rate)
        assert copy is not None
        pairs = list(zip(ITEM.split(), copy.split(), strict=True))
        assert sum(a != b for a, b in pairs) == n_changed
        assert all(b in MATERIAL.words for a, b in pairs if a != b)


def test_no_copy_is_made_where_more_than_half_would_change() -> None:
    assert substituted("one two three", Random(1), MATERIAL.words, 2) is None
    assert substituted("one two three four", Random(1), MATERIAL.words, 2) is not None
    assert substituted("one two three four", Random(1), (), 2) is None


def test_a_script_without_spaces_is_edited_by_characters() -> None:
    copy = substituted("明日天气很好我们去公园散步", Random(1), ("看书喝茶", "吃饭唱歌"), 2)
    assert copy is not None
    assert len(copy) == 13
    assert sum(a != b for a, b in zip(copy, "明日天气很好我们去公园散步", strict=True)) == 2


def test_typos_swap_two_letters_in_each_of_two_words() -> None:
    copy = made("typos_2")
    assert copy is not None
    changed = [(a, b) for a, b in zip(ITEM.split(), copy.split(), strict=True) if a != b]
    assert len(changed) == 2
    assert all(sorted(a) == sorted(b) and a[0] == b[0] and a[-1] == b[-1] for a, b in changed)
    assert typos("to be or", Random(1)) is None


def test_cut_copies_lie_at_the_ends_and_keep_three_quarters() -> None:
    end, start = made("cut_end"), made("cut_start")
    assert end is not None
    assert start is not None
    assert ITEM.startswith(end)
    assert ITEM.endswith(start)
    assert len(end.split()) == len(start.split()) == 17  # of 22 words
    assert made("cut_end", "word") == "wor"
    assert made("cut_end", "?") is None


@given(st.text(min_size=1), st.floats(0.1, 1.0))
def test_a_cut_text_is_never_longer(text: str, share: float) -> None:
    assert len(truncated(text, share)) <= len(text)


def test_wrapped_and_embedded_copies_hold_the_item_whole() -> None:
    for seed in range(20):
        wrapped, embedded = made("wrapped", seed=seed), made("embedded", seed=seed)
        assert wrapped is not None
        assert embedded is not None
        assert ITEM in wrapped
        assert any(wrapped == wrapper.replace("{}", ITEM) for wrapper in WRAPPERS)
        assert any(embedded.replace(f"{ITEM} ", "") == row for row in ROWS)


def test_disguises_are_undone_by_their_inverse() -> None:
    copies = {name: make(ITEM) for name, (_, make) in DISGUISES.items()}
    assert unicodedata.normalize("NFKC", copies["full_width"]) == ITEM
    assert base64.b64decode(copies["base64"]).decode() == ITEM
    assert codecs.decode(copies["rot13"], "rot13") == ITEM
    assert copies["spaced"].replace("   ", "\0").replace(" ", "").replace("\0", " ") == ITEM
    assert (
        len(copies["look_alikes"]) == len(ITEM) != sum(a == b for a, b in zip(copies["look_alikes"], ITEM, strict=True))
    )
    assert sum(char.isdigit() for char in copies["leet"]) > 20
    zero_width = made("zero_width")
    assert zero_width is not None
    assert zero_width != ITEM
    assert zero_width.replace("\u200b", "") == ITEM


def test_what_a_disguise_cannot_change_gives_no_copy() -> None:
    assert made("leet", "明日天气") is None
    assert made("rot13", "明日天气") is None


def test_only_given_pairs_are_rephrased() -> None:
    assert made("rephrased") == "What number of marbles stayed?"
    assert made("rephrased", "another item") is None
    assert "rephrased" not in [kind.name for kind in kinds()]


def test_kinds_have_names_of_their_own_and_say_what_they_are() -> None:
    names = [kind.name for kind in kinds((*RATES, 3, 0.3), has_pairs=True)]
    assert len(set(names)) == len(names)
    assert {"words_1", "words_2", "words_10%", "words_20%", "words_3", "words_30%"} <= set(names)
    said = {kind.name: kind.what for kind in kinds((2, 0.1, 7))}
    assert said["words_2"] == "a copy with two words changed"
    assert said["words_10%"] == "a copy with 10 % of its words changed"
    assert said["words_7"] == "a copy with 7 words changed"


def test_without_a_row_nothing_is_embedded() -> None:
    embedded = next(kind for kind in kinds() if kind.name == "embedded")
    assert embedded.make(ITEM, Random(1), Material()) is None
