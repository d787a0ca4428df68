"""`auditkit decontaminate`: an audit's folder -> the clean pool, and what became of every row."""

from __future__ import annotations

import argparse

from auditkit.cli.main import DONE
from auditkit.records import AuditReport
from auditkit.report import phrases, safe
from auditkit.report.progress import Progress
from auditkit.report.safe import plain
from auditkit.split import SplitResult
from auditkit.stories.decontaminate import decontaminate


def run(arguments: argparse.Namespace) -> int:
    """Write the clean pool and print what was kept and removed."""
    render(with_progress(arguments.audit, arguments.out, arguments.action, arguments.verdict))
    return DONE


def with_progress(report: AuditReport | str, out: str, action: str, verdict: str) -> SplitResult:
    """Return the split, with a progress bar on stderr where it is a terminal."""
    with Progress(label="decontaminate") as progress:
        return decontaminate(
            report, out, action=action, verdict=verdict, on_rows=lambda n: progress.update(n)  # type: ignore[arg-type]
        )  # fmt: skip


def render(result: SplitResult) -> None:
    """Print counts of rows and items, and where the files are."""
    console = safe.console()
    console.print(plain(f"{phrases.counted(result.n_rows, 'row')} = {_counts(result)}"))
    for source in result.sources:
        kept = f"{source.n_kept:,} of {source.n_rows:,} rows"
        console.print(plain(f"  {result.folder}/{source.output}  {kept}"))
    for benchmark in result.benchmarks:
        kept = f"{benchmark.n_clean:,} of {benchmark.n_items:,} items did not leak"
        console.print(plain(f"  {result.folder}/{benchmark.output}  {kept}"))
    console.print(plain(f"  {result.folder}/removed.parquet  why each row is gone or masked"))
    console.print(plain(f"  {result.folder}/manifest.json  digests and counts"))


def _counts(result: SplitResult) -> str:
    parts = [f"{result.n_kept:,} kept", f"{result.n_removed:,} removed"]
    if result.n_masked:
        parts[0] += f" ({result.n_masked:,} of them masked)"
    if result.n_set_aside:
        parts.append(f"{result.n_set_aside:,} broken and set aside")
    return " + ".join(parts)
