"""`auditkit split`: a pool as train, dev and test, near-duplicates on one side."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from rich.console import Console

from auditkit.cli.main import DONE
from auditkit.cli.whole_pool import settings_of
from auditkit.report import safe
from auditkit.report.phrases import counted
from auditkit.report.progress import Progress
from auditkit.report.safe import plain
from auditkit.stories.split import PoolSplit, split_pool

SIDES = ("train", "dev", "test")


def run(arguments: argparse.Namespace) -> int:
    """Split, and print the counts, the proof and the files."""
    with Progress(label="split") as progress:
        result = split_pool(
            tuple(arguments.pool),
            arguments.out,
            shares={side: getattr(arguments, side) for side in SIDES},
            seed=arguments.seed,
            source_column=arguments.source_column,
            group_column=arguments.group_column,
            settings=settings_of(arguments),
            on_rows=lambda n: progress.update(n),
        )
    render(result, safe.console())
    return DONE


def render(result: PoolSplit, console: Console) -> None:
    """Print rows by side and cell, families, what the proof found, notes, and where the files are."""
    _line(console, f"{sum(result.counts.values()):,} rows = {_counts(result.counts)}")
    for cell, counts in result.by_cell.items():
        _line(console, f"  {cell}: {_counts(counts)}")
    largest = f"the largest of {counted(result.largest, 'row')}"
    _line(
        console, f"{result.n_families:,} near-duplicate families, {result.n_with_others:,} of several rows, {largest}"
    )
    compared = ", ".join(f"{n:,} against {side}" for side, n in result.proof.n_compared.items())
    _line(console, f"near pairs on two sides: {result.proof.n_crossing} (texts of the other sides: {compared})")
    for note in result.notes:
        _line(console, f"Note: {note}")
    for file in result.files:
        _line(console, f"  {result.folder / file.output}  {counted(file.n_rows, 'row')}")
    _line(console, f"  {result.folder / 'split.parquet'}  where each row stands; manifest.json  counts and the proof")


def _counts(counts: Mapping[str, int]) -> str:
    return " + ".join(f"{n:,} {side}" for side, n in counts.items())


def _line(console: Console, text: str) -> None:
    console.print(plain(text), soft_wrap=True)
