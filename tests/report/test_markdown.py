from __future__ import annotations

import html
import re

import pytest

from auditkit.records import AuditReport
from auditkit.report import markdown, safe


def rendered(cell: str) -> str:
    """Return what CommonMark makes of text whose only markup is entities."""
    return html.unescape(cell)


def test_the_report_has_its_table_and_sentence(full_report: AuditReport) -> None:
    text = markdown.render(full_report)
    assert "| or-bench-hard | 1,319 | 1,082 | 82.0 % | 900 | 120 | 62 | 1,170 | 0 | 82.0 % | 0 |\n" in text
    assert "> 88 of 100 jailbreakbench-harmful items (88.0 %; " in text
    assert "- paraphrase: the extra 'embed' is not installed; it would take about 40 s on this machine\n" in text
    assert "| near.min_ratio | 0.84 |\n" in text
    assert "| 0.80 | 0.998 |\n" in text  # 1 - (1 - .8 ** 6) ** 21
    assert "| or-bench-hard | slice privacy | 700 | 600 | 0 |\n" in text
    assert "| harm | label 1 | 9,000 | 100 |\n" in text


def test_hostile_text_renders_as_itself(hostile: str) -> None:
    cell = markdown.escaped(hostile)
    assert rendered(cell) == safe.shown(hostile)
    assert not re.search(r"[<>|`*\[\]\\~\n]", cell)
    assert not re.search(r"&(?!#\d+;)", cell)
    assert "://" not in cell


def test_hostile_names_break_no_table(hostile_report: AuditReport) -> None:
    text = markdown.render(hostile_report)
    assert safe.UNSAFE.sub("", text.replace("\n", "")) == text.replace("\n", "")
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) >= 7
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert not re.search(r"<(?!U\+)|`|!\[|\]\(", text)


def test_a_commonmark_parser_sees_only_our_own_markup(hostile_report: AuditReport, hostile: str) -> None:
    parser = (
        pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    )
    page = parser.render(markdown.render(hostile_report))
    tags = set(re.findall(r"</?([a-z0-9]+)", page))
    assert tags <= {"h1", "h2", "p", "ul", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"}
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert safe.shown(hostile).rstrip() in cells


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("my_pool_1", "my_pool_1"),
        ("_x_", "&#95;x&#95;"),
        ("- x", "&#45; x"),
        ("# x", "&#35; x"),
        ("1. x", "1&#46; x"),
        ("a.b (82.0 %)", "a.b (82.0 %)"),
        ("www.x", "www&#46;x"),
        ("a&b", "a&#38;b"),
    ],
)
def test_only_what_is_markup_is_escaped(text: str, escaped: str) -> None:
    assert markdown.escaped(text) == escaped


def test_an_empty_report(make_report: object) -> None:
    text = markdown.render(make_report(benchmarks=(), sources=(), rules={}, settings={}, pool_hit_rate=None))  # type: ignore[operator]
    assert "No benchmark was audited." in text
    assert "pool hit rate: undefined" in text
