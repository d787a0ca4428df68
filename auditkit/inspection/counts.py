"""Rows of a pool counted by what is known of them, shard by shard: what grows are the kinds of rows, not the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

#: What rows are counted by; `flags` as one text, joined by commas.
KEYS: tuple[str, ...] = ("source", "family_kind", "flags", "length", "script", "is_mixed", "language")
_SUMS = ("n_rows", "n_texts", "n_characters", "n_tokens")


class Counts:
    """Rows of a pool, counted by KEYS and by labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        """Count by these columns of labels as well."""
        self._keys = [*KEYS, *labels]
        self._parts: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> None:
        """Count the rows of a shard: the columns of tables.INSPECTED and those of the labels."""
        keyed = rows.with_columns(
            pl.col("flags").list.join(","),
            (pl.col("n_scripts") > 1).alias("is_mixed"),
            pl.lit(1, pl.Int64).alias("n_rows"),
        )
        self._parts = [self._summed(pl.concat([*self._parts, keyed.select(*self._keys, *_SUMS)]))]

    def _summed(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.group_by(self._keys).agg(pl.col(_SUMS).sum())

    def totals(self) -> dict[str, int]:
        """Return n_rows, n_texts, n_characters and n_tokens of all rows."""
        return {name: sum(int(part[name].sum()) for part in self._parts) for name in _SUMS}

    def by(self, *columns: str, where: pl.Expr | None = None) -> list[tuple[Any, ...]]:
        """Return the values of `columns` and how many rows have them, sorted by value, null first."""
        found = pl.concat(self._parts)
        chosen = found if where is None else found.filter(where)
        return chosen.group_by(columns).agg(pl.col("n_rows").sum()).sort(columns).rows()

    def n(self, where: pl.Expr) -> int:
        """Return how many rows fulfil a condition on KEYS and labels."""
        return sum(int(part.filter(where)["n_rows"].sum()) for part in self._parts)

    def has(self, flag: str) -> pl.Expr:
        """Return the condition that a row has a flag."""
        return pl.col("flags").str.split(",").list.contains(flag)
