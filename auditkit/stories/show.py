"""The texts behind matches, fetched again from pool and benchmarks for a person to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from auditkit import read
from auditkit.errors import StaleAuditError
from auditkit.findings import PoolTemplate
from auditkit.formats import digest_source
from auditkit.records import AuditReport, Benchmark, ReadSettings, Source
from auditkit.report.show import Pair, Wrapper
from auditkit.stories.decontaminate import again
from auditkit.stories.settings import from_plain
from auditkit.tables import TEXTS
from auditkit.text.spans import characters, place

_PLACE = {name: TEXTS[name] for name in ("pool", "row")}


def pairs(report: AuditReport, matches: pl.DataFrame, *, pool: Any = None, benchmarks: Any = None) -> list[Pair]:
    """Return the matches with both texts as read, in their order.

    Args:
        report: the audit they come from.
        matches: frame tables.MATCHES, part of the report's.
        pool, benchmarks: the same as were audited; needed only where they were given in memory.

    Raises:
        StaleAuditError: the pool or a benchmark has changed since the audit.
    """
    settings = from_plain(report.settings, report.rules)
    sources = {source.name: source for source in read.open_pool(again(report, "pool", pool), settings.read).sources}
    opened = {one.name: one for one in read.open_benchmarks(again(report, "benchmarks", benchmarks))}
    audited = {source.name: source.digest for source in report.sources}
    texts: dict[tuple[Any, ...], str] = {}
    for name in matches["pool"].unique():
        _check_unchanged(sources[name], audited[name])
        texts |= _row_texts(sources[name], matches.filter(pl.col("pool") == name), settings.read)
    digests = {benchmark.name: benchmark.digest for benchmark in report.benchmarks}
    for name in matches["benchmark"].unique():
        _check_unchanged(opened[name].source, digests[name])
    return [
        Pair(match, texts[_address(match)], _item_text(opened[match["benchmark"]], match))
        for match in matches.iter_rows(named=True)
    ]


def wrappers(report: AuditReport, templates: Sequence[PoolTemplate], *, pool: Any = None) -> list[Wrapper]:
    """Return templates of the pool with their words as they stand in the texts they name.

    Args:
        report: the audit they come from.
        templates: some of its own.
        pool: the same as was audited; needed only where it was given in memory.

    Raises:
        StaleAuditError: the pool has changed since the audit.
    """
    settings = from_plain(report.settings, report.rules)
    sources = {source.name: source for source in read.open_pool(again(report, "pool", pool), settings.read).sources}
    audited = {source.name: source.digest for source in report.sources}
    places = pl.DataFrame([{"pool": one.pool, "row": one.row} for one in templates], schema=_PLACE)
    texts: dict[tuple[Any, ...], str] = {}
    for name in places["pool"].unique():
        _check_unchanged(sources[name], audited[name])
        texts |= _row_texts(sources[name], places.filter(pl.col("pool") == name), settings.read)
    return [_wrapper(one, texts[one.pool, one.row, one.field, one.turn]) for one in templates]


def _wrapper(template: PoolTemplate, text: str) -> Wrapper:
    n_tokens = len(place(text))
    # An end of no tokens is looked up as one of a token, and left out.
    first, last = n_tokens - max(template.n_last, 1), max(template.n_first, 1)
    starts, ends = characters([text], np.zeros(2, np.int64), np.array([0, first]), np.array([last, n_tokens]))
    before = text[: ends[0]] if template.n_first else ""
    return Wrapper(template, before, text[starts[1] :] if template.n_last else "")


def _address(match: Mapping[str, Any]) -> tuple[Any, ...]:
    return match["pool"], match["row"], match["field"], match["turn"]


def _row_texts(source: Source, matches: pl.DataFrame, settings: ReadSettings) -> dict[tuple[Any, ...], str]:
    """Return address -> text of the rows that matched; reading stops at the last of them."""
    wanted = matches["row"].unique()
    last = max(wanted)
    found: dict[tuple[Any, ...], str] = {}
    n_rows = 0
    # That each field is somewhere in the pool was checked when the pool was opened.
    for batch in read.read_texts(source, settings, may_lack_fields=True):
        for text in batch.texts.filter(pl.col("row").is_in(wanted.implode())).iter_rows(named=True):
            found[_address(text)] = text["text"]
        n_rows += batch.n_rows
        if n_rows > last:
            break
    return found


def _item_text(benchmark: Benchmark, match: Mapping[str, Any]) -> str:
    part = benchmark.items.filter((pl.col("item") == match["item"]) & (pl.col("part") == match["part"]))
    return str(part["text"][0])


def _check_unchanged(source: Source, audited: str) -> None:
    if digest_source(source)[0] != audited:
        raise StaleAuditError(f"{source.location} has changed since it was audited; audit it again")
