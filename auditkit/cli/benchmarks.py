"""`auditkit benchmarks`: what is registered and where it comes from; `pull` writes locked copies for offline use."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from auditkit.cli.main import DONE
from auditkit.read import registry
from auditkit.read.cache import pull
from auditkit.read.registry import Registered
from auditkit.report import safe
from auditkit.report.safe import plain


def run(arguments: argparse.Namespace) -> int:
    """List the registry, one entry of it, or pull."""
    console = safe.console()
    if arguments.action == "pull":
        done = pull(
            arguments.names, arguments.folder, report=lambda name, what: console.print(plain(f"{name}: {what}"))
        )
        console.print(plain(f"{len(done)} benchmarks lie in {arguments.folder}; to use them there, set"))
        console.print(plain(f"AUDITKIT_BENCHMARKS={arguments.folder}"))
    elif arguments.name:
        _one(registry.find(arguments.name), console)
    else:
        _all(console)
    return DONE


def _all(console: Console) -> None:
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("items", justify="right", no_wrap=True)
    for name in ("class", "gated"):
        table.add_column(name, no_wrap=True)
    table.add_column("from", overflow="fold")
    for entry in registry.registered().values():
        cells = (entry.name, _count(entry), entry.klass, "yes" if entry.is_gated else "", _where(entry))
        table.add_row(*(plain(cell) for cell in cells))
    console.print(table)
    console.print()
    console.print(
        plain("? marks a count that was not checked. `auditkit benchmarks --name NAME` says all that is known.")
    )
    console.print(plain("--benchmark NAME=PATH audits a local copy and checks it against this list."))


def _count(entry: Registered) -> str:
    if entry.n_items is None:
        return "?"
    return f"{entry.n_items:,}{'' if entry.is_count_verified else '?'}"


def _where(entry: Registered) -> str:
    """Return the place short: Hub name or repository; --name gives it whole."""
    return entry.repo if entry.source == "hub" else entry.page.removeprefix("https://")


def _one(entry: Registered, console: Console) -> None:
    table = Table(box=None, pad_edge=False, show_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(entry):
        table.add_row(plain(name), plain(value))
    console.print(table)


def _facts(entry: Registered) -> Iterator[tuple[str, str]]:
    yield "name", entry.name
    yield "title", entry.title
    if entry.aliases:
        yield "also", ", ".join(entry.aliases)
    yield "from", entry.location
    yield "page", entry.page
    yield "revision", entry.revision or "not known"
    if entry.sha256:
        yield "sha256", entry.sha256
    yield "licence", entry.licence or "not known"
    yield "gated", "yes" if entry.is_gated else "no"
    yield "items", _count(entry)
    yield "class", entry.klass
    yield "unit", entry.unit
    yield "policy", f"{entry.policy} ({entry.policy_source})" if entry.policy_source else entry.policy
    for column in entry.columns:
        yield column.kind, " or ".join(column.names)
    if entry.label.columns:
        yield "label", " or ".join(entry.label.columns)
    for part in entry.slices:
        yield "slices", part.column
    for column_name, values in entry.where.items():
        yield "only", f"{column_name} = {', '.join(values)}"
    for note in entry.notes:
        yield "note", note
    for fact, how in entry.verified.items():
        yield "verified", f"{fact}: {how}"
    for fact, who in entry.reported.items():
        yield "reported", f"{fact}: {who}"
    if entry.unverified:
        yield "unverified", ", ".join(entry.unverified)
