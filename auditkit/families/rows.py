"""Families of texts -> families of rows."""

from __future__ import annotations

import numpy as np
import polars as pl

from auditkit import tables
from auditkit.families.components import Components

#: One row of a pool and its family.
FAMILIES: tables.Schema = {
    "pool": pl.String(),
    "row": pl.Int64(),
    "family": pl.String(),  # "pool:row" of the family's first row, by name of the source and then number of the row
    "size": pl.Int64(),  # rows of the family
}


def family_frame(rows: pl.DataFrame, texts: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Return the family of every row: frame FAMILIES, in the order of `rows`.

    Rows that share a text, or whose texts are linked, are of one family, and so is whoever is of a family with one of
    them. Rows without a text are families of one.

    Args:
        rows: pool and row, each once.
        texts: pool, row and `text` (Int64, number of a distinct text): a line for each text of a row.
        links: pairs of distinct texts, `left` and `right` (Int64), that are near.
    """
    order = rows.select("pool", "row").sort("pool", "row").with_columns(pl.int_range(pl.len()).alias("node"))
    numbers = np.concatenate([frame.to_numpy() for frame in (texts["text"], links["left"], links["right"])])
    n_texts = int(numbers.max()) + 1 if len(numbers) else 0
    has = texts.select("pool", "row", "text").join(order, on=["pool", "row"])
    # Rows come first, so that the smallest member of a component is its first row.
    graph = Components(len(order) + n_texts)
    graph.join(has["node"].to_numpy(), has["text"].to_numpy() + len(order))
    graph.join(links["left"].to_numpy() + len(order), links["right"].to_numpy() + len(order))
    root = graph.roots()[: len(order)]
    names = order.select(pl.format("{}:{}", "pool", "row").alias("family"))["family"].gather(root)
    sizes = np.bincount(root, minlength=max(1, len(order)))[root] if len(order) else np.empty(0)
    found = order.select("pool", "row").with_columns(names, pl.Series("size", sizes, dtype=pl.Int64))
    placed = rows.select("pool", "row").join(found, on=["pool", "row"], how="left", maintain_order="left")
    return tables.check(placed, FAMILIES, "family_frame")
