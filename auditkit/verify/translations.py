"""Which rows are translations of an item: the ratio margin, told from the whole pool.

    margin(x, y) = cos(x, y) / ((mean of cos(x, z) over y's rivals z + mean of cos(y, w) over the closest rows w) / 2)

is equation 2 of Artetxe and Schwenk 2019 ("Margin-based parallel corpus mining with multilingual sentence embeddings"):
how close a pair is for what is usual around both of its sides. A cosine across languages says little by itself, since
an encoder puts all texts of a language close together. The row's mean is over its closest item texts of the item's
benchmark (detect/neighbours.py), the item's over the closest rows of the same source in other languages than the
items': the shards hand on the closest rows of each item, so that any shard size gives one result.
"""

from __future__ import annotations

import polars as pl

#: Closest rows that an item's mean is taken over: k = 4 in the paper. Equal texts count once.
ITEM_NEIGHBOURS = 4
#: Rule of pairs that may be translations, and of those that are known only as an item's closest rows.
TRANSLATION, NEIGHBOUR = "paraphrase.margin", "paraphrase.neighbour"


def settle_translations(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of a pool with `margin`, and of possible translations only those that reach their threshold.

    Args:
        pairs: frame VERIFIED of all tiers and shards with column `pool`; a pair is a possible translation where its
            row_mean is known, and its threshold is the least margin.
    """
    around = _item_means(pairs.filter(pl.col("row_mean").is_not_null()))
    margin = 2 * pl.col("cosine") / (pl.col("row_mean") + pl.col("item_mean"))
    found = pairs.join(around, on=["pool", "text", "encoder"], how="left", maintain_order="left")
    found = found.with_columns(pl.coalesce(margin.round(4), "margin").alias("margin")).drop("item_mean")
    is_settled = pl.col("row_mean").is_null()
    is_reached = (pl.col("rule") == TRANSLATION) & (pl.col("margin") >= pl.col("threshold"))
    return found.filter(is_settled | is_reached).with_columns(pl.lit(None, pl.Float64).alias("row_mean"))


def _item_means(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the mean cosine of each item text and its closest rows, by source and encoder."""
    distinct = pairs.unique(["pool", "text", "encoder", "row_sequence"], keep="first", maintain_order=True)
    closest = distinct.group_by("pool", "text", "encoder").agg(pl.col("cosine").top_k(ITEM_NEIGHBOURS))
    return closest.select("pool", "text", "encoder", pl.col("cosine").list.mean().alias("item_mean"))
