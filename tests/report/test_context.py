"""Chains, public text and templates in every view of a report, with names that try to break out."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from auditkit.findings import Chain, Link, PoolTemplate, PoolTemplates
from auditkit.records import AuditReport, BenchmarkResult
from auditkit.report import as_json, context, html, markdown, safe, terminal
from auditkit.report.sentence import paper_sentence

SHA = "sha256:" + "1234abcd" * 8


def template(pool: str = "train", **changes: object) -> PoolTemplate:
    values: dict[str, object] = {
        "kind": "around", "n_first": 9, "n_last": 4, "n_texts": 30, "n_rows": 40, "share": 0.02, "pool": pool,
        "row": 1204, "field": "text", "turn": None,
    }  # fmt: skip
    return PoolTemplate(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def report_of(
    make_report: Callable[..., AuditReport], make_benchmark: Callable[..., BenchmarkResult]
) -> Callable[[str], AuditReport]:
    """Return a report with a chain, public text and templates, for the name of an upstream pool."""

    def make(name: str) -> AuditReport:
        whole, b = 1319, "or-bench-hard"
        links = (
            Link(name, SHA, 1000, 12, {b: 10}, {b: 10 / whole}, {b: 3}),
            Link("pool", SHA, 17000, 1170, {b: 1082}, {b: 1082 / whole}, {b: 1075}),
        )
        public = {"quotation": {"n_items": 19, "n_found": 2, "n_review": 1}}
        return make_report(
            benchmarks=(make_benchmark(n_public=19, by_public=public, leak_rate_without_public=1080 / 1300),),
            chain=Chain(links, {b: 1085}, {b: 1085 / whole}),
            templates=PoolTemplates(
                8, 4000, 10, 150, 24, (template(name), template(kind="whole", n_last=0, field="messages", turn=2))
            ),
        )

    return make


@pytest.fixture
def told(report_of: Callable[[str], AuditReport]) -> AuditReport:
    return report_of("teacher")


def printed(audit: AuditReport) -> str:
    stream = io.StringIO()
    terminal.render(audit, safe.console(stream, width=200))
    return stream.getvalue()


def test_the_terminal_says_it_in_lines(told: AuditReport) -> None:
    text = printed(told)
    assert "Leaked through teacher, 1,000 rows: or-bench-hard 10 (0.8 %; 3 through it alone)" in text
    assert "Leaked through whole chain: or-bench-hard 1,085 (82.3 %)" in text
    assert (
        "or-bench-hard: 19 of 1,319 items are public text (quotations: 19), which any pool of the web may hold" in text
    )
    assert "leak rate 82.0 % with them, 83.1 % without" in text
    assert (
        "2 found: beginning and end of a text (9 + 4 tokens) in 40 rows, 2.0 %, such as teacher row 1,204, text" in text
    )


def test_tables_say_it_in_numbers(told: AuditReport) -> None:
    text = markdown.render(told)
    assert "| teacher | or-bench-hard | 1,319 | 10 | 0.8 % | 3 |" in text
    assert "| or-bench-hard | quotations | 19 | 2 | 1 |" in text
    assert "| a text beside others | train row 1,204, messages, turn 2 | 9 | 0 | 30 | 40 | 2.0 % |" in text
    assert "looked at one text in 8 (4,000 texts); a template is common to 10 different texts of these" in text
    assert "<h2>Templates of the pool</h2>" in html.render(told)


def test_a_report_without_them_has_no_section(report: AuditReport) -> None:
    for text in (printed(report), markdown.render(report), html.render(report)):
        assert not any(word in text for word in ("Leaked through", "Public text", "Templates"))


def test_a_pool_without_templates_says_so(make_report: Callable[..., AuditReport]) -> None:
    none = make_report(templates=PoolTemplates(1, 17000, 10, 10, 24, ()))
    assert "none found" in printed(none)
    assert "None found." in markdown.render(none)
    assert "looked at all (17,000 texts)" in html.render(none)


def test_no_name_breaks_out(hostile: str, report_of: Callable[[str], AuditReport]) -> None:
    named = report_of(hostile)
    text = html.render(named)
    assert "<script" not in text
    assert "<img" not in text
    assert "\x1b" not in printed(named)
    rows = [line for line in markdown.render(named).splitlines() if "1,000 rows" in line or "| 10 | 0.8 %" in line]
    assert len(rows) == 2


def test_files_give_it_back(told: AuditReport, tmp_path: Path) -> None:
    as_json.write(told, tmp_path)
    loaded = as_json.load(tmp_path)
    assert (loaded.chain, loaded.templates, loaded.benchmarks) == (told.chain, told.templates, told.benchmarks)


def test_the_sentence_for_a_paper_has_both_rates(told: AuditReport) -> None:
    assert context.public_clause(told.benchmarks[0]) in paper_sentence(told, "or-bench-hard")
