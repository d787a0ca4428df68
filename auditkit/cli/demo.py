"""`auditkit demo`: an invented pool with planted copies, audited, cleaned, and audited again; or a study of it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from auditkit.cli.audit import audit_with_progress
from auditkit.cli.decontaminate import render, with_progress
from auditkit.cli.main import DONE
from auditkit.cli.study import study_with_report
from auditkit.demo import LABELS, DemoPaths, write_demo, write_demo_study
from auditkit.records import ReadSettings
from auditkit.report import safe, terminal
from auditkit.report.safe import plain
from auditkit.stories.settings import AuditSettings
from auditkit.stories.study_file import example


def run(arguments: argparse.Namespace) -> int:
    """Write, audit with all tiers, decontaminate, audit again; print the commands, the tables and the paths.

    With `--study` the invented pool goes into a policy study instead, from audit to report.
    """
    folder, console = Path(arguments.out), safe.console()
    made = write_demo(folder, arguments.seed)
    if arguments.study:
        return _study(made, console)
    console.print(
        plain(f"An invented pool and benchmarks with planted copies; what was planted stands in {made.truth}.")
    )
    settings = AuditSettings(("all",), read=ReadSettings(labels=LABELS))
    benchmarks = [str(path) for path in made.benchmarks]

    _step(console, ["audit", folder / "pool", *_options(benchmarks), "--out", folder / "audit"])
    report = audit_with_progress((str(folder / "pool"),), benchmarks, settings, folder / "audit", True)
    terminal.render(report, console)

    clean = _free(folder / "clean")
    _step(console, ["decontaminate", folder / "audit", "--out", clean])
    render(with_progress(report, str(clean), "remove", "contaminated"))

    _step(console, ["audit", clean, *_options(benchmarks), "--out", folder / "audit-of-clean"])
    again = audit_with_progress((str(clean),), benchmarks, settings, folder / "audit-of-clean", True)
    terminal.render(again, console)
    console.print()
    for name in ("audit", "audit-of-clean"):
        console.print(plain(f"Report: {folder / name / 'report.html'}"))
    return DONE


def _study(made: DemoPaths, console: Console) -> int:
    """Write the study file of the demo, run it as a person would, and print its answer."""
    file, out = write_demo_study(made, example()), made.folder / "study"
    console.print(plain(f"An invented pool under two policies; its ten arms stand in {file}."))
    _step(console, ["study", file, "--out", out])
    return study_with_report(file, out, overwrite=True)


def _step(console: Console, words: Sequence[str | Path]) -> None:
    """Print the command that a person would type for what comes next."""
    console.print()
    console.print(plain(f"$ auditkit {shlex.join(str(word) for word in words)}", "bold"), soft_wrap=True)
    console.print()


def _options(benchmarks: Sequence[str]) -> list[str]:
    labels = [word for rule in LABELS for word in ("--label", f"{rule.policy}={rule.column}")]
    return [word for path in benchmarks for word in ("--benchmark", path)] + ["--tiers", "all", *labels]


def _free(folder: Path) -> Path:
    """Return `folder`, or the first of folder-2, folder-3, ... that is not there: nothing is overwritten."""
    n = 2
    free = folder
    while free.exists():
        free = folder.with_name(f"{folder.name}-{n}")
        n += 1
    return free
