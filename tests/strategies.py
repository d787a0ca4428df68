"""Hypothesis strategies: texts of all of Unicode, texts of mixed scripts, and disguises that change no meaning."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

#: What normalisation has to be careful with.
AWKWARD = (
    "\0\t\n\r\x0b\x85\u2028",  # controls and line breaks
    "aZ019_-'.,!? $+<=>^`|~",
    "éÉñßẞſıİŉǰΐςσΣ\u0345ͅᾳẛﬁﬃ",  # folding and compatibility
    "\u0301\u0300\u0327\u0338\u20e3\u3099\u309a゛゜",  # marks, alone or behind any letter
    "\u1100\u1161\u11a8\uac00\uac01ᄀﾡￂㄱ\u115f\u1160\u3164\uffa0",  # Hangul, composed, in jamo, half-width, fillers
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\ufe0f\U000e0001\U000e0100",  # ignorables
    "😀👍🏽👩‍👩‍👧🇩🇪❤️™①½㍻㌔",  # emoji with modifiers, symbols, compatibility digits
    "กำลังที่ำ\u0e33\u0e4d\u0e49ກຳ\u1025\u102e\u1780\u17d2",  # scripts without spaces, and their marks
    "日本語が\u304b\u3099ｶﾞガ々〇〻㐀𠀀豈",
    "ক\u09c7\u09beকোাআমি\u0915\u093c\u0958नमस्ते\u0bc6\u0bbe",  # Indic vowel signs that compose
    "مرحبا\u064b\u0651ﻻ\u0640\u06dd١٢٣",
    "ｆｕｌｌ　ＷＩＤＴＨ１２",
    "\ue000\U0010ffff\u0378",  # private and unassigned
)

anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
awkward = st.lists(st.sampled_from("".join(AWKWARD)), max_size=14).map("".join)
texts = st.one_of(anything, awkward, st.lists(st.one_of(anything, awkward), max_size=3).map(" ".join))

#: Words that any disguise below leaves equal.
_TEXT = (
    "how do i make a strong knot of thin rope without café naïve 48 friends número straße please list ten ways to "
    "boil eggs 7 años später σοφος привет мир quickly"
)
WORDS = _TEXT.split()
words = st.sampled_from(WORDS)
sentences = st.lists(words, min_size=5, max_size=30)

#: Few tokens, so that hits, repeats and near misses are common.
token_lists = st.lists(st.sampled_from("abcdefgh"), max_size=24)

GAPS = (" ", "  ", "\n", "\t", ", ", " - ", "... ", "!\r\n", " (", "\u00a0", "\u3000", " — ", "; ", "\0", "\u2028")
INVISIBLE = ("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\ufe0f")


def full_width(text: str) -> str:
    """Return the text with its ASCII letters and digits in full width."""
    return "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalnum() else c for c in text)


@st.composite
def disguises(draw: st.DrawFn, words: list[str]) -> str:
    """Return a text of these words in another dress: case, width, composition, invisible characters, punctuation."""
    parts = []
    for i, word in enumerate(words):
        for dress in draw(st.lists(st.sampled_from(DRESSES), max_size=2)):
            word = dress(word)
        at = draw(st.integers(0, len(word)))
        word = word[:at] + draw(st.sampled_from(("", "", *INVISIBLE))) + word[at:]
        parts.append(word if i == 0 else draw(st.sampled_from(GAPS)) + word)
    return "".join(parts)


DRESSES = (
    str.upper,
    str.title,
    full_width,
    lambda word: unicodedata.normalize("NFD", word),
    lambda word: unicodedata.normalize("NFKD", word),
    lambda word: "\u200b".join(word),
)
