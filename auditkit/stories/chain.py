"""A provenance chain: the pools before the audited one, audited alike, and through which of them each item leaked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from auditkit.findings import Chain, Link
from auditkit.records import AuditReport, ReadSettings
from auditkit.stories.settings import AuditSettings
from auditkit.stories.upstream import OWN, Upstream

#: The audits of upstream pools lie below this folder of an audit.
UPSTREAM = "upstream"
ITEM = ["benchmark", "item"]


def settings_for(settings: AuditSettings, upstream: Upstream) -> AuditSettings:
    """Return an audit's settings for a pool before it: the same but for its columns; labels are not read."""
    read = ReadSettings(
        upstream.text_fields,
        settings.read.roles,
        bad_rows=settings.read.bad_rows,
        shard_bytes=settings.read.shard_bytes,
    )
    return replace(settings, read=read, upstream=())


def items_found(report: AuditReport) -> dict[str, tuple[int, ...]]:
    """Return benchmark -> 0-based items that rows of the pool are condemned for, in order."""
    found = report.items.filter("is_found")
    return {one.name: tuple(found.filter(pl.col("benchmark") == one.name)["item"].sort()) for one in report.benchmarks}


def with_chain(report: AuditReport, upstream: Mapping[str, AuditReport]) -> AuditReport:
    """Return the report with its chain, and with `leaked_through` of its items.

    Args:
        report: the audit of the last pool.
        upstream: name -> audit of a pool before it, against the same benchmarks.
    """
    audits = {**upstream, OWN: report}
    through = [
        audit.items.filter("is_found").select(*ITEM, pl.lit(name).alias("link"), pl.lit(place).alias("place"))
        for place, (name, audit) in enumerate(audits.items())
    ]
    links = pl.concat(through).sort("place").group_by(ITEM, maintain_order=True).agg("link")
    items = (
        report.items.drop("leaked_through")
        .join(links, on=ITEM, how="left", maintain_order="left")
        .rename({"link": "leaked_through"})
        .with_columns(pl.col("leaked_through").fill_null([]))
        .select(report.items.columns)
    )
    return replace(report, items=items, chain=_chain(audits, items))


def _chain(audits: Mapping[str, AuditReport], items: pl.DataFrame) -> Chain:
    through = pl.col("leaked_through")
    own = audits[OWN]
    n_found = _count(own, items.filter(through.list.len() > 0))
    links = tuple(
        Link(
            name=name,
            pool_digest=report.pool_digest,
            n_rows=report.n_rows,
            n_rows_contaminated=report.n_rows_contaminated,
            n_found={one.name: one.n_found for one in report.benchmarks},
            leak_rates={one.name: one.leak_rate for one in report.benchmarks},
            n_alone=_count(own, items.filter((through.list.len() == 1) & (through.list.first() == name))),
        )
        for name, report in audits.items()
    )
    rates = {one.name: n_found[one.name] / one.n_items if one.n_items else None for one in own.benchmarks}
    return Chain(links, n_found, rates)


def _count(report: AuditReport, items: pl.DataFrame) -> dict[str, int]:
    counts = dict(items.group_by("benchmark").len().iter_rows())
    return {one.name: int(counts.get(one.name, 0)) for one in report.benchmarks}
