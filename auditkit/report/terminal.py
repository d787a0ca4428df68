"""The audit's table and what belongs below it, for a terminal or a pipe. Colour repeats what the words say."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from auditkit.records import AuditReport, BenchmarkResult
from auditkit.report import context, phrases, trust
from auditkit.report.gate import GateResult
from auditkit.report.safe import plain, shown
from auditkit.report.sentence import paper_sentence

_LABEL_WIDTH = 15
_MIN_NAME_WIDTH = 10
_N_SENTENCES = 5
_N_SOURCES = 12
_CURVE_POINTS = 6
#: A sha256 is told from others by its first digits; report.json has it whole.
_DIGEST_DIGITS = 12
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


def render(report: AuditReport, console: Console) -> None:
    """Print the report: a table of benchmarks, then pool, what was not examined, rules, the sentence for a paper.

    The last lines name the tiers that did not run, why, and what they would cost. Where the console is a terminal,
    paragraphs are wrapped; in a pipe each is one line. Names that came with the data are shown, never interpreted.
    """
    _benchmarks(report, console)
    console.print()
    for label, text in _facts(report):
        line(console, label, text)
    if len(report.sources) > 1:
        _sources(report, console)
    _sentences(report, console)
    for tier, why in phrases.reasons_not_run(report):
        line(console, "Not run", f"{tier}: {why}", style="yellow")


def render_gate(result: GateResult, console: Console) -> None:
    """Print whether the gate tripped, each reason, and every waiver that counted, expired or matched nothing."""
    verdict = "tripped" if result.tripped else "passed"
    line(console, "Gate", "; ".join([verdict, *result.reasons]), style="bold red" if result.tripped else "bold")
    for label, lines in (
        ("Waived", result.waived),
        ("Waiver expired", result.expired),
        ("Waiver unused", result.unused),
        ("Note", result.notes),
    ):
        for text in lines:
            line(console, label, text)


def render_power(report: AuditReport, console: Console) -> None:
    """Print what share of planted copies would have been found, where that was measured."""
    if text := trust.power_sentence(report):
        line(console, "Power", text)


def _facts(report: AuditReport) -> list[tuple[str, str]]:
    pool = f"{phrases.pool_name(report)} ({phrases.digest(report.pool_digest)})"
    size = f"{phrases.counted(report.n_rows, 'row')}, {phrases.counted(report.n_texts, 'text')}"
    hit = (
        f"{phrases.percent(report.pool_hit_rate)}: {phrases.count(report.n_rows_contaminated)} of "
        f"{phrases.counted(report.n_rows, 'row')} condemned; {phrases.count(report.n_rows_review)} more for review"
    )
    facts = [("Pool", f"{pool}, {size}"), ("Pool hit rate", hit)]
    if n_reused := report.run.get("n_shards_reused"):
        facts.append(("Shards", f"{phrases.count(n_reused)} of {report.run['n_shards']:,} known from an earlier run"))
    facts += [("  by " + policy, text) for policy, text in phrases.label_lines(report)]
    examined = phrases.listed(phrases.not_examined(report), "report.json", limit=8, sep=", ")
    facts.append(("Not examined", examined or "nothing: all text that was found"))
    if report.bad_rows:
        listed = phrases.listed([phrases.set_aside(bad) for bad in report.bad_rows], "report.json")
        facts.append(("Set aside", f"{phrases.counted(len(report.bad_rows), 'broken row')}: {listed}"))
    facts.append(("Rules", f"{phrases.rules_name(report)}, {phrases.changed(report)}"))
    facts += [("Errors", text) for text in trust.error_lines(report)]
    facts += [("Power", text) for text in (trust.power_sentence(report),) if text]
    facts += [("Leaked through", text) for text in context.chain_lines(report)]
    facts += [("Public text", text) for text in context.public_lines(report)]
    facts += [("Templates", text) for text in context.template_lines(report)]
    facts += [("Detector", f"{shown(name)}: {text}") for name, text in _detectors(report)]
    facts += [("Note", f"{whose}: {note}") for whose, note in phrases.notes(report)]
    return facts


def _detectors(report: AuditReport) -> list[tuple[str, str]]:
    lines = []
    for name in phrases.detectors(report):
        parts = [f"{key} {_DIGEST.sub(_cut, text)}".strip() for key, text in phrases.detector_facts(report, name)]
        points = phrases.curve(report) if name == "minhash" else []
        if points:
            step = max(1, len(points) // _CURVE_POINTS)
            sample = ", ".join(f"{x:.2f} {phrases.percent(y)}" for x, y in points[step - 1 :: step])
            parts.append(f"proposes a pair of that Jaccard with that probability: {sample}")
        if parts:
            lines.append((name, "; ".join(parts)))
    return lines


def _cut(digest: re.Match[str]) -> str:
    return digest.group()[:_DIGEST_DIGITS]


def _sentences(report: AuditReport, console: Console) -> None:
    if not report.benchmarks:
        return
    console.print()
    console.print(plain("For the paper", "bold"))
    for result in report.benchmarks[:_N_SENTENCES]:
        paragraph(console, paper_sentence(report, result.name), indent=2)
        console.print()
    beyond = len(report.benchmarks) - _N_SENTENCES
    if beyond > 0:
        paragraph(console, f"(sentences on {phrases.counted(beyond, 'more benchmark')} are in report.md)", indent=2)
        console.print()


# ---------------------------------------------------------------- tables


def _benchmarks(report: AuditReport, console: Console) -> None:
    if not report.benchmarks:
        console.print(plain("No benchmark was audited."))
        return
    tiers = phrases.tiers_shown(report)
    rows = [_cells(result, tiers) for result in report.benchmarks]
    for is_wide in (True, False):
        headers = _headers(tiers, is_wide=is_wide)
        gap = 2 if is_wide else 1
        columns = zip(headers, *rows, strict=True)
        widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
        names = [shown(result.name) for result in report.benchmarks]
        room = console.width - sum(widths) - gap * len(widths)
        longest = max(map(cell_len, names))
        if longest <= room or (not is_wide and room >= _MIN_NAME_WIDTH):
            table = _table(headers, widths, min(longest, room), gap)
            for result, cells in zip(report.benchmarks, rows, strict=True):
                _add(table, result, cells, min(longest, room))
            console.print(table)
            return
    for result in report.benchmarks:
        _stacked(result, tiers, console)


def _headers(tiers: Sequence[str], *, is_wide: bool) -> list[str]:
    """Return the number columns' headers, broken into short lines where the table is narrow."""
    breaks = {"contained": "con-\ntained", "paraphrase": "para-\nphrase", "unmatchable": "un-\nmatch-\nable"}
    headers = ["items", "found", "leak rate", *tiers, "rows hit", "review", "unmatchable"]
    return headers if is_wide else [breaks.get(header, header.replace(" ", "\n")) for header in headers]


def _cells(result: BenchmarkResult, tiers: Sequence[str]) -> list[str]:
    counts = [result.found_by_tier.get(tier, 0) for tier in tiers]
    after = [result.n_rows, result.n_review, result.n_unmatchable]
    numbers = [phrases.count(n) for n in (result.n_items, result.n_found, *counts, *after)]
    return [*numbers[:2], phrases.percent(result.leak_rate), *numbers[2:]]


def _table(headers: Sequence[str], widths: Sequence[int], name_width: int, gap: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 0))
    table.add_column(Text("benchmark"[:name_width]), width=name_width, vertical="bottom", overflow="fold")
    for header, width in zip(headers, widths, strict=True):
        table.add_column(Text(header, justify="right"), width=width + gap, justify="right", vertical="bottom")
    return table


def _add(table: Table, result: BenchmarkResult, cells: Sequence[str], name_width: int) -> None:
    name = "\n".join(textwrap.wrap(shown(result.name), max(1, name_width))) or "(no name)"
    style = "bold red" if result.n_found else ""
    table.add_row(Text(name), *[Text(cell, style=style if place == 2 else "") for place, cell in enumerate(cells)])


def _stacked(result: BenchmarkResult, tiers: Sequence[str], console: Console) -> None:
    """Print one benchmark as lines, for windows too narrow for a table: a number is never cut."""
    console.print(plain(result.name, "bold"))
    for header, cell in zip(_headers(tiers, is_wide=True), _cells(result, tiers), strict=True):
        console.print(Text(f"  {header}: {cell}"))


def _sources(report: AuditReport, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, header in enumerate(("source", "rows", "condemned", "review")):
        table.add_column(Text(header), justify="right" if place else "left", overflow="fold", no_wrap=bool(place))
    for source in report.sources[:_N_SOURCES]:
        counts = (source.n_rows, source.n_rows_contaminated, source.n_rows_review)
        table.add_row(plain(source.name), *[Text(phrases.count(n)) for n in counts])
    console.print()
    console.print(table)
    beyond = len(report.sources) - _N_SOURCES
    if beyond > 0:
        console.print(plain(f"and {phrases.counted(beyond, 'more source')} in report.json"))


# ---------------------------------------------------------------- lines


def line(console: Console, label: str, text: str, style: str = "bold") -> None:
    """Print a label and its text, the text hanging beside the label."""
    paragraph(console, shown(text), indent=_LABEL_WIDTH, label=shown(label), style=style)


def paragraph(console: Console, text: str, indent: int, label: str = "", style: str = "") -> None:
    """Print text with a hanging label, wrapped on a terminal and whole in a pipe; both are `shown` already."""
    head = label + " " * max(1 if label else indent, indent - cell_len(label))
    if not console.is_terminal:  # one line in a pipe, so that grep and a script find it whole
        console.print(Text.assemble((head, style), text), soft_wrap=True)
        return
    for part in Text(text).wrap(console, max(20, console.width - indent)):
        part.rstrip()
        console.print(Text.assemble((head, style), part))
        head = " " * indent
