"""The counts that make a row suspicious, against plain Python."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from auditkit.kernels import signs
from auditkit.kernels.table import build_filter
from auditkit.text.normalise import token_hash, tokenise
from auditkit.text.strings import string_buffers
from auditkit.text.views.alphabet import point_kinds, readings_of_letters
from auditkit.text.views.signs import EMPHASIS_SIGNS, ESCAPE_SIGNS, LEET_SIGNS, byte_kinds

texts = st.lists(st.text("aZ9$!|@%&\\<*`é. ", max_size=30), min_size=1, max_size=4)
words = st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "i",
            "7",
            "+",
            "как",
            "ж",
            "4a",
            "x6f",
            "0x6f",
            "zz",
            "word",
            "sixteenletters1x",
            "fifteenletters1",
            "q" * 27,
            "q" * 28,
        ]
    ),
    max_size=14,
)


def ascii_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


@given(texts)
def test_bytes_are_counted_as_python_counts_them(rows: list[str]) -> None:
    counts = signs.count_bytes(*string_buffers(pl.Series(rows)), byte_kinds())
    for row, found in zip(rows, counts.tolist(), strict=True):
        # A byte beyond ASCII stands between its neighbours as any other character does.
        pairs = list(pairwise(row))
        leet = sum((a in LEET_SIGNS or (a.isascii() and a.isdigit())) and ascii_letter(b) for a, b in pairs)
        leet += sum(ascii_letter(a) and b.isascii() and b.isdigit() for a, b in pairs)
        emphasis = sum(ascii_letter(a) and b in EMPHASIS_SIGNS for a, b in pairs)
        escapes = sum(char in ESCAPE_SIGNS for char in row)
        assert found[:3] == [leet, escapes, emphasis]
        assert bool(found[signs.SEEN] & signs.HIGH) is not row.isascii()


def longest(flags: list[bool | None]) -> int:
    """Return the longest run of True, where None neither counts nor ends it."""
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else run if flag is None else 0
        best = max(best, run)
    return best


@given(st.lists(words, min_size=1, max_size=4))
def test_runs_of_tokens_are_those_of_python(rows: list[list[str]]) -> None:
    tokens = tokenise(pl.Series([" ".join(row) for row in rows], dtype=pl.String))
    places = (tokens.text, tokens.text_offsets, tokens.starts, tokens.ends, tokens.offsets)
    runs = signs.longest_runs(*places, np.arange(len(rows)))
    for row, (letters, pairs) in zip(rows, runs.tolist(), strict=True):
        assert letters == longest([(w.isalpha() or None) if len(w) == 1 else False for w in row])
        assert pairs == longest([bool(re.fullmatch(r"(0x|x)?[0-9a-f]{2}", w)) for w in row])


@given(st.lists(words, min_size=1, max_size=4))
def test_tokens_are_counted_as_python_counts_them(rows: list[list[str]]) -> None:
    tokens = tokenise(pl.Series([" ".join(row) for row in rows], dtype=pl.String))
    places = (tokens.text, tokens.text_offsets, tokens.starts, tokens.ends, tokens.offsets)
    foreign = build_filter(np.array([token_hash("zz")], np.uint64), 1 << 12)
    counts = signs.count_tokens(*places, tokens.hashes, foreign)
    for row, found in zip(rows, counts.tolist(), strict=True):
        total = most = 0
        for word in row:
            total = max(total + (1 if word == "zz" else -1), 0)
            most = max(most, total)
        assert found[signs.N_ONE] == sum(len(word) == 1 for word in row)
        codes = [len(w) for w in row if len(w) >= 28 or (len(w) >= 16 and any(map(str.isdigit, w)))]
        assert found[signs.LONGEST] == max(codes, default=0)
        assert found[signs.FOREIGN_RUN] == most
        # A cheap bound: what longest_runs may find is never more.
        assert found[signs.N_PAIRS] >= sum(bool(re.fullmatch(r"(0x|x)[0-9a-f]{2}|[0-9][0-9a-f]", word)) for word in row)


@given(st.lists(st.text("ab а\u0301\u200bеж1ｘ日 ,", max_size=20), min_size=1, max_size=4))
def test_characters_beyond_ascii_are_counted_as_python_counts_them(rows: list[str]) -> None:
    data, offsets = string_buffers(pl.Series(rows))
    counts = signs.count_points(data, offsets, np.arange(len(rows)), point_kinds())
    readable = readings_of_letters()
    for row, found in zip(rows, counts.tolist(), strict=True):
        # Han characters stand alone; marks and invisible characters belong to the letter before them.
        parts = re.split(r"[^\w]|日", re.sub("[\u0301\u200b]", "", row))
        mixed = [any(map(ascii_letter, part)) and any(char in readable for char in part) for part in parts]
        whole = [len(part) > 1 and all(char in "ае" for char in part) for part in parts]
        foreign = [len(part) > 1 and not any(map(ascii_letter, part)) for part in parts]
        assert found[:3] == [sum(mixed), sum(whole), sum(foreign)]
        bases = [(re.sub("[\u0301\u200b]", "", row[:i])[-1:], char) for i, char in enumerate(row)]
        assert found[signs.N_MARKS] == sum(unicodedata.combining(c) > 0 and ascii_letter(base) for base, c in bases)
        assert found[signs.N_HIDDEN] == sum(c == "\u200b" and ascii_letter(base) for base, c in bases)
        assert found[signs.N_COMPATIBLE] == row.count("ｘ")


def test_no_rows_have_no_counts() -> None:
    data, offsets = string_buffers(pl.Series([], dtype=pl.String))
    assert signs.count_bytes(data, offsets, byte_kinds()).shape == (0, 4)
    assert signs.count_points(data, offsets, np.empty(0, np.int64), point_kinds()).shape == (0, 6)
