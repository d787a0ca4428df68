"""`auditkit labels`: how two policies label one pool."""

from __future__ import annotations

import argparse
from pathlib import Path

from auditkit.cli.main import DONE
from auditkit.cli.whole_pool import settings_of
from auditkit.report import safe
from auditkit.report.labels import CONFLICTS_FILE, LABELS_FILE, render
from auditkit.report.safe import plain
from auditkit.stories.labels import label_report


def run(arguments: argparse.Namespace) -> int:
    """Compare, print the tables, and name the files."""
    report = label_report(
        tuple(arguments.pool),
        settings=settings_of(arguments),
        source_column=arguments.source_column,
        out=arguments.out,
    )
    console = safe.console()
    render(report, console)
    if arguments.out:
        out = Path(arguments.out)
        console.print(plain(f"{out / LABELS_FILE}  every count; {out / CONFLICTS_FILE}  rows of families with both"))
    return DONE
