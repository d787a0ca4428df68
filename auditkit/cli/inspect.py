"""`auditkit inspect`: a pool looked at by itself."""

from __future__ import annotations

import argparse

from auditkit.cli.main import DONE
from auditkit.cli.whole_pool import settings_of
from auditkit.report import safe
from auditkit.report.inspection_terminal import render
from auditkit.report.progress import Progress
from auditkit.stories.inspect import inspect_pool
from auditkit.stories.inspect_settings import InspectSettings


def run(arguments: argparse.Namespace) -> int:
    """Inspect, and print the counts and where the files are."""
    settings = InspectSettings(
        near=settings_of(arguments),
        source_column=arguments.source_column,
        families=not arguments.no_families,
        long_tokens=arguments.long_tokens,
        tokenizer=arguments.tokenizer,
        max_tokens=arguments.max_tokens,
    )
    with Progress(label="inspect") as progress:
        found = inspect_pool(
            tuple(arguments.pool),
            arguments.out,
            settings=settings,
            benchmarks=arguments.benchmark,
            on_rows=lambda n: progress.update(n),
        )
    render(found, safe.console())
    return DONE
