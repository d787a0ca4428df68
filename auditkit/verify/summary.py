"""Matches -> results per item and per benchmark. Counts say what they count: items or rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from auditkit import tables
from auditkit.records import TIERS, Benchmark, BenchmarkResult, SourceResult
from auditkit.text.items import ItemTexts
from auditkit.text.normalise import tokenise
from auditkit.text.spans import wholes

ITEM = ["benchmark", "item"]


def item_results(
    items: pl.DataFrame, matches: pl.DataFrame, texts: ItemTexts, counts: Mapping[str, int], public: pl.DataFrame
) -> pl.DataFrame:
    """Return frame tables.ITEM_RESULTS: every record of every benchmark, those without text included.

    Which pools of a chain hold an item is not known yet: `leaked_through` is null.

    Args:
        items: frame tables.ITEMS of all benchmarks.
        matches: frame tables.MATCHES.
        texts: the distinct texts, which name the parts that no tier examines.
        counts: benchmark -> number of records.
        public: frame PUBLIC of the items that are public text (see verify/public.py).
    """
    every = pl.concat(
        [pl.select(pl.lit(name, pl.String).alias("benchmark"), pl.int_range(n, dtype=pl.Int64).alias("item"))
         for name, n in counts.items()]
    )  # fmt: skip
    matchable = texts.parts.select(ITEM).unique().with_columns(pl.lit(False).alias("is_unmatchable"))
    about = items.group_by(ITEM, maintain_order=True).agg(pl.col("item_id", "slice", "label").first())
    about = about.with_columns(_digests(items))
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
        .join(public, on=ITEM, how="left", maintain_order="left")
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
        "public_text",
        pl.lit(None, tables.ITEM_RESULTS["leaked_through"]).alias("leaked_through"),
    ).pipe(tables.check, tables.ITEM_RESULTS, "item_results")


def _digests(items: pl.DataFrame) -> pl.Series:
    """Return one digest an item, of its canonical parts in the order of the columns; items in order of appearance."""
    canonical = wholes(tokenise(items["text"]), np.arange(len(items)))
    parts = items.select(*ITEM, "kind", pl.Series("canonical", canonical, dtype=pl.String))
    whole = pl.concat_str("kind", "canonical", pl.lit(""), separator="\0").str.join("")
    joined = parts.group_by(ITEM, maintain_order=True).agg(whole.alias("parts"))["parts"]
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in joined]
    return pl.Series("digest", digests, dtype=pl.String)


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
    found, others = results.filter("is_found"), results.filter(pl.col("public_text").is_null())
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
        by_public=_by(results.filter(pl.col("public_text").is_not_null()), "public_text"),
        n_public=n_items - len(others),
        leak_rate_without_public=int(others["is_found"].sum()) / len(others) if len(others) else None,
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
    rows = _condemned_rows(matches)
    condemned = int(rows["is_condemned"].sum())
    return condemned, len(rows) - condemned


def source_results(sources: Sequence[SourceResult], matches: pl.DataFrame) -> tuple[SourceResult, ...]:
    """Return the sources with their counts of contaminated and review rows filled in."""
    rows = _condemned_rows(matches).group_by("pool").agg(
        pl.col("is_condemned").sum().alias("condemned"), (~pl.col("is_condemned")).sum().alias("review")
    )  # fmt: skip
    counts = {pool: (int(condemned), int(review)) for pool, condemned, review in rows.iter_rows()}
    counted = ((source, *counts.get(source.name, (0, 0))) for source in sources)
    return tuple(replace(source, n_rows_contaminated=n, n_rows_review=review) for source, n, review in counted)


def _condemned_rows(matches: pl.DataFrame) -> pl.DataFrame:
    """Return `pool` and `row` of the rows with a match, and whether some match of theirs is contaminated."""
    return matches.group_by("pool", "row").agg((pl.col("verdict") == "contaminated").any().alias("is_condemned"))
