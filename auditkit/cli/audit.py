"""`auditkit audit`: settings from arguments, the audit, its tables, and the gate."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from auditkit.cli.main import DONE, TRIPPED
from auditkit.errors import UsageError
from auditkit.kernels.compile import is_warm
from auditkit.read import open_benchmarks, parse_labels
from auditkit.records import AuditReport, ReadSettings
from auditkit.report import gate, safe, terminal
from auditkit.report.progress import Progress
from auditkit.stories.audit import audit
from auditkit.stories.settings import AuditSettings, RunSettings
from auditkit.stories.shards import audit_shard
from auditkit.stories.upstream import parse_upstream


def run(arguments: argparse.Namespace) -> int:
    """Audit, print the report, and return 0, or 1 where the gate trips."""
    settings = _settings(arguments)
    how = RunSettings(arguments.workers, arguments.engine, arguments.address, tuple(arguments.reuse))
    if arguments.shard is not None:
        return _run_shard(arguments, settings, how)
    # A slip in the gate's arguments ends here, before a long audit; a baseline in --out is read before it is replaced.
    wanted = wanted_gate(arguments)
    if any(name is not None for name in wanted.shares):
        gate.check_names([benchmark.name for benchmark in open_benchmarks(arguments.benchmark)], wanted)
    report = audit_with_progress(
        tuple(arguments.pool), arguments.benchmark, settings, arguments.out, arguments.overwrite, how
    )
    return judged(report, wanted)


def wanted_gate(arguments: argparse.Namespace) -> gate.GateSettings:
    """Return the gate that the arguments ask for."""
    return gate.prepare(
        fail_over=arguments.fail_over,
        fail_on=arguments.fail_on,
        baseline=arguments.baseline,
        waivers=arguments.waivers,
    )


def judged(report: AuditReport, wanted: gate.GateSettings) -> int:
    """Print a report and what the gate says, and return the exit status."""
    console = safe.console()
    terminal.render(report, console)
    result = gate.decide(report, wanted, date.today())
    if wanted.shares:
        terminal.render_gate(result, console)
    return TRIPPED if result.tripped else DONE


def _run_shard(arguments: argparse.Namespace, settings: AuditSettings, how: RunSettings) -> int:
    """Scan one share of the pool, and say what comes next."""
    if arguments.fail_over or arguments.baseline or arguments.waivers:
        raise UsageError("a shard has no report to judge; give the gate's options to auditkit merge")
    shard = _shard(arguments.shard)
    _say_if_cold()
    with Progress(label=f"audit, shard {arguments.shard}") as progress:
        done = audit_shard(
            tuple(arguments.pool), arguments.benchmark, settings, shard=shard, out=arguments.out,
            overwrite=arguments.overwrite, run=how, on_start=progress.set_total, on_progress=progress.update,
        )  # fmt: skip
    n_shards, known = done.run["n_shards"], done.run["n_shards_reused"]
    sys.stdout.write(
        f"shard {done.number} of {done.of}: {done.n_rows:,} rows in {done.n_pieces:,} pieces of the pool"
        f"{f', {known:,} of {n_shards:,} scans known from an earlier run' if known else ''}; "
        f"when all {done.of} are done: auditkit merge {arguments.out} --out DIR\n"
    )
    return DONE


def _shard(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal()):
        raise UsageError(f"--shard is '{text}', expected I/N with I from 1 to N, for example 2/8")
    return int(number), int(of)


def _say_if_cold() -> None:
    if not is_warm():
        sys.stderr.write("auditkit: compiling its kernels, once on this machine (up to half a minute)\n")


def audit_with_progress(
    pool: tuple[str, ...],
    benchmarks: list[str],
    settings: AuditSettings,
    out: Path | str,
    overwrite: bool,
    run: RunSettings | None = None,
) -> AuditReport:
    """Return the audit, with a progress bar on stderr where it is a terminal."""
    _say_if_cold()
    with Progress(label="audit") as progress:
        return audit(
            pool,
            benchmarks,
            settings,
            out=out,
            overwrite=overwrite,
            run=run,
            on_start=progress.set_total,
            on_progress=progress.update,
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
        cross_encoder=arguments.cross_encoder,
        exhaustive=arguments.exhaustive,
        views=names_of([arguments.views]),
        rules=arguments.rules,
        read=read,
        decoys=arguments.decoys,
        fdr=arguments.fdr,
        upstream=parse_upstream(arguments.upstream),
        public=tuple(arguments.public),
    )


def names_of(values: list[str] | None) -> tuple[str, ...]:
    """Return the names of repeated, comma-separated values."""
    return tuple(name.strip() for value in values or () for name in value.split(",") if name.strip())
