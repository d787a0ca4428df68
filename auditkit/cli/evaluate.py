"""`auditkit evaluate`: what the predictions of any guard say, without training anything."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from auditkit.cli.main import DONE
from auditkit.errors import UsageError
from auditkit.evaluate.guards import Evaluation, evaluate_predictions
from auditkit.report import safe
from auditkit.report.as_json import json_bytes, plain
from auditkit.report.files import publish
from auditkit.report.phrases import count
from auditkit.report.study_words import number
from auditkit.study_records.results import Estimate

FORMAT = "auditkit evaluation"
#: Measured guard: its name, seed and set.
Guard = tuple[str, int, str]


def run(arguments: argparse.Namespace) -> int:
    """Evaluate, print the tables, and write the JSON."""
    policies = tuple(arguments.policy)
    if len(policies) not in (0, 2):
        given = ", ".join(policies)
        raise UsageError(f"--policy {given}: expected it twice, with the columns of A and of B, or not at all")
    if arguments.out and Path(arguments.out).is_dir():
        raise UsageError(f"--out {arguments.out} is a folder, expected the name of a JSON file")
    found = evaluate_predictions(
        list(arguments.predictions), arguments.labels, policies=policies, columns=_columns(arguments.column),
        guard=arguments.guard, set_name=arguments.set, fpr=_share("--fpr", arguments.fpr),
        cost_ratio=arguments.cost_ratio, dev=arguments.dev, scorer=arguments.scorer, value_is=arguments.value_is,
    )  # fmt: skip
    console = safe.console()
    render(found, policies, console)
    if arguments.out:
        out = Path(arguments.out)
        publish(out.parent, {out.name: dumps(found, policies)}, out.name)
        console.print(safe.plain(f"{out}  every number, at every operating point, with n and interval"))
    return DONE


def dumps(found: Evaluation, policies: Sequence[str]) -> bytes:
    """Return all numbers as JSON; an undefined one is null, with its n."""
    body = {
        "format": FORMAT,
        "policies": list(policies),
        "metrics": found.metrics.to_dicts(),
        "thresholds": [plain(one) for one in found.thresholds],
        "cells": {name: plain(cells) for name, cells in found.cells.items()},
        "nested": dict(found.nested),
        "notes": list(found.notes),
    }
    return json_bytes(plain(body))


def render(found: Evaluation, policies: Sequence[str], console: Console) -> None:
    """Print a table for each guard, seed and set: failures, rates by label column, AUROC, policy and capability apart.

    Failed predictions are left out, and beside that counted as flagged. Names that came with the data are shown, never
    interpreted.
    """
    values = _values(found)
    for guard in dict.fromkeys((arm, seed, name) for arm, seed, name, *_ in values):
        _table(guard, _rows(values, guard, policies or ("A", "B")), console)
        if note := found.nested.get(guard[2]):
            _line(console, f"{guard[2]}: {note}")
            console.print()
    for note in found.notes:
        _line(console, f"Note: {note}")


# ---------------------------------------------------------------- arguments


def _columns(given: Sequence[str]) -> dict[str, str]:
    columns = {}
    for one in given:
        meaning, separator, column = one.partition("=")
        if not separator or not meaning or not column:
            raise UsageError(f"--column {one!r}, expected MEANING=COLUMN, for example score=p_unsafe")
        columns[meaning] = column
    return columns


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise UsageError(f"{name} is {value}, expected a number from 0 to 1")
    return value


# ---------------------------------------------------------------- rows

Key = tuple[str, int, str, str, str, str]


def _values(found: Evaluation) -> dict[Key, Estimate]:
    """Return (guard, seed, set, part, metric, point) -> value, its interval and n."""
    return {
        (r["arm"], r["seed"], r["set"], r["part"], r["metric"], r["point"]): Estimate(
            r["value"], r["low"], r["high"], r["n"]
        )
        for r in found.metrics.iter_rows(named=True)
    }


def _point(values: dict[Key, Estimate], guard: Guard) -> str:
    """Return native 0.5, or the guard's own decisions where it gives no scores."""
    is_scored = any(
        values.get((*guard, "all", metric, ""), Estimate(None)).n
        for metric in ("auroc_expected", "auroc_concordant", "brier_a", "brier_b")
    )
    has_decision = (*guard, "all", "flag_rate", "decision") in values
    return "decision" if has_decision and not is_scored else "native"


def _rows(values: dict[Key, Estimate], guard: Guard, policies: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what was measured of a guard: its name, value, interval, n, and value with failures as flagged."""
    rows: list[tuple[str, ...]] = []
    for metric, title in _measures(policies):
        at = _point(values, guard) if metric in _AT_A_POINT else ""
        one = values.get((*guard, "all", metric, at))
        if one is not None:
            closed = values.get((*guard, "fail_closed", metric, at))
            interval = "" if one.low is None else f"[{number(one.low)}, {number(one.high)}]"
            rows.append((title, number(one.value), interval, count(one.n), number(closed.value) if closed else ""))
    return rows


def _measures(policies: Sequence[str]) -> list[tuple[str, str]]:
    a, b = policies
    return [
        ("failures", "failed predictions"),
        ("flag_rate", "flag rate"),
        ("auroc_expected", "AUROC, benchmark's labels"),
        ("over_refusal_expected", "over-refusal, benchmark's labels"),
        ("miss_expected", "miss, benchmark's labels"),
        ("over_refusal_a", f"over-refusal, {a}"),
        ("miss_a", f"miss, {a}"),
        ("over_refusal_b", f"over-refusal, {b}"),
        ("miss_b", f"miss, {b}"),
        ("auroc_concordant", "capability: AUROC on C"),
        ("agreement_a", f"agreement with {a} on D"),
        ("agreement_auroc", f"AUROC on D, target {a}"),
        ("direction", "direction"),
        ("strictness", "strictness"),
    ]


_AT_A_POINT = {name for name, _ in _measures("AB")} - {
    "failures", "auroc_expected", "auroc_concordant", "agreement_auroc",
}  # fmt: skip


# ---------------------------------------------------------------- drawing


def _table(guard: Guard, rows: Sequence[tuple[str, ...]], console: Console) -> None:
    name, seed, of = guard
    console.print(safe.plain(f"{name}{f', seed {seed}' if seed else ''}, on {of}", "bold"))
    # Where nothing failed, counting failures as flagged changes nothing.
    n_columns = 5 if any(row[4] for row in rows) else 4
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, header in enumerate(("measure", "value", "95 % interval", "n", "failures flagged")[:n_columns]):
        table.add_column(Text(header), justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe.shown(cell)) for cell in row[:n_columns]))
    console.print(table)
    console.print()


def _line(console: Console, text: str) -> None:
    console.print(safe.plain(text), soft_wrap=not console.is_terminal)
