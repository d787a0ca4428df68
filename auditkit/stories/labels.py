"""How two policies label one pool, before anything is trained on it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import read
from auditkit.errors import LabelError, UsageError
from auditkit.report.files import publish
from auditkit.report.labels import CONFLICTS_FILE, LABELS_FILE, Agreement, LabelReport, as_plain
from auditkit.split.guard import check_output_folder
from auditkit.stories.families import families_of
from auditkit.stories.near import FamilySettings
from auditkit.stories.pool_rows import CELLS, PoolRows, read_rows, unmapped

#: Fewer prompts on a discordant side leave its direction unidentified (docs/definitions.md, nested policies).
MIN_DISCORDANT = 30
#: Length bands in tokens: name, first length that no longer belongs.
BANDS: tuple[tuple[str, int], ...] = (("1-10", 11), ("11-30", 31), ("31-100", 101), ("101+", 1 << 62))
NO_PROMPT = "no prompt"
#: The names of all bands, in their order.
LENGTHS = (*(name for name, _ in BANDS), NO_PROMPT)


def label_report(
    pool: Any,
    *,
    settings: FamilySettings,
    source_column: str = "",
    out: str | Path | None = None,
) -> LabelReport:
    """Return how two policies label one pool; `out` receives labels.json and conflicts.parquet.

    Args:
        pool: whatever `auditkit.open_pool` takes.
        settings: what is read; `settings.read.labels` names the two policies, A first.
        source_column: rows are told apart by its value, else by the pool's sources.
        out: a new or empty folder, or None to write nothing.

    Raises:
        UsageError: not exactly two policies.
        LabelError: a label column is missing, has no known label, or one class only.
        InputError: the pool cannot be read.
        OutputError: `out` cannot be written.
    """
    policies = tuple(rule.policy for rule in settings.read.labels)
    if len(policies) != 2:
        raise UsageError(
            f"{len(policies)} policies given ({', '.join(policies) or 'none'}), expected exactly two: "
            "--label A=COLUMN --label B=COLUMN"
        )
    opened = read.open_pool(pool, settings.read)
    if out is not None:
        check_output_folder(Path(out), [Path(s.location) for s in opened.sources if s.data is None])
    rows = read_rows(opened, settings.read, source_column)
    for policy in policies:
        _check_classes(rows, policy)
    report = _report(rows, families_of(rows, settings))
    if out is not None:
        _write(report, Path(out))
    return report


def _check_classes(rows: PoolRows, policy: str) -> None:
    known = rows.rows[policy].drop_nulls()
    if known.n_unique() < 2:
        seen = f"all {len(known):,} known labels are {known[0]}" if len(known) else "no row has a label"
        text = unmapped(policy, rows.not_examined)
        more = f" ({text})" if text else ""
        raise LabelError(f"policy {policy}: {seen}{more}; two classes are needed: check the column and its value map")


# ---------------------------------------------------------------- agreement


def agreement_of(cells: Mapping[str, int]) -> Agreement:
    """Return agreement and Cohen's kappa of a 2 x 2 table given by cell.

    kappa = (p_o - p_e) / (1 - p_e), p_o the share of agreement, p_e what the margins alone would give (Cohen 1960).
    """
    counts = {cell: cells.get(cell, 0) for cell in CELLS}
    c1, c0, d10, d01 = (counts[cell] for cell in CELLS[:4])
    n = c1 + c0 + d10 + d01
    if not n:
        return Agreement(counts, 0, None, None)
    # In whole numbers, n * n times each share: exact, and 1 - p_e is 0 only where it is.
    observed = (c1 + c0) * n
    expected = (c1 + d10) * (c1 + d01) + (c0 + d01) * (c0 + d10)
    kappa = (observed - expected) / (n * n - expected) if n * n != expected else None
    return Agreement(counts, n, (c1 + c0) / n, kappa)


def _report(rows: PoolRows, families: pl.DataFrame) -> LabelReport:
    a, b = rows.policies
    table = rows.rows.with_columns(rows.cell.alias("cell"), length_band().alias("band"))
    conflicts = _conflicts(rows, families)
    sizes = families.unique("family")["size"]
    bands = _by(table, "band")
    return LabelReport(
        policies=(a, b),
        n_rows=len(table),
        total=agreement_of(_counts(table)),
        by_source=_by(table, "source"),
        by_length={name: bands[name] for name in LENGTHS if name in bands},
        n_families=len(sizes),
        n_with_others=int((sizes > 1).sum()),
        n_conflicting={p: conflicts.filter(pl.col("policy") == p)["family"].n_unique() for p in (a, b)},
        n_conflicting_rows={p: int((conflicts["policy"] == p).sum()) for p in (a, b)},
        warnings=tuple(_warnings(rows, _counts(table))),
        not_examined=rows.not_examined,
        conflicts=conflicts,
    )


def length_band() -> pl.Expr:
    """Return the length band of each row by its `n_tokens`; rows without a prompt stand apart."""
    found = pl.lit(BANDS[-1][0])
    for name, end in reversed(BANDS[:-1]):
        found = pl.when(pl.col("n_tokens") < end).then(pl.lit(name)).otherwise(found)
    return pl.when(pl.col("n_tokens") == 0).then(pl.lit(NO_PROMPT)).otherwise(found)


def _counts(table: pl.DataFrame) -> dict[str, int]:
    return dict(table.group_by("cell").len().iter_rows())


def _by(table: pl.DataFrame, column: str) -> dict[str, Agreement]:
    return agreements(table.group_by(column, "cell").len().sort(column, "cell").iter_rows())


def agreements(counts: Iterable[tuple[Any, ...]]) -> dict[str, Agreement]:
    """Return name -> agreement, of counts given as (name, cell, rows)."""
    cells: dict[str, dict[str, int]] = {}
    for name, cell, n in counts:
        cells.setdefault(name, {})[cell] = n
    return {name: agreement_of(found) for name, found in cells.items()}


def _conflicts(rows: PoolRows, families: pl.DataFrame) -> pl.DataFrame:
    """Return every labelled row of families that have both labels under one policy."""
    table = families.hstack(rows.rows.select(rows.policies))
    frames = [
        table.filter(pl.col(policy).is_not_null() & (pl.col(policy).drop_nulls().n_unique().over("family") > 1))
        .sort("family", "pool", "row")
        .select(pl.lit(policy).alias("policy"), "family", "pool", "row", pl.col(policy).alias("label"))
        for policy in rows.policies
    ]
    return pl.concat(frames)


def _warnings(rows: PoolRows, cells: Mapping[str, int]) -> list[str]:
    a, b = rows.policies
    warnings = []
    for cell, who, other in (("D10", a, b), ("D01", b, a)):
        n = cells.get(cell, 0)
        if n < MIN_DISCORDANT:
            warnings.append(
                f"only {n:,} rows are flagged by {who} alone ({cell}), fewer than {MIN_DISCORDANT}: the policies are "
                f"nested, and which of the two a model follows cannot be told on that side; {other} flags nearly all "
                f"that {who} flags"
            )
    for policy in rows.policies:
        if text := unmapped(policy, rows.not_examined):
            warnings.append(f"policy {policy}: {text}; these rows count as unknown")
    return warnings


# ---------------------------------------------------------------- files


def _write(report: LabelReport, folder: Path) -> None:
    content = io.BytesIO()
    report.conflicts.write_parquet(content)
    text = json.dumps(as_plain(report), indent=2, ensure_ascii=False) + "\n"
    publish(folder, {CONFLICTS_FILE: content.getvalue(), LABELS_FILE: text.encode()}, LABELS_FILE)
