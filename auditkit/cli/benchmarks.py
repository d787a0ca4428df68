"""`auditkit benchmarks`: what is registered and where it comes from; `pull` writes locked copies for offline use."""

from __future__ import annotations

import argparse
from dataclasses import fields

from rich.console import Console
from rich.table import Table

from auditkit.cli.main import DONE
from auditkit.read import registry
from auditkit.read.cache import pull
from auditkit.report import safe
from auditkit.report.safe import plain


def run(arguments: argparse.Namespace) -> int:
    """List the registry, one entry of it, or pull."""
    console = safe.console()
    if arguments.action == "pull":
        done = pull(
            arguments.names, arguments.folder, report=lambda name, what: console.print(plain(f"{name}: {what}"))
        )
        console.print(
            plain(f"{len(done)} benchmarks in {arguments.folder}; use them with AUDITKIT_BENCHMARKS={arguments.folder}")
        )
    elif arguments.name:
        _one(registry.find(arguments.name), console)
    else:
        _all(console)
    return DONE


def _all(console: Console) -> None:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for name, side in (("name", "left"), ("items", "right"), ("class", "left"), ("gated", "left"), ("from", "left")):
        table.add_column(name, justify=side, overflow="fold")  # type: ignore[arg-type]
    for entry in registry.registered().values():
        count = (
            "?" if entry.n_items is None else f"{entry.n_items:,}{'' if entry.is_count_verified else ' (unverified)'}"
        )
        cells = (entry.name, count, entry.klass, "yes" if entry.is_gated else "", entry.location)
        table.add_row(*(plain(cell) for cell in cells))
    console.print(table)
    console.print(
        plain("\nauditkit benchmarks --name NAME says more; NAME=PATH audits a local copy, checked against this list.")
    )


def _one(entry: registry.Registered, console: Console) -> None:
    for field in fields(entry):
        value = getattr(entry, field.name)
        if value not in ("", (), None, {}):
            console.print(plain(f"{field.name:12} {value}"))
