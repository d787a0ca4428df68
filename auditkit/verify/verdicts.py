"""Verified pairs of the whole pool -> MATCHES: items named, and what only the whole pool can tell decided."""

from __future__ import annotations

import numpy as np
import polars as pl

from auditkit import tables
from auditkit.text.spans import characters
from auditkit.verify.items import PreparedItems
from auditkit.verify.meaning_rules import TWIN

ROW = ["pool", "row"]
ITEM = ["benchmark", "item"]


def conclude(pairs: pl.DataFrame, prepared: PreparedItems, labels: pl.DataFrame) -> pl.DataFrame:
    """Return all matches of an audit: frame tables.MATCHES plus `pool_labels`, in a fixed order.

    Args:
        pairs: frame VERIFIED of all shards with the address columns of tables.TEXTS (pool, row, row_id, field, turn).
        prepared: the items.
        labels: pool, row and one Int8 column per policy, for the rows that matched.
    """
    parts = prepared.items.parts.drop("text").rename({"text_index": "text", "label": "item_label"})
    found = pairs.join(parts, on="text", how="inner", maintain_order="left")
    rules = prepared.rules
    frames = _recurring(found, "is_swapped", rules.templates.pool_texts - 1)
    found = _weaken(found, pl.lit(frames), "templates.pool_texts")
    partial = _recurring(found, "is_partial", rules.frequency.partial_rows)
    found = _weaken(found, pl.lit(partial), "frequency.partial_rows")
    found = _weaken(found, pl.lit(_other_context(found, prepared)), "context.other")
    if not rules.context.condemns_alone:
        found = _weaken(found, _is_context_alone(found), "context.condemns_alone")
    found = _with_item_places(found, prepared)
    found = _with_labels(found, labels)
    found = _with_twins(found)
    found = found.with_columns(pl.lit(None, pl.Float64).alias("q_value"))
    keys = ["pool", "row", "field", "turn", "benchmark", "item", "part", "row_start"]
    columns = [*tables.MATCHES, "pool_labels"]
    ordered = found.sort([*keys, "tier"]).unique(keys, keep="first", maintain_order=True)
    return tables.check(ordered, tables.MATCHES, "conclude").select(columns)


def _weaken(found: pl.DataFrame, where: pl.Expr, rule: str) -> pl.DataFrame:
    """Return the frame with condemned matches for which `where` holds turned to review by `rule`."""
    weak = (where & (pl.col("verdict") == "contaminated")).fill_null(False)
    return found.with_columns(
        pl.when(weak).then(pl.lit("review")).otherwise("verdict").alias("verdict"),
        pl.when(weak).then(pl.lit(rule)).otherwise("rule").alias("rule"),
    )


def _with_twins(found: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with paraphrases of opposite label for review, as what they are: twins."""
    is_twin = ((pl.col("tier") == "paraphrase") & pl.col("label_conflict")).fill_null(False)
    return found.with_columns(
        pl.when(is_twin).then(pl.lit("review")).otherwise("verdict").alias("verdict"),
        pl.when(is_twin).then(pl.lit(TWIN)).otherwise("rule").alias("rule"),
    )


def _recurring(found: pl.DataFrame, kind: str, most: int) -> pl.Series:
    """Return which condemned matches of one kind are boilerplate, quotations or frames: Boolean of shape [n].

    An item text that rows of more than `most` different texts match in that way is none of theirs. Rows that are
    condemned anyway do not count, so that a pool without its condemned rows is judged as it was with them: texts are
    taken as frequent first, and while the rest of their rows are too few, their matches condemn and those rows leave
    the other texts' counts.

    Args:
        found: the matches.
        kind: name of the Boolean column of VERIFIED that marks them.
        most: different rows that are still few.
    """
    is_weak = found.select((pl.col(kind) & (pl.col("verdict") == "contaminated")).alias("is_weak")).to_series()
    counted = found.filter(kind).select(*ROW, "text", "row_sequence").unique()
    condemned = found.filter(~is_weak & (pl.col("verdict") == "contaminated")).select(ROW).unique()
    frequent = found.filter(is_weak)["text"].unique()
    while len(frequent):
        rest = counted.filter(pl.col("text").is_in(frequent.implode())).join(condemned, on=ROW, how="anti")
        spread = rest.group_by("text").agg(pl.col("row_sequence").n_unique())
        still = spread.filter(pl.col("row_sequence") > most)["text"].sort()
        if len(still) == len(frequent):
            break
        frequent = still
        strong = found.filter(is_weak & ~pl.col("text").is_in(frequent.implode())).select(ROW)
        condemned = pl.concat([condemned, strong]).unique()
    return is_weak & found["text"].is_in(frequent.implode())


def _is_context_alone(found: pl.DataFrame) -> pl.Expr:
    """Context parts of an item none of whose other parts is condemned in the same row."""
    supported = ((pl.col("kind") != "context") & (pl.col("verdict") == "contaminated")).any().over([*ROW, *ITEM])
    return (pl.col("kind") == "context") & ~supported


def _other_context(found: pl.DataFrame, prepared: PreparedItems) -> pl.Series:
    """Questions that several items share, in a row that holds the context of another of these items.

    HarmBench has items that differ only in their context: the context is part of the item's key.
    """
    has_context = prepared.items.parts.filter(pl.col("kind") == "context").select(ITEM).unique()
    # polars evaluates nested windows per outer group, so the inner one is a column of its own.
    marked = found.select(
        *ROW, *ITEM, "text", "kind", (pl.col("kind") == "context").any().over([*ROW, *ITEM]).alias("own_context")
    ).join(has_context.with_columns(pl.lit(True).alias("has_context")), on=ITEM, how="left", maintain_order="left")
    some_context = pl.col("own_context").any().over([*ROW, "benchmark", "text"])
    is_other = (pl.col("kind") != "context") & pl.col("has_context") & ~pl.col("own_context") & some_context
    return marked.select(is_other.fill_null(False).alias("is_other")).to_series()


def _with_item_places(found: pl.DataFrame, prepared: PreparedItems) -> pl.DataFrame:
    """Return the frame with item_start and item_end, in characters of each part's text as read."""
    place = ["part_index", "item_first", "item_last"]
    places = found.select(place).unique(maintain_order=True)
    matched = prepared.items.parts.filter(pl.col("part_index").is_in(places["part_index"].implode()))
    index = matched["part_index"].search_sorted(places["part_index"]).to_numpy().astype(np.int64)
    start, end = characters(
        matched["text"].to_list(), index, places["item_first"].to_numpy(), places["item_last"].to_numpy()
    )
    spans = places.with_columns(
        pl.Series("item_start", start, dtype=pl.Int64), pl.Series("item_end", end, dtype=pl.Int64)
    )
    return found.join(spans, on=place, how="left", maintain_order="left")


def _with_labels(found: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with pool_labels and label_conflict, null where the labels are not both known."""
    policies = [name for name in labels.columns if name not in ROW]
    if not policies:
        empty = pl.Struct({})
        return found.with_columns(
            pl.lit(None, pl.Boolean).alias("label_conflict"), pl.lit(None).cast(empty).alias("pool_labels")
        )
    named = {name: f"label of {name}" for name in policies}
    found = found.join(labels.rename(named), on=ROW, how="left", maintain_order="left")
    differs = pl.any_horizontal(*(pl.col(named[name]) != pl.col("item_label") for name in policies))
    struct = pl.struct(pl.col(named[name]).alias(name) for name in policies)
    return found.with_columns(differs.alias("label_conflict"), struct.alias("pool_labels"))
