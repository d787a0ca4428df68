"""A study's answer, ranges and arms for a terminal or a pipe, 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from auditkit.report import study_sections
from auditkit.report import study_words as words
from auditkit.report.phrases import count
from auditkit.report.safe import plain, shown
from auditkit.report.study_words import number
from auditkit.report.terminal import line, paragraph
from auditkit.study_records.results import StudyResult

_N_ARMS = 20
_GAP = 2
_MIN_NAME = 10


def render(result: StudyResult, console: Console) -> None:
    """Print the headline sentences, the ranges at native 0.5, the arms in short, and what the report lacks.

    Names that came with the data are shown, never interpreted; a number is never cut.
    """
    for sentence in study_sections.headline(result):
        paragraph(console, shown(sentence), indent=2, label="-")
    _ranges(result, console)
    _arms(result, console)
    for label, text in _facts(result):
        line(console, label, text)


def _facts(result: StudyResult) -> list[tuple[str, str]]:
    facts = [
        ("Capability", f"A-final less B-final arms {words.estimate(result.capability_gap)}"),
        ("Agreement", f"A-final less B-final arms {words.estimate(result.agreement_gap)}"),
    ]
    facts += [("Nested", result.nested)] if result.nested else []
    lacking = study_sections.missing(result)
    return [*facts, ("Disclosures", f"missing: {'; '.join(lacking)}" if lacking else "all present")]


def _ranges(result: StudyResult, console: Console) -> None:
    headers = ("benchmark", "n", "range", "critical", "p", "policy\nshare", "measures")
    rows = [
        (
            r.benchmark,
            count(r.n_items),
            *map(number, (r.value, r.critical)),
            words.probability(r.p),
            number(r.policy_share),
            r.measures,
        )
        for r in result.ranges
        if r.point == "native"
    ]
    titled_table(console, "Ranges across arms, at native 0.5", headers, rows)


def _arms(result: StudyResult, console: Console) -> None:
    a, b = "AB"
    headers = (
        "arm",
        "ends on",
        "AUROC\non C",
        f"agree\n{a}",
        f"over-\nref. {a}",
        f"over-\nref. {b}",
        f"miss\n{a}",
        f"miss\n{b}",
    )
    table = words.measured(result)
    native = ("agreement_a", "over_refusal_a", "over_refusal_b", "miss_a", "miss_b")
    arms = [arm for arm in words.arms(result) if not arm.control]
    rows = [
        (
            arm.name,
            arm.final_policy or words.UNDEFINED,
            number(words.pick(table, arm.name, "auroc_concordant").value),
            *[number(words.pick(table, arm.name, metric, "native").value) for metric in native],
        )
        for arm in arms
    ]
    names = [policy.name for policy in result.settings.policies]
    titled_table(console, f"Arms: test split, native 0.5; A is {names[0]}, B is {names[1]}", headers, rows[:_N_ARMS])
    if len(rows) > _N_ARMS:
        console.print(plain(f"and {count(len(rows) - _N_ARMS)} more arms in study.md"))


def titled_table(console: Console, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first column takes the room that the others leave, and is folded into it."""
    if not rows:
        return
    console.print()
    line(console, title, "")
    cells = [[shown(cell) for cell in row] for row in rows]
    widths = [_width(column) for column in zip(headers, *cells, strict=True)]
    room = max(_MIN_NAME, console.width - sum(widths[1:]) - _GAP * (len(widths) - 1))
    table = Table(box=None, pad_edge=False, padding=(0, 0))
    table.add_column(Text(headers[0]), width=min(room, widths[0]), overflow="fold", vertical="bottom")
    for header, width in zip(headers[1:], widths[1:], strict=True):
        table.add_column(Text(header, justify="right"), width=width + _GAP, justify="right", vertical="bottom")
    for row in cells:
        name = "\n".join(textwrap.wrap(row[0], min(room, widths[0]))) or "(no name)"
        table.add_row(Text(name), *map(Text, row[1:]))
    console.print(table)


def _width(column: Sequence[str]) -> int:
    return max(cell_len(part) for cell in column for part in cell.split("\n"))
