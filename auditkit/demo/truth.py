"""What an audit of the demo must find."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from auditkit.demo.copies import LEXICAL_KINDS
from auditkit.demo.planting import BENCHMARKS

#: One planted copy: row (0-based) of the pool's file, item (0-based) of the benchmark, kind of copy.
TRUTH: dict[str, pl.DataType] = {
    "pool": pl.String(),
    "row": pl.Int64(),
    "benchmark": pl.String(),
    "item": pl.Int64(),
    "kind": pl.String(),
}


def read_truth(path: Path) -> pl.DataFrame:
    """Return the planted copies that `write_demo` recorded, with the columns of TRUTH."""
    return pl.read_ndjson(path, schema=TRUTH)


def expected_found(truth: pl.DataFrame) -> dict[str, frozenset[int]]:
    """Return, per benchmark, the items that the lexical tiers must find; an empty set where nothing is planted."""
    lexical = truth.filter(pl.col("kind").is_in(list(LEXICAL_KINDS)))
    return {
        plan.name: frozenset(lexical.filter(pl.col("benchmark") == plan.name)["item"].to_list()) for plan in BENCHMARKS
    }


def expected_rows(truth: pl.DataFrame) -> frozenset[tuple[str, int]]:
    """Return the (pool, row) pairs that the lexical tiers must condemn, and no others."""
    lexical = truth.filter(pl.col("kind").is_in(list(LEXICAL_KINDS)))
    return frozenset(zip(lexical["pool"].to_list(), lexical["row"].to_list(), strict=True))
