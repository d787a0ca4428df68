"""Normalisation: the kernels equal the readable rule, and the rule keeps apart what is different."""

from __future__ import annotations

import unicodedata

import oracles
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import disguises, sentences, texts

from auditkit.kernels.tokens import IGNORED, MARK, NO_SPACE, SEPARATOR, SYMBOL, WORD
from auditkit.text.folding import fold
from auditkit.text.normalise import canonical, describe, token_hash, tokenise, tokens_of
from auditkit.text.unicode import classes, ignored_pattern


def series(values: list[str]) -> pl.Series:
    return pl.Series(values, dtype=pl.String)


@settings(max_examples=200)
@given(st.lists(texts, max_size=6))
def test_the_kernels_equal_the_rule(values: list[str]) -> None:
    tokens = tokenise(series(values))
    assert len(tokens) == len(values)
    assert [tokens.canonical(i) for i in range(len(values))] == [canonical(text) for text in values]
    for i, text in enumerate(values):
        first, last = tokens.offsets[i], tokens.offsets[i + 1]
        expected = [oracles.token_hash(token) for token in tokens_of(text)]
        assert tokens.hashes[first:last].tolist() == expected
        assert int(tokens.lengths[i]) == len(expected)
        assert int(tokens.sequences[i]) == oracles.sequence_hash(expected)
        assert tokens.words(i) == tokens_of(text)


@given(st.lists(texts, max_size=5))
def test_a_batch_is_its_texts_one_by_one(values: list[str]) -> None:
    together = tokenise(series(values))
    for i, text in enumerate(values):
        alone = tokenise(series([text]))
        assert together.canonical(i) == alone.canonical(0)
        assert together.sequences[i] == alone.sequences[0]
        first, last = together.offsets[i], together.offsets[i + 1]
        assert together.starts[first:last].tolist() == alone.starts.tolist()
        assert together.ends[first:last].tolist() == alone.ends.tolist()


@given(st.lists(texts, min_size=3, max_size=6))
def test_a_slice_of_a_series_is_read_where_it_lies(values: list[str]) -> None:
    part = tokenise(series(values)[1:-1])
    assert [part.canonical(i) for i in range(len(part))] == [canonical(text) for text in values[1:-1]]


def test_a_series_of_several_chunks_is_one_text_after_another() -> None:
    values = ["How do I", "naïve", "", "お元気ですか"]
    chunks = pl.concat([series(values[:1]), series(values[1:3]), series(values[3:])], rechunk=False)
    tokens = tokenise(chunks)
    assert chunks.n_chunks() == 3
    assert [tokens.canonical(i) for i in range(4)] == [canonical(text) for text in values]


@pytest.mark.parametrize("values", [[], [""], ["", ""], ["!!!", "\u0301"], ["", "a", ""]])
def test_empty_texts_have_no_token(values: list[str]) -> None:
    tokens = tokenise(series(values))
    assert tokens.lengths.tolist() == [int(text == "a") for text in values]
    assert [tokens.canonical(i) for i in range(len(values))] == values or "a" not in values


@given(texts)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(texts)
def test_slices_of_tokens_are_canonical_texts(text: str) -> None:
    tokens, words = tokenise(series([text])), tokens_of(text)
    assert tokens.slice(0, 0, len(words)) == canonical(text)
    assert tokens.slice(0, 1, 1) == ""
    for i, word in enumerate(words):
        assert tokens.slice(0, i, i + 1) == word


@settings(max_examples=150)
@given(st.data())
def test_disguises_are_equal(data: st.DataObject) -> None:
    words = data.draw(sentences)
    assert canonical(data.draw(disguises(words))) == canonical(" ".join(words))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("How do I BAKE bread?", "how do i bake bread"),
        ("ｈｏｗ　ｄｏ　Ｉ　１２", "how do i 12"),
        ("h\u200bow d\u00ado i", "how do i"),
        ("cafe\u0301 a\u0300 la", "café à la"),
        ("Straße ﬁn", "STRASSE FIN"),
        ("an item\nbroken every\r\nthree words", "an item broken every three words"),
        ('"quoted", (bracketed) - dashed...', "quoted bracketed dashed"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("か\u3099く", "がく"),
        ("ΣΟΦΟΣ", "σοφος"),
        ("a\0b", "a b"),
        ("❤\ufe0f", "❤"),
        ("مـرحبا", "مـرحبا"),
        ("half\u00a0space\u3000wide", "half space wide"),
    ],
)
def test_equal_after_normalisation(left: str, right: str) -> None:
    assert canonical(left) == canonical(right)
    tokens = tokenise(series([left, right]))
    assert tokens.sequences[0] == tokens.sequences[1]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("these people are 😀", "these people are 😡"),
        ("these people are 😀", "these people are"),
        ("👍🏽 done", "👍🏿 done"),
        ("48 friends", "52 friends"),
        ("১২ জন", "১৩ জন"),
        ("কি", "কী"),
        ("কোন", "কান"),
        ("ไม่", "ไม้"),
        ("ขา", "ขำ"),
        ("عَلم", "عِلم"),
        ("नमस्ते", "नमसते"),
        ("x > 3", "x < 3"),
        ("$5", "€5"),
        ("a b", "ab"),
        ("今日", "今日は"),
        ("か", "が"),
        ("naïve", "naive"),
        ("\ue000", "\ue001"),
    ],
)
def test_different_after_normalisation(left: str, right: str) -> None:
    assert canonical(left) != canonical(right)
    tokens = tokenise(series([left, right]))
    assert tokens.sequences[0] != tokens.sequences[1]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't stop", ["don", "t", "stop"]),
        ("C++ & C#", ["c", "+", "+", "c"]),
        ("日本go語", ["日", "本", "go", "語"]),
        ("ab😀cd", ["ab", "😀", "cd"]),
        ("กำ", ["ก", "\u0e4d", "\u0e32"]),
        ("1½", ["11", "⁄", "2"]),
        ("\u0301a", ["a"]),
    ],
)
def test_tokens_by_hand(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


def test_unspaced_tokens_stand_side_by_side() -> None:
    assert canonical("猫 と 犬 and 鳥") == "猫と犬 and 鳥"


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("a", 0x82A2A958A9BECE5B),
        ("benchmark", 0x2A3999C17E0B6B6E),
        ("日", 0xFE12C3E68E8014B3),
        ("😀", 0xDA89B0991F06F386),
    ],
)
def test_token_hashes_never_change(token: str, value: int) -> None:
    assert token_hash(token) == value == oracles.token_hash(token)


def test_every_character_has_the_class_of_its_category() -> None:
    table = classes()
    assert table.shape == (0x110000,)
    expected = {"L": {WORD, NO_SPACE}, "N": {WORD, NO_SPACE}, "M": {MARK, NO_SPACE}, "S": {SYMBOL}, "C": {SYMBOL}}
    for point in [*range(0x3000), *range(0xA000, 0x20000, 5), *range(0x20000, 0x110000, 1009)]:
        category = unicodedata.category(chr(point))
        if ignored_pattern().fullmatch(chr(point)):
            assert table[point] == IGNORED, hex(point)
        elif category in ("Cc", "Zs", "Zl", "Zp") or category[0] == "P":
            assert table[point] == SEPARATOR, hex(point)
        else:
            assert table[point] in expected[category[0]], hex(point)


#: Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties, reserved ones included.
DEFAULT_IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip


def test_everything_that_is_shown_as_nothing_vanishes() -> None:
    for first, last in DEFAULT_IGNORABLE:
        for point in range(first, last + 1):
            assert tokens_of(f"kno{chr(point)}ts") == ["knots"], hex(point)


def test_the_normalisation_has_a_name_with_the_unicode_version() -> None:
    assert unicodedata.unidata_version in describe()
    assert describe().startswith("auditkit-1 ")
