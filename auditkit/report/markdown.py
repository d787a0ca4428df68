"""report.md: an audit's report as Markdown that no name inside can break out of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from auditkit.records import AuditReport
from auditkit.report import context, grids, phrases, trust
from auditkit.report.grids import Block, Grid, Section
from auditkit.report.safe import shown
from auditkit.report.sentence import paper_sentence

#: Characters that can open markup anywhere in a line. Entities stand for them, since an entity never is structure
#: (CommonMark 0.31, section 2.5), in a table cell neither.
_MARKUP = re.compile(
    r"[&<>|`*\\\[\]~$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?i:(?<=www)\.)|^[#+=\-]|(?<=\d)[.)](?=\s)|!(?=\[)"
)
_N_BAD_ROWS = 100


def escaped(text: str) -> str:
    """Return `text` as Markdown that renders as that very text, in one line, also inside a table cell."""
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", shown(text))


def render(report: AuditReport) -> str:
    """Return the whole report.md."""
    parts = [
        "# Contamination audit",
        table(grids.benchmarks(report)) or "No benchmark was audited.",
        bullets(_facts(report)),
        "## For the paper",
        *[f"> {escaped(paper_sentence(report, result.name))}" for result in report.benchmarks],
        *_section("Error rates", _errors(report)),
        *_section("Power: what would have been found", _power(report)),
        *_section("Leaked through", _parted(table(context.chain_grid(report)), context.chain_notes(report))),
        *_section("Public text", _parted(table(context.public_grid(report)), context.public_lines(report))),
        *_section("Templates of the pool", _templates(report)),
        *_section("Not examined", bullets(map(escaped, phrases.not_examined(report)))),
        *_section("Set aside", _set_aside(report)),
        *_section(
            "Tiers that did not run", bullets(f"{t}: {why}" for t, why in _escaped(phrases.reasons_not_run(report)))
        ),
        *_section("By slice and label", table(grids.parts(report))),
        *_section("Pool by label", table(grids.labels(report))),
        "## Sources of the pool",
        table(grids.sources(report)),
        "## Benchmarks",
        table(grids.identities(report)),
        bullets(f"{escaped(whose)}: {escaped(note)}" for whose, note in phrases.notes(report)),
        *_section("Detectors and what their settings mean", _detectors(report)),
        f"## Rules in force: {escaped(phrases.rules_name(report))}, {escaped(phrases.changed(report))}",
        _pairs("rule", phrases.flat(report.rules)),
        "## Settings",
        _pairs("setting", sorted(phrases.flat(report.settings))),
        "## Versions",
        _pairs("package", [*sorted(phrases.flat(report.versions)), ("normalisation", shown(report.normalisation))]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(title: str, body: str) -> list[str]:
    """Return a title and its body, or nothing where there is no body."""
    return [f"## {title}", body] if body else []


def _facts(report: AuditReport) -> list[str]:
    missing = phrases.not_examined(report)
    return [
        f"pool: {escaped(phrases.pool_name(report))} ({escaped(report.pool_digest)}), "
        f"{phrases.counted(report.n_rows, 'row')}, {phrases.counted(report.n_texts, 'text')}",
        f"pool hit rate: {escaped(phrases.percent(report.pool_hit_rate))}, "
        f"{phrases.count(report.n_rows_contaminated)} of {phrases.counted(report.n_rows, 'row')} condemned; "
        f"{phrases.count(report.n_rows_review)} more for review",
        f"not examined: {', '.join(map(escaped, missing)) or 'nothing'}",
        f"set aside: {phrases.counted(len(report.bad_rows), 'broken row')}",
        escaped(phrases.tiers_not_run(report)),
    ]


def _set_aside(report: AuditReport) -> str:
    lines = [escaped(phrases.set_aside(bad)) for bad in report.bad_rows[:_N_BAD_ROWS]]
    beyond = len(report.bad_rows) - _N_BAD_ROWS
    return bullets([*lines, f"and {phrases.count(beyond)} more in report.json"] if beyond > 0 else lines)


def _errors(report: AuditReport) -> str:
    notes = [trust.NO_DECOYS] if report.errors is None else trust.error_notes(report.errors)
    return _parted(table(trust.errors_grid(report.errors)), notes)


def _power(report: AuditReport) -> str:
    if report.power is None:
        return ""
    notes = bullets(map(escaped, trust.power_notes(report.power)))
    return "\n\n".join([f"{escaped(trust.power_sentence(report))}.", table(trust.power_grid(report.power)), notes])


def _templates(report: AuditReport) -> str:
    if report.templates is None:
        return ""
    notes = context.template_notes(report.templates)
    return _parted(table(context.templates_grid(report)) or "None found.", notes)


def _parted(grid: str, notes: Iterable[str]) -> str:
    """Return a table and the notes below it, escaped here."""
    return "\n\n".join(part for part in (grid, bullets(map(escaped, notes))) if part)


def _detectors(report: AuditReport) -> str:
    lines = []
    for name in phrases.detectors(report):
        facts = "; ".join(f"{key} {value}".strip() for key, value in phrases.detector_facts(report, name))
        lines += [f"{escaped(name)}: {escaped(facts)}"] if facts else []
    curve = table(grids.curve(report))
    return "\n\n".join(part for part in (bullets(lines), curve) if part)


# ---------------------------------------------------------------- Markdown


def _escaped(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(escaped(left), escaped(right)) for left, right in pairs]


def bullets(lines: Iterable[str]) -> str:
    """Return a list of lines, which are escaped already."""
    return "\n".join(f"- {line}" for line in lines)


def section(part: Section) -> list[str]:
    """Return the paragraphs of a titled part: its points, tables and notes."""
    body = [bullets(map(escaped, part.points)), *[_block(block) for block in part.blocks]]
    body += [escaped(note) for note in part.notes]
    return [f"## {escaped(part.title)}", *[text for text in body if text]]


def _block(block: Block) -> str:
    made = table(block.grid)
    return f"### {escaped(block.caption)}\n\n{made}" if block.caption else made


def _pairs(header: str, pairs: Iterable[tuple[str, str]]) -> str:
    return table(Grid((header, "value"), tuple(pairs), 2))


def table(grid: Grid) -> str:
    """Return a pipe table, or nothing where it has no rows. Cells are escaped here."""
    if not grid.rows:
        return ""
    rule = "|".join(" --- " if place < grid.n_text else " ---: " for place in range(len(grid.headers)))
    return "\n".join([_row(grid.headers), f"|{rule}|", *map(_row, grid.rows)])


def _row(cells: Sequence[str]) -> str:
    return f"|{'|'.join(f' {escaped(cell)} ' for cell in cells)}|"
