"""`auditkit study`: a study file -> arms and a report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from auditkit.cli.main import DONE
from auditkit.errors import UsageError
from auditkit.report import safe, study_terminal
from auditkit.stories.study_file import example


def run(arguments: argparse.Namespace) -> int:
    """Run the study, or print the example file."""
    if arguments.example:
        sys.stdout.write(example())
        return DONE
    if arguments.study is None or arguments.out is None:
        raise UsageError("`auditkit study` needs a study file and --out DIR; `auditkit study --example` prints one")
    return study_with_report(arguments.study, arguments.out, arguments.overwrite, arguments.report_only)


def study_with_report(file: str | Path, out: str | Path, overwrite: bool = False, is_report_only: bool = False) -> int:
    """Run a study, or only compute its report again; print its answer, its tables and where the report is."""
    from auditkit.stories.study import study
    from auditkit.stories.study_again import study_again

    console = safe.console()
    result = study_again(out, file) if is_report_only else study(file, out, overwrite=overwrite, note=_note)
    study_terminal.render(result, console)
    console.print()
    console.print(safe.plain(f"Report: {Path(out) / 'study.html'}"))
    return DONE


def _note(text: str) -> None:
    sys.stderr.write(f"auditkit: {safe.shown(text)}\n")
