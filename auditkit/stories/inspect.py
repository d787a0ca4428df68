"""A pool looked at by itself: near-duplicates, conflicting labels, damaged rows, scripts and languages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import read
from auditkit.report import inspection_markdown
from auditkit.report.as_json import parquet
from auditkit.report.inspection import CONFLICT_FILE, FAMILY_FILE, INSPECTION, ROW_FILE, VIEW, Inspection, dumps
from auditkit.split.guard import check_output_folder, whole_folder
from auditkit.stories.inspect_conflicts import audit_of, completed, with_items
from auditkit.stories.inspect_families import Kin, find_kin
from auditkit.stories.inspect_result import result_of
from auditkit.stories.inspect_rows import write_rows
from auditkit.stories.inspect_settings import InspectSettings, limits_of
from auditkit.stories.pool_rows import inputs_on_disk


def inspect_pool(
    pool: Any,
    out: str | Path,
    *,
    settings: InspectSettings | None = None,
    benchmarks: Any = None,
    on_rows: Callable[[int], None] | None = None,
) -> Inspection:
    """Inspect a pool and write what was found to a folder (docs/pool.md), which appears whole or not at all.

    Looked at are a row's prompts (see read/prompts.py). The pool is read twice: once whole, for its families, and once
    shard by shard, for all that a row tells by itself; without families only the latter, in memory that does not grow
    with the pool. Equal input and settings give equal bytes, whatever the size of the shards.

    Args:
        pool: whatever `auditkit.open_pool` takes.
        out: a new or empty folder.
        settings: what to do.
        benchmarks: whatever `auditkit.open_benchmarks` takes: labels of their items are compared with the rows'.
        on_rows: called with the number of rows of each shard that was written.

    Raises:
        UsageError: no labels to compare with the benchmarks', a tokenizer that cannot be loaded.
        MissingExtraError: the tokenizer needs the extra `embed`.
        InputError: the pool or a benchmark cannot be read.
        StaleAuditError: the pool changed while it was read.
        OutputError: `out` is in use, is an input, or cannot be written.
    """
    settings, out = settings or InspectSettings(), Path(out)
    opened = read.open_pool(pool, settings.near.read)
    check_output_folder(out, inputs_on_disk(opened, pool))
    limits, policies = limits_of(settings), [rule.policy for rule in settings.near.read.labels]
    settings.check_benchmarks(benchmarks)
    with whole_folder(out) as spare:
        kin = find_kin(opened, settings) if settings.families else None
        seen = write_rows(opened, settings, limits, kin, spare / ROW_FILE, on_rows)
        audited = None if benchmarks is None else audit_of(pool, benchmarks, settings)
        found = [] if audited is None else [with_items(audited, policies)]
        pairs = completed([*_pairs_of(kin), *found], spare / ROW_FILE)
        result = result_of(out, opened, settings, limits, seen, kin, audited, pairs)
        _write(result, kin, spare)
    return result


def _pairs_of(kin: Kin | None) -> list[pl.DataFrame]:
    return [] if kin is None or kin.conflicts is None else [kin.conflicts]


def _write(result: Inspection, kin: Kin | None, folder: Path) -> None:
    (folder / CONFLICT_FILE).write_bytes(parquet(result.pairs))
    if kin is not None:
        (folder / FAMILY_FILE).write_bytes(parquet(kin.families))
    (folder / VIEW).write_text(inspection_markdown.render(result), "utf-8")
    (folder / INSPECTION).write_bytes(dumps(result))
