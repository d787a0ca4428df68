"""Scripts of letters against the `regex`-free slow way, languages and damage by planted texts."""

from __future__ import annotations

import unicodedata
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.text.damage import damage_of
from auditkit.text.languages import UNKNOWN, languages_of
from auditkit.text.scripts import known_scripts, scripts_of

#: First words of Unicode names that are the script's own.
NAMED = {"LATIN": "Latin", "GREEK": "Greek", "CYRILLIC": "Cyrillic", "HEBREW": "Hebrew", "ARABIC": "Arabic",
         "THAI": "Thai", "HIRAGANA": "Hiragana", "KATAKANA": "Katakana", "CJK": "Han", "HANGUL": "Hangul"}  # fmt: skip
LETTERS = "aZéßñ αΩ жЯ שא عب กข あん カナ 漢字 한글 123 !?-"


def slow(text: str) -> tuple[Counter[str], int]:
    """Return letters by script, told by the first word of their Unicode names, and their number."""
    letters = [char for char in text if unicodedata.category(char).startswith("L")]
    return Counter(NAMED[unicodedata.name(char).split()[0].split("-")[0]] for char in letters), len(letters)


@given(st.lists(st.text(alphabet=LETTERS, max_size=30), max_size=6))
def test_counts_are_those_of_the_letters_names(texts: list[str]) -> None:
    found = scripts_of(pl.Series(texts, dtype=pl.String))
    assert len(found) == len(texts)
    for text, (script, n_letters, n_scripts) in zip(texts, found.rows(), strict=True):
        counts, n = slow(text)
        assert (n_letters, n_scripts) == (n, len(counts))
        assert script is None if not n else counts[script] == max(counts.values())


@given(st.lists(st.text(max_size=12), max_size=4))
def test_letters_are_those_of_category_l_where_both_know_the_character(texts: list[str]) -> None:
    # The table is of Unicode 14; a letter that a later version of Python knows may be missing from it.
    found = scripts_of(pl.Series(texts, dtype=pl.String))["n_letters"].to_list()
    for text, n in zip(texts, found, strict=True):
        letters = [char for char in text if unicodedata.category(char).startswith("L")]
        assert n <= len(letters)
        assert n == len(letters) or any(known_scripts().of_point[ord(char)] == 0 for char in letters)


@pytest.mark.parametrize(
    ("text", "script", "n_scripts"),
    [
        ("", None, 0),
        ("12 !? 🙂", None, 0),
        ("ａｂｃ", "Latin", 1),
        ("ーー", "Common", 0),
        ("カー", "Katakana", 1),
        ("𝐀𝐁", "Common", 0),
        ("pаypal", "Latin", 2),
        ("аб ab", "Latin", 2),
        ("ⲁⲃ", "Coptic", 1),
        ("𐌀𐌁", "Old_Italic", 1),
        ("ቋንቋ", "Ethiopic", 1),
    ],
)
def test_a_script_by_hand(text: str, script: str | None, n_scripts: int) -> None:
    assert scripts_of(pl.Series([text])).select("script", "n_scripts").row(0) == (script, n_scripts)


def languages(*texts: str) -> list[str]:
    series = pl.Series(texts, dtype=pl.String)
    return languages_of(series, scripts_of(series)["n_letters"]).to_list()


def test_plain_sentences_have_their_language_and_short_ones_none() -> None:
    assert languages(
        "How do I keep basil alive on a north facing window in winter?",
        "Wie halte ich Basilikum im Winter an einem Fenster nach Norden am Leben?",
        "¿Cómo mantengo viva la albahaca en invierno en una ventana que da al norte?",
        "冬に北向きの窓辺でバジルを枯らさずに育てるにはどうすればいいですか。",
        "как сохранить базилик зимой на северном окне, если дома холодно",
    ) == ["en", "de", "es", "ja", "ru"]
    assert languages("", "cat", "12 34 56 78 90 12", "kill it") == [UNKNOWN] * 4
    assert languages("qwzx vbnm jhgf trew") == ["zxx"]  # no language at all


def test_no_text_no_language() -> None:
    assert languages() == []


@pytest.mark.parametrize(
    "text", ["naïve café, 5 £ – “quoted”", "Grüße aus Köln", "©®™ § 12", "ÇA VA, ESPAÇO", "日本語", "привет", ""]
)
def test_clean_text_is_no_mojibake(text: str) -> None:
    assert damage_of(pl.Series([text], dtype=pl.String)).row(0) == (False, False)


@pytest.mark.parametrize(
    "text", ["It’s a “fine” café", "Grüße aus Köln", "élève à l’école", "привет, мир", "日本語の文章"]
)
@pytest.mark.parametrize("wrong", ["cp1252", "latin-1"])
def test_utf8_decoded_as_something_else_is_mojibake(text: str, wrong: str) -> None:
    broken = text.encode().decode(wrong, errors="replace")
    assert damage_of(pl.Series([text, broken]))["has_mojibake"].to_list() == [False, True]


def test_a_replacement_character_is_lost_text() -> None:
    assert damage_of(pl.Series(["caf\ufffd", "cafe"]))["has_replacement"].to_list() == [True, False]
