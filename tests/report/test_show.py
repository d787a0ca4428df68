"""Pairs: the span and the differing tokens marked in plain text, numbers named, nothing cut in silence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from rich.cells import cell_len

from auditkit.errors import UsageError
from auditkit.records import AuditReport
from auditkit.report import differences, safe, show

Printed = Callable[..., str]
MakeMatch = Callable[..., dict[str, Any]]

ROW = "Please answer: Road 1506 leads to the old mill. Thanks!"
ITEM = "Road 1507 leads to the mill."
NEAR = {"tier": "near", "rule": "near.ratio", "threshold": 0.84, "ratio": 0.951, "ratio_kind": "token_sort_ratio"}
SPANS = {"row_start": 15, "row_end": 47, "item_start": 0, "item_end": 28, "numbers_differ": True}


@pytest.fixture
def pair(make_match: MakeMatch) -> show.Pair:
    return show.Pair(make_match("xstest", 1204, item_id="v2-9", row=3005, turn=1, **NEAR, **SPANS), ROW, ITEM)


def test_a_pair_stacked(pair: show.Pair, printed: Printed) -> None:
    assert printed(partial(show.render_pair, pair), 71) == (
        "xstest item 1,204 (v2-9): near, contaminated by rule near.ratio at 0.84\n"
        "  ratio 0.951, token_sort_ratio, view canonical\n"
        "numbers differ: row 1506 | item 1507\n"
        "tokens differ: row old | item none\n"
        "pool train row 3,005, text, turn 1, characters 15 to 47\n"
        "Please answer: ⟦Road ‹1506› leads to the ‹old› mill.⟧ Thanks!\n"
        "xstest item 1,204, text, characters 0 to 28\n"
        "⟦Road ‹1507› leads to the mill.⟧\n"
    )


def test_a_pair_side_by_side(pair: show.Pair, printed: Printed) -> None:
    lines = printed(partial(show.render_pair, pair), 80).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert lines[4].split("  ")[0] == "pool train row 3,005, text, turn 1,"
    assert "⟦Road ‹1507› leads to the mill.⟧" in lines[-2] + lines[-1]
    assert "Please answer: ⟦Road ‹1506› leads to" in lines[-2]


def test_only_differing_characters_of_scripts_without_spaces() -> None:
    found = differences.between("我喜欢红苹果", (0, 6), "我喜欢绿苹果", (0, 6))
    assert (found.row, found.item) == (((3, 4),), ((3, 4),))


def test_case_width_punctuation_and_zero_width_are_no_difference() -> None:
    left, right = "Ｒｏａｄ 15\u200b06, YES", "road “1506” yes"
    assert differences.between(left, (0, len(left)), right, (0, len(right))) == differences.Differences()


def test_combining_marks_stay_with_their_words() -> None:
    found = differences.between("আমি বাংলায় গান গাই", (0, 18), "আমি বাংলায় গান শুনি", (0, 19))
    assert len(found.row) == len(found.item) == 1


def test_long_lists_of_tokens_are_counted() -> None:
    left, right = " ".join(f"a{i}" for i in range(20)), " ".join("xyz" for _ in range(3))
    found = differences.between(left, (0, len(left)), right, (0, len(right)))
    assert found.notes[0].startswith("numbers differ: row a0 a1 a2 a3 a4 a5 a6 a7 and 12 more | item none")


def test_very_long_spans_say_that_nothing_is_marked() -> None:
    text = "x " * 3000
    assert differences.between(text, (0, len(text)), "x", (0, 1)).notes == (
        "differing tokens are not marked: the span has 3,000 of them",
    )


def test_long_texts_are_windowed_and_say_so(make_match: MakeMatch, printed: Printed) -> None:
    row = "a" * 4421 + "SPAN" + "b" * 1000
    match = make_match(row_start=4421, row_end=4425, item_start=0, item_end=4)
    text = printed(partial(show.render_pair, show.Pair(match, row, "SPAN"), context=100), 60)
    assert "[… 4,321 characters before]\n" in text
    assert "[… 900 characters after]\n" in text
    assert text.count("a" * 40) == 2  # 100 characters on lines of 60
    assert "⟦SPAN⟧" in text


def test_long_spans_show_head_and_tail(make_match: MakeMatch, printed: Printed) -> None:
    row = "h" * 3000 + "t" * 3001
    match = make_match(row_start=0, row_end=6001, item_start=0, item_end=6001)
    text = printed(partial(show.render_pair, show.Pair(match, row, row)), 60)
    assert text.count("[… 4,001 characters of the span]\n") == 2


def test_a_match_without_a_span(make_match: MakeMatch, printed: Printed) -> None:
    match = make_match(tier="paraphrase", verdict="review", cosine=0.9123, encoder="minilm", threshold=None)
    text = printed(partial(show.render_pair, show.Pair(match, "x" * 5000, "other words")), 60)
    assert "b item 0: paraphrase, review by rule exact\n" in text
    assert "cosine 0.912, minilm" in text
    assert "no shared span" in text
    assert f"[… {5000 - show.SPAN - show.CONTEXT:,} characters after]" in text


def test_spans_outside_the_text_are_not_trusted(make_match: MakeMatch, printed: Printed) -> None:
    match = make_match(row_start=5, row_end=99, item_start=0, item_end=2)
    assert "no shared span" in printed(partial(show.render_pair, show.Pair(match, "short", "xy")))


def test_flagged_numbers_and_label_conflicts_are_named(make_match: MakeMatch, printed: Printed) -> None:
    match = make_match(row_start=0, row_end=3, item_start=0, item_end=3, numbers_differ=True, label_conflict=True)
    text = printed(partial(show.render_pair, show.Pair(match, "one", "one")))
    assert "\nnumbers differ\n" in text
    assert "LABEL CONFLICT" in text


@pytest.mark.parametrize("width", [40, 80])
def test_hostile_texts_are_shown(hostile: str, width: int, make_match: MakeMatch, printed: Printed) -> None:
    spans = {"row_start": 2, "row_end": 9, "item_start": 0, "item_end": 5}
    match = make_match(hostile, pool=hostile, field=hostile, part=hostile, row_id=hostile, item_id=hostile, **spans)
    text = printed(partial(show.render_pair, show.Pair(match, hostile, hostile)), width)
    assert safe.UNSAFE.sub("", text.replace("\n", "")) == text.replace("\n", "")


def test_newlines_of_a_text_are_kept(make_match: MakeMatch, printed: Printed) -> None:
    match = make_match(row_start=0, row_end=3, item_start=0, item_end=3)
    assert "⟦one⟧\ntwo\n" in printed(partial(show.render_pair, show.Pair(match, "one\r\ntwo", "one")), 60)


def test_pairs_and_how_many_more(pair: show.Pair, printed: Printed) -> None:
    text = printed(partial(show.render_pairs, [pair, pair], n_beyond=1234))
    assert text.count("xstest item 1,204 (v2-9)") == 2
    assert text.endswith("1,234 more matches not shown; raise --limit, or name --benchmark and --item\n")
    assert printed(partial(show.render_pairs, [])) == "No match to show.\n"


# ---------------------------------------------------------------- selection


@pytest.fixture
def audited(make_gate_report: Callable[..., AuditReport]) -> AuditReport:
    return make_gate_report({0: [1, 2], 3: [5]}, {4: [6]})


def rows(selected: tuple[Any, int]) -> tuple[list[tuple[int, int]], int]:
    frame, n_beyond = selected
    return list(frame.select("item", "row").iter_rows()), n_beyond


def test_select(audited: AuditReport) -> None:
    assert rows(show.select(audited)) == ([(0, 1), (0, 2), (3, 5), (4, 6)], 0)
    assert rows(show.select(audited, "b", "0")) == ([(0, 1), (0, 2)], 0)
    assert rows(show.select(audited, limit=1)) == ([(0, 1)], 3)
    assert rows(show.select(audited, verdict="review")) == ([(4, 6)], 0)
    assert rows(show.select(audited, "b", "7")) == ([], 0)


def test_an_id_goes_before_a_number(
    make_report: Callable[..., AuditReport], make_match: MakeMatch, frames: tuple
) -> None:
    matches, items, item = frames
    report = make_report(
        matches=matches(make_match("b", 0, item_id="1"), make_match("b", 1, item_id="0x")),
        items=items(item("b", 0, item_id="1"), item("b", 1, item_id="0x")),
    )
    assert rows(show.select(report, item="1"))[0] == [(0, 0)]
    assert rows(show.select(report, item="0x"))[0] == [(1, 0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"benchmark": "bb"}, r"did you mean 'b'\?"),
        ({"item": "99"}, "no such item id or number"),
        ({"item": "nine"}, "no such item id or number"),
        ({"limit": 0}, "--limit 0"),
    ],
)
def test_wrong_selections(arguments: dict[str, Any], message: str, audited: AuditReport) -> None:
    with pytest.raises(UsageError, match=message):
        show.select(audited, **arguments)
