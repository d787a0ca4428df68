"""Rows folded by the table equal the rule, for every code point and every way in which two can join."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts

from auditkit.kernels.folding import BY_CONTEXT, folded_sizes
from auditkit.text import folding
from auditkit.text.folding import bounds_of, fold, fold_rows, fold_table

POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
LINE_BREAK = 0x0A


def _marks() -> dict[int, str]:
    """Return combining class -> a mark of that class."""
    return {unicodedata.combining(chr(point)): chr(point) for point in POINTS if unicodedata.combining(chr(point))}


def _compositions() -> list[str]:
    """Return each pair of characters that NFC puts together, Hangul's by example."""
    parts = [unicodedata.normalize("NFD", chr(point)) for point in POINTS]
    listed = [unicodedata.normalize("NFC", text[:-1]) + text[-1] for text in parts if len(text) > 1]
    return sorted({pair for pair in listed if len(pair) == 2 and len(unicodedata.normalize("NFC", pair)) == 1})


MARKS = _marks()
COMPOSITIONS = _compositions()
JOINING = sorted({*MARKS.values(), *(char for pair in COMPOSITIONS for char in pair), "\u200d", "\u0345", "\u0344"})


def buffers(values: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    data = np.frombuffer("".join(values).encode(), np.uint8)
    return data, bounds_of(np.array([len(value.encode()) for value in values], np.int64))


def folded(values: Sequence[str]) -> list[str]:
    data, offsets = buffers(values)
    out, bounds = fold_rows(data, offsets, np.arange(len(values)))
    return [str(out[a:b], "utf-8") for a, b in itertools.pairwise(bounds)]


def needs_context(values: Sequence[str]) -> list[bool]:
    data, offsets = buffers(values)
    return (folded_sizes(data, offsets[:-1], offsets[1:], fold_table()) == BY_CONTEXT).tolist()


def differing(values: Sequence[str]) -> list[str]:
    """Return the values that do not fold as the rule says; the rule is asked once, for it looks over no line break."""
    expected = fold("\n".join(values)).split("\n")
    data, offsets = buffers(values)
    if fold_rows(data, offsets, np.arange(len(values)))[0].tobytes() == "".join(expected).encode():
        return []
    return [value for value, a, b in zip(values, expected, folded(values), strict=True) if a != b]


@pytest.mark.parametrize(("before", "after"), [("", ""), ("a", "b")])
def test_every_code_point_folds_as_the_rule_says(before: str, after: str) -> None:
    assert differing([before + chr(point) + after for point in POINTS if point != LINE_BREAK]) == []


def test_a_line_break_is_left_alone() -> None:
    assert folded(["é\né"]) == ["é\né"] == [fold("é\né")]


@pytest.mark.parametrize("part", range(4))
def test_pairs_that_can_join_fold_as_the_rule_says(part: int) -> None:
    behind = JOINING[part::4]
    values = [char + other for char in (*JOINING, "a", "가", "각", "ß", "ﬁ", "é", "İ") for other in behind]
    values += [char + other for char in folding._special()[::5] for other in MARKS.values()][part::4]
    assert differing(values) == []


def test_what_composes_needs_its_neighbours() -> None:
    assert len(COMPOSITIONS) > 900
    assert all(needs_context(COMPOSITIONS))
    assert all(needs_context(["각", "\u1100\u1161", "e\u200d\u0301", "が\u3099", "ﾊ\uff9f"]))


def test_marks_that_change_places_need_their_neighbours() -> None:
    ordered = sorted(MARKS.items())
    pairs = [f"क{mark}{lower}" for (_, lower), (_, mark) in itertools.pairwise(ordered)]
    assert all(needs_context(pairs))


@settings(max_examples=200)
@given(st.lists(st.one_of(texts, st.text(st.sampled_from(JOINING), max_size=6)), max_size=6))
def test_rows_fold_as_the_rule_says(values: list[str]) -> None:
    assert folded(values) == [fold(value) for value in values]


def test_rows_are_picked_and_keep_their_order() -> None:
    data, offsets = buffers(["É", "plain", "e\u0301", "\u200b", "", "ﬁN"])
    out, bounds = fold_rows(data, offsets, np.array([5, 2, 3, 0]))
    assert out.tobytes().decode() == "finéé"
    assert bounds.tolist() == [0, 3, 5, 5, 7]


@pytest.mark.parametrize(
    "text",
    [
        "Привет, КАК дела?", "Straße über Köln", "tiếng Việt", "今日はいい天気です。", "请写一封信",
        "안녕하세요 여러분", "नमस्ते दोस्तों लड़का", "আমি বাংলায় লিখছি", "தமிழ்", "ไม่ได้ น้ำ", "مرحبا عَلم", "שלום לכולם",
        "🙂 thanks 👍🏽", "½ cup ﬁne ﬂow", "ＷＩＤＥ", "ა\u200dბ",
    ],
)  # fmt: skip
def test_common_scripts_are_folded_without_python(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fold(text)
    fold_table()

    def refuse(text: str) -> str:
        raise AssertionError(f"{text!r} was folded by Python")

    monkeypatch.setattr(folding, "fold", refuse)
    assert folded([text]) == [expected]
