"""Hostile text: nothing invisible or acting gets through, and what is harmless stays as it is."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.report import safe

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e"
ANY = st.text(st.characters(), max_size=40)  # surrogates included
NASTY = st.text(
    st.sampled_from([*BIDI, *ZERO_WIDTH, *map(chr, range(32)), "\x7f", "\x9b", "\ud800", "\udfff", "a", "["])
)


def is_harmless(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") and char not in BIDI + ZERO_WIDTH


@given(ANY | NASTY)
def test_no_control_character_survives(text: str) -> None:
    assert all(map(is_harmless, safe.shown(text)))
    assert all(map(is_harmless, safe.shown(text, one_line=False).replace("\n", "")))
    safe.shown(text).encode("utf-8")  # no lone surrogate is left


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs", "M"], max_codepoint=0xFFFF), max_size=40))
def test_every_script_stays_as_it_is(text: str) -> None:
    assert safe.UNSAFE.sub("", text) == safe.shown(safe.UNSAFE.sub("", text))


def test_escapes_are_as_documented() -> None:
    assert safe.shown("a\u202eb") == "a<U+202E>b"
    assert safe.shown("\x1b[31m\x9b") == "<U+001B>[31m<U+009B>"
    assert safe.shown("\ud83d") == "<U+D83D>"
    assert safe.shown("a\nb\r\nc\td\re") == "a⏎b⏎c⇥d<U+000D>e"
    assert safe.shown("a\nb\r\nc", one_line=False) == "a\nb\nc"
    assert safe.shown("\U000e0041") == "<U+E0041>"  # a tag character, invisible
    assert safe.shown("") == ""


def test_scripts_and_emoji_are_left_alone() -> None:
    text = "ภาษาไทย বাংলা العربية 中文 😀 ❤️ naïve"
    assert safe.shown(text) == text


@pytest.mark.parametrize("text", ["[bold]x[/]", "[/oops]", ":smile:", "[link=http://e.example]y[/link]", "123 True"])
def test_a_console_prints_markup_as_it_stands(text: str) -> None:
    stream = io.StringIO()
    console = safe.console(stream, width=200)
    console.print(safe.plain(text))
    assert stream.getvalue() == text + "\n"


def test_a_stream_that_lacks_a_character_does_not_stop_the_report() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    safe.console(stream).print(safe.plain("a\n…"))
    stream.flush()
    assert raw.getvalue() == b"a\\u23ce\\u2026\n"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\n=1", " =1", "＝1"])
def test_formulas_are_quoted(text: str) -> None:
    assert safe.csv_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "' =", "é"])
def test_other_cells_are_left_alone(text: str) -> None:
    assert safe.csv_cell(text) == text
