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
    from auditkit.stories.study import study, study_again

    console = safe.console()
    if arguments.report_only:
        result = study_again(arguments.out, arguments.study)
    else:
        result = study(arguments.study, arguments.out, overwrite=arguments.overwrite, note=_note)
    study_terminal.render(result, console)
    console.print()
    console.print(safe.plain(f"Report: {Path(arguments.out) / 'study.html'}"))
    return DONE


def _note(text: str) -> None:
    sys.stderr.write(f"auditkit: {safe.shown(text)}\n")
