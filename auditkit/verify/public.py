"""Which items are public text: found in any pool of the web, whether or not it ever held the benchmark."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from auditkit.errors import UsageError, nearest
from auditkit.records import Benchmark
from auditkit.tables import ITEM_RESULTS, Schema
from auditkit.text.public import public_kinds

#: An item that is public text, and what says so.
PUBLIC: Schema = {name: ITEM_RESULTS[name] for name in ("benchmark", "item", "public_text")}

#: What says so, strongest first; behind these the kinds of auditkit/text/public.py.
DECLARED, COLUMN, REGISTRY, CONTEXT = "declared", "column", "registry", "context"
#: Words of a context (a passage to read) from which it counts; shorter ones are inputs of a task.
MIN_CONTEXT_WORDS = 25


def public_items(benchmarks: Sequence[Benchmark], declared: Sequence[str]) -> pl.DataFrame:
    """Return frame PUBLIC, an item once.

    An item counts as public text where the user says so, its file's column `is_public` does, the registry knows it of
    its benchmark, it has a passage to read as its context, or a part of it looks like a quotation, encyclopaedia text
    or a statute. The first of these that holds is named.

    Args:
        benchmarks: as audited.
        declared: "benchmark" or "benchmark:slice".

    Raises:
        UsageError: a benchmark or a slice that is not there.
    """
    slices = declared_slices(benchmarks, declared)
    frames = [frame for one in benchmarks for frame in _of(one, slices.get(one.name, ()))]
    every = pl.concat([pl.DataFrame(schema=PUBLIC), *frames])
    return every.unique(["benchmark", "item"], keep="first", maintain_order=True)


def declared_slices(benchmarks: Sequence[Benchmark], declared: Sequence[str]) -> dict[str, list[str]]:
    """Return benchmark -> its slices that are declared; "" stands for all items.

    Raises:
        UsageError: a benchmark or a slice that is not there.
    """
    known = {one.name: sorted(one.items["slice"].drop_nulls().unique()) for one in benchmarks}
    found: dict[str, list[str]] = {}
    for spec in declared:
        name, _, part = spec.partition(":")
        if name not in known:
            raise UsageError(f"--public {spec}: no benchmark '{name}' in this audit{nearest(name, known)}")
        if part and part not in known[name]:
            listed = ", ".join(known[name]) or "none"
            raise UsageError(
                f"--public {spec}: {name} has no slice '{part}' (slices: {listed}){nearest(part, known[name])}"
            )
        found.setdefault(name, []).append(part)
    return found


def _of(benchmark: Benchmark, slices: Sequence[str]) -> list[pl.DataFrame]:
    """Return the public items of one benchmark, for each that says so, strongest first."""
    items = benchmark.items
    every = pl.Series(range(benchmark.n_items), dtype=pl.Int64)
    in_slice = items.filter(pl.col("slice").is_in(list(slices)))["item"]
    is_passage = (pl.col("kind") == "context") & (pl.col("text").str.count_matches(r"\S+") >= MIN_CONTEXT_WORDS)
    by_looks = {"item": items["item"], "public_text": public_kinds(items["text"])}
    return [
        _named(benchmark, every if "" in slices else in_slice, DECLARED),
        _named(benchmark, pl.Series(sorted(benchmark.public_items), dtype=pl.Int64), COLUMN),
        _named(benchmark, every if benchmark.public_note else every.clear(), REGISTRY),
        _named(benchmark, items.filter(is_passage)["item"], CONTEXT),
        _framed(benchmark, pl.DataFrame(by_looks, schema_overrides=PUBLIC).filter(pl.col("public_text") != "")),
    ]


def _named(benchmark: Benchmark, items: pl.Series, what: str) -> pl.DataFrame:
    return _framed(benchmark, pl.DataFrame({"item": items}).with_columns(pl.lit(what).alias("public_text")))


def _framed(benchmark: Benchmark, items: pl.DataFrame) -> pl.DataFrame:
    return items.select(pl.lit(benchmark.name).alias("benchmark"), "item", "public_text").cast(pl.Schema(PUBLIC))
