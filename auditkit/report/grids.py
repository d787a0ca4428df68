"""The tables that report.md and report.html share, as plain texts; each view escapes them in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auditkit.records import AuditReport, BenchmarkResult
from auditkit.report import phrases
from auditkit.report.phrases import count, percent


@dataclass(frozen=True)
class Grid:
    """A table of texts. The first `n_text` columns are words, the others numbers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_text: int = 1


@dataclass(frozen=True)
class Block:
    """A table and its caption; one that is folded is opened by a click where a view can."""

    grid: Grid
    caption: str = ""
    is_folded: bool = False


@dataclass(frozen=True)
class Section:
    """A titled part: points to read first, figures by name, tables, notes below."""

    title: str
    points: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()


def benchmarks(report: AuditReport) -> Grid:
    """Return the main table: a row for each benchmark."""
    tiers = phrases.tiers_shown(report)
    headers = ("benchmark", "items", "found", "leak rate", *tiers, "rows hit", "review", "reported rate", "unmatchable")
    return Grid(headers, tuple(_benchmark(result, tiers) for result in report.benchmarks))


def _benchmark(result: BenchmarkResult, tiers: Sequence[str]) -> tuple[str, ...]:
    by_tier = [count(result.found_by_tier.get(tier, 0)) for tier in tiers]
    start = (result.name, count(result.n_items), count(result.n_found), percent(result.leak_rate))
    end = (count(result.n_rows), count(result.n_review), percent(result.reported_rate), count(result.n_unmatchable))
    return (*start, *by_tier, *end)


def parts(report: AuditReport) -> Grid:
    """Return a row for each slice and label of the benchmarks that have several."""
    rows = [
        (result.name, name, *[count(counts.get(key, 0)) for key in ("n_items", "n_found", "n_review")])
        for result in report.benchmarks
        for name, counts in phrases.splits(result)
    ]
    return Grid(("benchmark", "part", "items", "found", "review"), tuple(rows), 2)


def labels(report: AuditReport) -> Grid:
    """Return a row for each policy and label of the pool."""
    rows = [
        (policy, phrases.label_name(label), *[count(c.get(key, 0)) for key in ("n_rows", "n_rows_contaminated")])
        for policy, by_label in sorted(report.by_label.items())
        for label, c in sorted(by_label.items())
    ]
    return Grid(("policy", "label", "rows", "condemned"), tuple(rows), 2)


def sources(report: AuditReport) -> Grid:
    """Return a row for each source of the pool, with its digest."""
    rows = [
        (s.name, s.digest, *map(count, (s.n_rows, s.n_texts, s.n_rows_contaminated, s.n_rows_review)))
        for s in report.sources
    ]
    return Grid(("source", "digest", "rows", "texts", "condemned", "review"), tuple(rows), 2)


def identities(report: AuditReport) -> Grid:
    """Return what each benchmark is: where it was read from, revision, digest, licence, policy, unit, class."""
    headers = ("benchmark", "read from", "revision", "digest", "licence", "policy", "unit", "class")
    rows = [(b.name, b.location, b.revision, b.digest, b.licence, b.policy, b.unit, b.klass) for b in report.benchmarks]
    return Grid(headers, tuple(rows), len(headers))


def curve(report: AuditReport) -> Grid:
    """Return the points of the near tier's collision curve."""
    rows = [(f"{x:.2f}", f"{y:.3f}") for x, y in phrases.curve(report)]
    return Grid(("Jaccard", "probability of being proposed"), tuple(rows), 0)
