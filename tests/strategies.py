"""Hypothesis strategies: texts of all of Unicode, texts of mixed scripts, and disguises that change no meaning."""

from __future__ import annotations

import json
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

# ---------------------------------------------------------------- JSON lines, whole and broken

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-20, 20), st.integers(-(10**25), 10**25), st.floats(), texts,
    st.sampled_from(["", '"', "\\", "\x00", "\x7f", "[]", "2024-01-02T03:04:05", "1", "null", '[{"role": "user"}]']),
)  # fmt: skip
_KEYS = st.one_of(st.sampled_from(["id", "text", "prompt", "label", "note", "messages", "é", "a.b", ""]), texts)
_MESSAGES = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": _SCALARS}))
_VALUES = st.recursive(
    st.one_of(_SCALARS, _MESSAGES),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=6,
)
_ALIKE = st.fixed_dictionaries(
    {"id": st.one_of(st.integers(-5, 5), texts), "text": st.one_of(st.none(), texts), "label": st.booleans()},
    optional={"note": texts, "n": st.floats(allow_nan=False)},
)
_ODD_LINES = (
    b"", b"  \t ", b"\x0b", b'"bare"', b"3", b"null", b"[1]", b"{}", b" { } ", b'{"a":1}{"a":2}', b'{"a":1,}', b"{,}",
    b'{"a" : 1 , "a" : 2}', b'{"t\\u0065xt": "escaped key"}', b'{"text": "\\ud83d\\ude00 \\u00e9 \\uD83D\\uDE00"}',
    b'{"text": "\\ud83d"}', b'{"text": "\\ud83d\\u0041"}', b'{"text": "\xed\xa0\x80"}', b'{"text": "\xc0\xaf"}',
    b'{"text": "\xf4\x90\x80\x80"}', b'{"text": "\xe2\x82"}', b'{"text": "tab\there"}', b'{"n": 01}', b'{"n": -0}',
    b'{"n": -0.0}', b'{"n": 1.}', b'{"n": .5}', b'{"n": 1e400}', b'{"n": 1E+5}', b'{"n": +1}', b'{"n": 1e}',
    b'{"n": -}',
    b'{"n": NaN}', b'{"n": -Infinity}', b'{"n": tru}', b'{"n": nulll}', b'{"text": "\\x"}', b'{"text": "\\u12g4"}',
    b'{"id": 123456789012345678}', b'{"id": 1234567890123456789}', b'{"id": 18446744073709551616}', b'{"a": [}',
    b'{"a": [1,]}', b'{"a": {"b": [true, {"c": null}]}, "text": "x"}', b'{"a": {"b": 1, "b": 2}}', b'{"a": [1] ]}',
    b"{\"a\": " + b"[" * 61 + b"]" * 61 + b"}", b"{\"a\": " + b"[" * 60 + b"]" * 60 + b"}", b'{"text": "open',
    b'{"text": "\\', b'{"text"', b'{"text":', b'{', b'{"text": "a"} x', b'{"text": "a"}\r',
    b'\xef\xbb\xbf{"text": "b"}',
)  # fmt: skip


@st.composite
def _written(draw: st.DrawFn) -> bytes:
    """Return a record as some program writes it."""
    record = draw(st.one_of(_ALIKE, st.dictionaries(_KEYS, _VALUES, max_size=5)))
    separators = draw(st.sampled_from([(", ", ": "), (",", ":"), (" , ", "\t: ")]))
    return json.dumps(record, ensure_ascii=draw(st.booleans()), separators=separators).encode("utf-8", "surrogatepass")


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """Return a record of which some bytes are gone, doubled or others."""
    line = bytearray(draw(_written()))
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(line) - 1)) if line else 0
        line[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(line).replace(b"\n", b"")


@st.composite
def json_lines(draw: st.DrawFn) -> bytes:
    """Return the bytes of a JSON Lines file in which few things are as they should be."""
    lines = draw(st.lists(st.one_of(_written(), _written(), st.sampled_from(_ODD_LINES), _damaged()), max_size=12))
    end = draw(st.sampled_from([b"\n", b"\r\n"]))
    return end.join(lines) + draw(st.sampled_from([b"", end]))
