"""`auditkit audit`: settings from arguments, the audit, its tables, and the gate."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from auditkit.cli.main import DONE, TRIPPED
from auditkit.kernels.compile import is_warm
from auditkit.read import open_benchmarks, parse_labels
from auditkit.records import AuditReport, ReadSettings
from auditkit.report import gate, safe, terminal
from auditkit.report.progress import Progress
from auditkit.stories.audit import audit
from auditkit.stories.settings import AuditSettings, RunSettings


def run(arguments: argparse.Namespace) -> int:
    """Audit, print the report, and return 0, or 1 where the gate trips."""
    settings = _settings(arguments)
    # A slip in the gate's arguments ends here, before a long audit; a baseline in --out is read before it is replaced.
    wanted = gate.prepare(
        fail_over=arguments.fail_over,
        fail_on=arguments.fail_on,
        baseline=arguments.baseline,
        waivers=arguments.waivers,
    )
    if any(name is not None for name in wanted.shares):
        gate.check_names([benchmark.name for benchmark in open_benchmarks(arguments.benchmark)], wanted)
    how = RunSettings(workers=arguments.workers, reuse=tuple(arguments.reuse))
    report = audit_with_progress(
        tuple(arguments.pool), arguments.benchmark, settings, arguments.out, arguments.overwrite, how
    )
    console = safe.console()
    terminal.render(report, console)
    result = gate.decide(report, wanted, date.today())
    if wanted.shares:
        terminal.render_gate(result, console)
    return TRIPPED if result.tripped else DONE


def audit_with_progress(
    pool: tuple[str, ...],
    benchmarks: list[str],
    settings: AuditSettings,
    out: Path | str,
    overwrite: bool,
    run: RunSettings | None = None,
) -> AuditReport:
    """Return the audit, with a progress bar on stderr where it is a terminal."""
    if not is_warm():
        sys.stderr.write("auditkit: compiling its kernels, once on this machine (up to half a minute)\n")
    with Progress(label="audit") as progress:
        return audit(
            pool,
            benchmarks,
            settings,
            out=out,
            overwrite=overwrite,
            run=run,
            on_start=progress.set_total,
            on_progress=lambda n, size: progress.update(n, size),
        )


def _settings(arguments: argparse.Namespace) -> AuditSettings:
    read = ReadSettings(
        fields=names_of(arguments.fields),
        roles=names_of(arguments.roles),
        labels=parse_labels(arguments.label),
        id_column=arguments.id_column,
        bad_rows=arguments.bad_rows,
    )
    return AuditSettings(
        tiers=names_of([arguments.tiers]),
        encoders=tuple(arguments.encoder or ("minilm",)),
        rules=arguments.rules,
        read=read,
    )


def names_of(values: list[str] | None) -> tuple[str, ...]:
    """Return the names of repeated, comma-separated values."""
    return tuple(name.strip() for value in values or () for name in value.split(",") if name.strip())
