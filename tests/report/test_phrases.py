from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from auditkit.records import AuditReport
from auditkit.report import html, markdown, phrases, terminal


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1082 / 1319, "82.0 %"),
        (0.0, "0.0 %"),
        (1.0, "100.0 %"),
        (1 / 80359, "< 0.1 %"),
        (80358 / 80359, "> 99.9 %"),
        (0.0005, "0.1 %"),
        (None, "undefined"),
    ],
)
def test_percent(share: float | None, text: str) -> None:
    assert phrases.percent(share) == text


def test_lists_say_what_they_leave_out() -> None:
    assert phrases.listed(["a", "b", "c"], "report.json", limit=2) == "a; b; and 1 more in report.json"
    assert phrases.listed(["a", "b"], "report.json", limit=2) == "a; b"
    assert phrases.joined(["a", "b", "c"]) == "a, b and c"
    assert phrases.joined(["a"]) == "a"
    assert phrases.joined([]) == ""


def test_nested_values_are_flattened_by_name() -> None:
    nested = {"near": {"min": 0.84, "on": True}, "rule": [{"a": None}, {"a": ["x", 1]}], "none": {}}
    assert list(phrases.flat(nested)) == [
        ("near.min", "0.84"),
        ("near.on", "true"),
        ("rule[0].a", "null"),
        ("rule[1].a", "[x, 1]"),
        ("none", "{}"),
    ]


def test_digests_are_short() -> None:
    assert phrases.digest("sha256:1234abcdef99") == "sha256 1234abcd"
    assert phrases.digest("") == "no digest"
    assert phrases.digest("v1") == "v1"


def test_equal_notes_stand_once(
    make_report: Callable[..., AuditReport], make_benchmark: Callable, printed: Callable[..., str]
) -> None:
    report = make_report(benchmarks=(
        make_benchmark("a", notes=("columns read by their names", "12 items have no text", "12 items have no text")),
        make_benchmark("b", notes=("count unverified", "columns read by their names")),
        make_benchmark("c\x1b", notes=("columns read by their names", "count unverified")),
    ))  # fmt: skip
    expected = [
        ("all benchmarks", "columns read by their names"),
        ("a", "12 items have no text"),
        ("b and c<U+001B>", "count unverified"),
    ]
    assert phrases.notes(report) == expected
    text = printed(partial(terminal.render, report))
    assert [line for line in text.splitlines() if line.startswith("Note")] == [
        f"Note           {whose}: {note}" for whose, note in expected
    ]
    for view in (markdown.render(report), html.render(report)):
        assert view.count("columns read by their names") == view.count("all benchmarks: columns read by") == 1
        assert view.count("count unverified") == 1
    assert "- b and c&#60;U+001B&#62;: count unverified\n" in markdown.render(report)
    assert "<li>b and c&lt;U+001B&gt;: count unverified</li>" in html.render(report)


def test_a_lone_benchmark_is_named(make_report: Callable[..., AuditReport], make_benchmark: Callable) -> None:
    assert phrases.notes(make_report(benchmarks=(make_benchmark("a", notes=("n",)),))) == [("a", "n")]
    assert phrases.notes(make_report(benchmarks=())) == []
