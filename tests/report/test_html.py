from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

from auditkit.records import AuditReport
from auditkit.report import html, safe
from auditkit.report.sentence import paper_sentence

VOID = {"meta", "br", "line", "polyline"}


class Page(HTMLParser):
    """The elements, attributes and text of a page; every element must be closed in its order."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.texts.append(data)


def test_the_page_says_what_the_report_says(full_report: AuditReport) -> None:
    page = Page(html.render(full_report))
    text = "\n".join(page.texts)
    for part in (
        "82.0 %",
        "1,082",
        "1,200 image",
        "en/train.jsonl, line 17: not JSON",
        "near.min_ratio = 0.84",
        "polars 2.1.0",
    ):
        assert part in text
    for result in full_report.benchmarks:
        assert paper_sentence(full_report, result.name) in page.texts
    assert "svg" in page.tags


def test_bars_have_the_widths_of_the_tiers(full_report: AuditReport) -> None:
    page = html.render(full_report)
    assert '<i class="exact" style="width:70.000%"></i><i class="contained" style="width:8.000%"></i>' in page
    assert '<i class="near" style="width:10.000%"></i><i class="review" style="width:3.000%"></i>' in page
    assert 'aria-label="70 exact, 8 contained, 10 near, 3 review of 100 items"' in page


def test_the_page_fetches_and_runs_nothing(full_report: AuditReport, hostile_report: AuditReport) -> None:
    allowed = Page(html.render(full_report))
    for report in (full_report, hostile_report):
        page = Page(html.render(report))
        assert page.tags <= allowed.tags
        assert not page.tags & {"script", "img", "link", "iframe", "a", "object", "embed", "form"}
        assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href", "srcset")]
        assert {name for name, _ in page.attributes} <= {name for name, _ in allowed.attributes}
    assert "url(" not in html.render(full_report)
    assert "@import" not in html.render(full_report)


def test_hostile_names_stay_text(hostile_report: AuditReport, hostile: str) -> None:
    source = html.render(hostile_report)
    page = Page(source)
    assert any(safe.shown(hostile) in text for text in page.texts)
    bare = source.replace("\n", "")
    assert safe.UNSAFE.sub("", bare) == bare
    source.encode("utf-8")


def test_light_dark_and_phone(full_report: AuditReport) -> None:
    source = html.render(full_report)
    assert "prefers-color-scheme: dark" in source
    assert 'name="viewport" content="width=device-width' in source
    assert re.search(r"Content-Security-Policy\" content=\"default-src 'none'", source)


def test_an_empty_report_and_an_odd_curve(make_report: Callable[..., AuditReport], make_benchmark: Callable) -> None:
    assert "No benchmark was audited." in html.render(make_report(benchmarks=(), sources=(), pool_hit_rate=None))
    odd = {"minhash": {"curve": [[0.1], "x", [0.5, float("nan")]]}}
    page = html.render(make_report(benchmarks=(make_benchmark(n_items=0, n_found=0, leak_rate=None),), detectors=odd))
    assert "<svg" not in page
    assert "undefined" in page
