"""`auditkit show`: matches side by side, for a person to judge."""

from __future__ import annotations

import argparse
from pathlib import Path

from auditkit.cli.main import DONE
from auditkit.report import safe
from auditkit.report.as_json import load
from auditkit.report.show import render_pairs, render_wrappers, select
from auditkit.report.terminal import render_power
from auditkit.stories.show import pairs, wrappers


def run(arguments: argparse.Namespace) -> int:
    """Print the selected pairs."""
    report, console = load(Path(arguments.audit)), safe.console()
    if arguments.templates:
        found = report.templates.found if report.templates else ()
        some = found[: max(arguments.limit, 1)]
        render_wrappers(wrappers(report, some), console, n_beyond=len(found) - len(some))
        return DONE
    matches, n_beyond = select(report, arguments.benchmark, arguments.item, arguments.verdict, arguments.limit)
    render_pairs(pairs(report, matches), console, n_beyond=n_beyond)
    render_power(report, console)
    return DONE
