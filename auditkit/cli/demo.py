"""`auditkit demo`: an invented pool with planted copies, audited, cleaned, and audited again."""

from __future__ import annotations

import argparse
from pathlib import Path

from auditkit.cli.audit import audit_with_progress
from auditkit.cli.decontaminate import render, with_progress
from auditkit.cli.main import DONE
from auditkit.demo import LABELS, write_demo
from auditkit.records import ReadSettings
from auditkit.report import safe, terminal
from auditkit.report.safe import plain
from auditkit.stories.settings import AuditSettings


def run(arguments: argparse.Namespace) -> int:
    """Write, audit with all tiers, decontaminate, audit again; print the tables and the paths."""
    folder, console = Path(arguments.out), safe.console()
    made = write_demo(folder, arguments.seed)
    console.print(plain(f"An invented pool and benchmarks with planted copies (truth in {made.truth}):"))
    console.print(
        plain(f"  auditkit audit {folder / 'pool'} {_options(made.benchmarks)} --tiers all --out {folder / 'audit'}\n")
    )
    settings = AuditSettings(("all",), read=ReadSettings(labels=LABELS))
    benchmarks = [str(path) for path in made.benchmarks]
    report = audit_with_progress((str(folder / "pool"),), benchmarks, settings, folder / "audit", True)
    terminal.render(report, console)
    clean = _free(folder / "clean")
    console.print(plain(f"\n  auditkit decontaminate {folder / 'audit'} --out {clean}\n"))
    render(with_progress(report, str(clean), "remove", "contaminated"))
    console.print(plain(f"\n  auditkit audit {clean} ... --out {folder / 'audit-of-clean'}\n"))
    again = audit_with_progress((str(clean),), benchmarks, settings, folder / "audit-of-clean", True)
    terminal.render(again, console)
    console.print(plain(f"\nReports: {folder / 'audit' / 'report.html'}, {folder / 'audit-of-clean' / 'report.html'}"))
    return DONE


def _options(paths: tuple[Path, ...]) -> str:
    return " ".join(f"--benchmark {path}" for path in paths)


def _free(folder: Path) -> Path:
    """Return `folder`, or the first of folder-2, folder-3, ... that is not there: nothing is overwritten."""
    n = 2
    free = folder
    while free.exists():
        free = folder.with_name(f"{folder.name}-{n}")
        n += 1
    return free
