"""What holds a family together: equal rows, or near ones."""

from __future__ import annotations

import polars as pl

SINGLE, EXACT, NEAR = KINDS = ("single", "exact", "near")


def family_kinds(families: pl.DataFrame, texts: pl.DataFrame) -> pl.Series:
    """Return the kind of each row's family: SINGLE of one row, EXACT where all rows have the same texts, else NEAR.

    Args:
        families: frame FAMILIES.
        texts: pool, row and `text` (Int64, number of a distinct text): a line for each text of a row.
    """
    content = texts.unique().group_by("pool", "row").agg(pl.col("text").sort().cast(pl.String).str.join(","))
    held = families.join(content, on=["pool", "row"], how="left", maintain_order="left")
    is_equal = pl.col("text").n_unique().over("family") == 1
    kind = pl.when(pl.col("size") == 1).then(pl.lit(SINGLE)).when(is_equal).then(pl.lit(EXACT)).otherwise(pl.lit(NEAR))
    return held.select(kind.alias("family_kind"))["family_kind"]
