"""Matches -> results per item and per benchmark. Counts say what they count: items or rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import polars as pl

from auditkit import tables
from auditkit.records import TIERS, Benchmark, BenchmarkResult, SourceResult
from auditkit.text.items import ItemTexts
from auditkit.text.normalise import canonical

ITEM = ["benchmark", "item"]


def item_results(
    items: pl.DataFrame, matches: pl.DataFrame, texts: ItemTexts, counts: Mapping[str, int]
) -> pl.DataFrame:
    """Return frame tables.ITEM_RESULTS: every record of every benchmark, those without text included.

    Args:
        items: frame tables.ITEMS of all benchmarks.
        matches: frame tables.MATCHES.
        texts: the distinct texts, which name the parts that no tier examines.
        counts: benchmark -> number of records.
    """
    every = pl.concat(
        [pl.DataFrame({"benchmark": name, "item": range(n)}, schema={"benchmark": pl.String, "item": pl.Int64})
         for name, n in counts.items()]
    )  # fmt: skip
    matchable = texts.parts.select(ITEM).unique().with_columns(pl.lit(False).alias("is_unmatchable"))
    about = items.group_by(ITEM, maintain_order=True).agg(
        pl.col("item_id", "slice", "label").first(),
        pl.struct("kind", "text").map_batches(_digests, return_dtype=pl.String, returns_scalar=True).alias("digest"),
    )
    rank = pl.col("tier").replace_strict(TIERS, range(len(TIERS)), return_dtype=pl.Int64)
    condemned = pl.col("verdict") == "contaminated"
    rows = pl.struct("pool", "row")
    found = matches.with_columns(rank.alias("rank")).group_by(ITEM).agg(
        condemned.any().alias("is_found"),
        pl.when(condemned.any()).then(pl.col("rank").filter(condemned).min()).otherwise(pl.col("rank").min()).alias("rank"),
        rows.filter(condemned).n_unique().cast(pl.Int64).alias("n_rows"),
        rows.n_unique().cast(pl.Int64).alias("n_any_rows"),
    )  # fmt: skip
    joined = (
        every.join(about, on=ITEM, how="left", maintain_order="left")
        .join(matchable, on=ITEM, how="left", maintain_order="left")
        .join(found, on=ITEM, how="left", maintain_order="left")
    )
    return joined.select(
        "benchmark",
        "item",
        "item_id",
        "slice",
        "label",
        pl.col("is_found").fill_null(False),
        pl.col("n_any_rows").is_not_null().alias("is_reported"),
        pl.col("rank").replace_strict(range(len(TIERS)), TIERS, return_dtype=pl.String).alias("best_tier"),
        pl.col("n_rows").fill_null(0),
        (pl.col("n_any_rows") - pl.col("n_rows")).fill_null(0).alias("n_review_rows"),
        pl.col("is_unmatchable").fill_null(True),
        pl.col("digest").fill_null(""),
    ).pipe(tables.check, tables.ITEM_RESULTS, "item_results")


def _digests(parts: pl.Series) -> str:
    """Return one digest of an item's canonical parts, in the order of the columns."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{part['kind']}\0{canonical(part['text'])}\0".encode())
    return digest.hexdigest()[:16]


def benchmark_results(
    benchmarks: Sequence[Benchmark], results: pl.DataFrame, matches: pl.DataFrame
) -> tuple[BenchmarkResult, ...]:
    """Return one result per benchmark, in their order."""
    return tuple(
        _benchmark_result(
            benchmark,
            results.filter(pl.col("benchmark") == benchmark.name),
            matches.filter(pl.col("benchmark") == benchmark.name),
        )
        for benchmark in benchmarks
    )


def _benchmark_result(benchmark: Benchmark, results: pl.DataFrame, matches: pl.DataFrame) -> BenchmarkResult:
    n_items, n_found = len(results), int(results["is_found"].sum())
    n_reported = int(results["is_reported"].sum())
    found = results.filter("is_found")
    n_rows, n_review_rows = row_counts(matches)
    return BenchmarkResult(
        name=benchmark.name,
        n_items=n_items,
        n_found=n_found,
        leak_rate=n_found / n_items if n_items else None,
        found_by_tier={tier: int((found["best_tier"] == tier).sum()) for tier in TIERS},
        n_review=n_reported - n_found,
        reported_rate=n_reported / n_items if n_items else None,
        n_unmatchable=int(results["is_unmatchable"].sum()),
        n_rows=n_rows,
        n_review_rows=n_review_rows,
        location=benchmark.source.location,
        digest=benchmark.source.digest,
        revision=benchmark.revision,
        licence=benchmark.licence,
        policy=benchmark.policy,
        unit=benchmark.unit,
        klass=benchmark.klass,
        is_registered=benchmark.is_registered,
        notes=benchmark.notes,
        by_slice=_by(results.filter(pl.col("slice").is_not_null()), "slice"),
        by_label=_by(results.with_columns(pl.col("label").cast(pl.String).fill_null("null")), "label"),
    )


def _by(results: pl.DataFrame, column: str) -> dict[str, dict[str, int]]:
    grouped = results.group_by(column).agg(
        pl.len().alias("n_items"),
        pl.col("is_found").sum().alias("n_found"),
        (pl.col("is_reported") & ~pl.col("is_found")).sum().alias("n_review"),
    )
    return {
        str(row[column]): {name: int(row[name]) for name in ("n_items", "n_found", "n_review")}
        for row in grouped.sort(column).iter_rows(named=True)
    }


def row_counts(matches: pl.DataFrame) -> tuple[int, int]:
    """Return (rows with a contaminated match, rows with review matches only)."""
    rows = matches.group_by("pool", "row").agg((pl.col("verdict") == "contaminated").any().alias("is_condemned"))
    condemned = int(rows["is_condemned"].sum())
    return condemned, len(rows) - condemned


def source_results(sources: Sequence[SourceResult], matches: pl.DataFrame) -> tuple[SourceResult, ...]:
    """Return the sources with their counts of contaminated and review rows filled in."""
    counted = []
    for source in sources:
        condemned, review = row_counts(matches.filter(pl.col("pool") == source.name))
        values = {**source.__dict__, "n_rows_contaminated": condemned, "n_rows_review": review}
        counted.append(SourceResult(**values))
    return tuple(counted)
