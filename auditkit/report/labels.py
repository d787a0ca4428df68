"""Two policies on one pool: the record of it, as plain values and for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from auditkit.report.phrases import count, counted, percent
from auditkit.report.safe import plain

LABELS_FILE, CONFLICTS_FILE = "labels.json", "conflicts.parquet"
_CELLS = ("C1", "C0", "D10", "D01", "unknown")
#: Rows of a table on the terminal; labels.json has all.
_N_SHOWN = 20


@dataclass(frozen=True)
class Agreement:
    """Two policies on some rows.

    Attributes:
        cells: rows by cell: C1, C0, D10 (only A flags), D01 (only B flags), unknown.
        n: rows that both policies label.
        agreement: share of those on which they agree; None where n is 0.
        kappa: Cohen's kappa; None where n is 0, or both policies give all rows one and the same label.
    """

    cells: Mapping[str, int]
    n: int
    agreement: float | None
    kappa: float | None


@dataclass(frozen=True)
class LabelReport:
    """What `label_report` found.

    Attributes:
        policies: (A, B).
        total: over the pool; `by_source`, `by_length`: by value of the source column, and by tokens of the prompt.
        n_conflicting: policy -> families with both labels under that policy; `n_conflicting_rows` the rows of those.
        n_families: families; `n_with_others` those of several rows.
        warnings: nested policies, unmapped values.
        not_examined: reason -> count.
        conflicts: policy, family, pool, row, label: every row of a family with both labels. Positions, no text.
    """

    policies: tuple[str, str]
    n_rows: int
    total: Agreement
    by_source: Mapping[str, Agreement]
    by_length: Mapping[str, Agreement]
    n_families: int
    n_with_others: int
    n_conflicting: Mapping[str, int]
    n_conflicting_rows: Mapping[str, int]
    warnings: tuple[str, ...]
    not_examined: Mapping[str, int]
    conflicts: pl.DataFrame = field(repr=False, compare=False)


def as_plain(report: LabelReport) -> dict[str, Any]:
    """Return the report as plain values, in a fixed order; no text of the pool."""
    names = ("policies", "n_rows", "n_families", "n_with_others", "n_conflicting", "n_conflicting_rows", "warnings")
    plain: dict[str, Any] = {"kind": "auditkit label report"} | {name: getattr(report, name) for name in names}
    plain["total"] = asdict(report.total)
    for name in ("by_source", "by_length"):
        plain[name] = {key: asdict(value) for key, value in getattr(report, name).items()}
    return plain | {"not_examined": report.not_examined, "conflicts": CONFLICTS_FILE}


def render(report: LabelReport, console: Console) -> None:
    """Print what the cells mean, a table of the pool, its sources and lengths, then families and warnings.

    Names that came with the data are shown, never interpreted.
    """
    a, b = report.policies
    _line(console, f"A is {a}, B is {b}. C1: both flag, C0: neither, D10: only {a}, D01: only {b}.")
    console.print()
    for title, rows in (
        ("", {"all": report.total}),
        ("source", report.by_source),
        ("tokens", report.by_length),
    ):
        if title != "source" or len(rows) > 1:
            _table(title or "rows", rows, console)
    _line(console, _families(report))
    for warning in report.warnings:
        _line(console, f"Warning: {warning}", "yellow")


def _line(console: Console, text: str, style: str = "") -> None:
    """Print one paragraph: wrapped on a terminal, one line in a pipe."""
    console.print(plain(text, style), soft_wrap=not console.is_terminal)


def _table(title: str, rows: Mapping[str, Agreement], console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(plain(title), overflow="fold")
    for name in (*_CELLS, "agreement", "kappa"):
        table.add_column(Text(name), justify="right", no_wrap=True)
    shown = sorted(rows.items(), key=lambda item: -sum(item[1].cells.values())) if title == "source" else rows.items()
    for name, found in list(shown)[:_N_SHOWN]:
        kappa = "undefined" if found.kappa is None else f"{found.kappa:.3f}"
        cells = [count(found.cells[cell]) for cell in _CELLS] + [percent(found.agreement), kappa]
        table.add_row(plain(name), *[Text(cell) for cell in cells])
    console.print(table)
    if len(rows) > _N_SHOWN:
        console.print(plain(f"and {count(len(rows) - _N_SHOWN)} more in {LABELS_FILE} (--out DIR)"))
    console.print()


def _families(report: LabelReport) -> str:
    parts = [
        f"{counted(report.n_conflicting[policy], 'family', 'families')} "
        f"({counted(report.n_conflicting_rows[policy], 'row')}) under {policy}"
        for policy in report.policies
    ]
    return (
        f"Near-duplicate families: {count(report.n_families)}, {count(report.n_with_others)} of them of several rows; "
        f"with both labels: {' and '.join(parts)}."
    )
