"""Which rows are condemned, by which match, and which spans of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.errors import StaleAuditError
from auditkit.records import TIERS, VERDICTS, AuditReport, Pool

#: One span of a text: field, turn, start, end; None for the whole text.
Span = tuple[str, int | None, int | None, int | None]


@dataclass(frozen=True)
class Condemned:
    """One condemned row.

    Attributes:
        deciding: its strongest match, columns of tables.MATCHES: contaminated before review, then by tier, then by
            ratio and containment.
        spans: of all its matches with a chosen verdict.
    """

    deciding: Mapping[str, Any]
    spans: tuple[Span, ...]


def chosen(matches: pl.DataFrame, verdict: str) -> pl.DataFrame:
    """Return the matches that condemn: contaminated ones, and with "review" all of them."""
    wanted = VERDICTS[: VERDICTS.index(verdict) + 1]
    return tables.check(matches, tables.MATCHES, "split: matches").filter(pl.col("verdict").is_in(wanted))


def condemned_rows(matches: pl.DataFrame, verdict: str) -> dict[str, dict[int, Condemned]]:
    """Return pool -> row -> why it is condemned and where."""
    deciding: dict[tuple[str, int], dict[str, Any]] = {}
    spans: dict[tuple[str, int], dict[Span, None]] = {}
    for match in _strongest_first(chosen(matches, verdict)).select(list(tables.MATCHES)).iter_rows(named=True):
        key = (match["pool"], match["row"])
        deciding.setdefault(key, match)
        spans.setdefault(key, {})[match["field"], match["turn"], match["row_start"], match["row_end"]] = None
    rows: dict[str, dict[int, Condemned]] = {}
    for (pool, row), match in deciding.items():
        rows.setdefault(pool, {})[row] = Condemned(match, tuple(spans[pool, row]))
    return rows


def _strongest_first(matches: pl.DataFrame) -> pl.DataFrame:
    rank = [pl.col(name).replace_strict({v: i for i, v in enumerate(known)}, default=9, return_dtype=pl.Int8)
            for name, known in (("verdict", VERDICTS), ("tier", TIERS))]  # fmt: skip
    measures = [-pl.col("ratio").fill_null(-1.0), -pl.col("containment").fill_null(-1.0)]
    return matches.sort(
        [*rank, *measures, "benchmark", "item", "part", "field", "turn", "row_start"], maintain_order=True
    )


def check_condemned(condemned: Mapping[str, Mapping[int, Condemned]], report: AuditReport, pool: Pool) -> None:
    """Check that every condemned row is a row of the pool that was audited, and the pool's sources are the same.

    Raises:
        StaleAuditError: another set of sources, or a row beyond its source.
    """
    audited, given = [s.name for s in report.sources], [s.name for s in pool.sources]
    if audited != given:
        raise StaleAuditError(
            f"the pool has the sources {', '.join(given) or '(none)'}, the audit has {', '.join(audited) or '(none)'}; "
            "give the same input, or audit again"
        )
    n_rows = {source.name: source.n_rows for source in report.sources}
    for name, rows in condemned.items():
        if name not in n_rows:
            raise StaleAuditError(f"the audit's matches name the source {name!r}, its report does not; audit again")
        if max(rows) >= n_rows[name] or min(rows) < 0:
            raise StaleAuditError(
                f"{name}: the audit condemns row {max(rows):,}, but it counted {n_rows[name]:,} rows "
                "(the first is row 0); audit again"
            )
