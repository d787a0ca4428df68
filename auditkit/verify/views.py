"""Pairs that readings of a row gave -> pairs of the row: their places in it, and which of several readings stands."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from auditkit.text.normalise import Tokens
from auditkit.text.views.programs import PROGRAM
from auditkit.text.views.reading import Reading
from auditkit.verify.items import PreparedItems
from auditkit.verify.records import DECIDED, completed

#: The rule that lowers a pair of a view to review.
RIVAL = "views.rival"
#: Where a pair was found: 0 in the canonical text, then the readings in their order.
RANK = "rank"


def placed(pairs: pl.DataFrame, units: Sequence[int], readings: Sequence[Reading], first_rank: int) -> pl.DataFrame:
    """Return the pairs of readings as pairs of the texts that they are readings of: frame VERIFIED and `rank`.

    Args:
        pairs: frame VERIFIED; `unit` is the number of the reading, places are characters of it.
        units: number of the text in its shard, of each reading.
        readings: what was read.
        first_rank: rank of the first reading.
    """
    columns = pairs.select("unit", "row_start", "row_end", "view").rows()
    spans = [readings[unit].span(start, end) for unit, start, end, _ in columns]
    views = ["+".join([*readings[unit].views, *([view] if view != "canonical" else [])]) for unit, *_, view in columns]
    return pairs.with_columns(
        pl.Series("unit", [units[unit] for unit, *_ in columns], dtype=pl.Int64),
        pl.Series("row_start", [start for start, _ in spans], dtype=pl.Int64),
        pl.Series("row_end", [end for _, end in spans], dtype=pl.Int64),
        pl.Series("view", views, dtype=pl.String),
        (pl.col("unit").cast(pl.Int64) + first_rank).alias(RANK),
    )


def joined(canonical: pl.DataFrame, of_views: Sequence[pl.DataFrame], n_own: int) -> pl.DataFrame:
    """Return the pairs of a shard, each as the first reading that condemns it has it, else as the first that shows it.

    A row in disguise was made from one item, and its near twins come with it: a pair of a view is for review where a
    pair of another item in the same place is more alike.

    Args:
        canonical: frame VERIFIED of the canonical texts.
        of_views: frames that `placed` returned.
        n_own: item texts below this number rival each other; those from it on are decoys, which do so among themselves.
    """
    every = pl.concat([canonical.with_columns(pl.lit(0, pl.Int64).alias(RANK)), *of_views])
    if len(every) == len(canonical):
        return canonical
    is_weak = pl.col("verdict") != "contaminated"
    best = pl.col(RANK).sort_by(is_weak, RANK).first().over("unit", "text")
    kept = every.filter(pl.col(RANK) == best).sort("unit", "text", "row_start", "row_end", maintain_order=True)
    return _without_rivals(kept, n_own).drop(RANK)


def _without_rivals(pairs: pl.DataFrame, n_own: int) -> pl.DataFrame:
    """Return the pairs with those of a view turned to review that a better one contests."""
    about = pairs.select(
        "unit", "text", "row_start", "row_end", "ratio", RANK, (pl.col("text") < n_own).alias("is_own"),
        (pl.col("verdict") == "contaminated").alias("condemns"),
    ).with_row_index("place")  # fmt: skip
    mine = about.filter("condemns", pl.col(RANK) > 0)
    both = mine.join(about.filter("condemns"), on=["unit", "is_own"], suffix="_other")
    rivals = both.filter(
        (pl.col("text") != pl.col("text_other"))
        & (pl.col("ratio_other") > pl.col("ratio"))
        & (pl.col("row_start") < pl.col("row_end_other"))
        & (pl.col("row_start_other") < pl.col("row_end"))
    )
    best = rivals.group_by("place").agg(pl.col("ratio_other").max().alias("least"))
    weak = about.select("place").join(best, on="place", how="left", maintain_order="left")["least"]
    return pairs.with_columns(
        pl.when(weak.is_not_null()).then(pl.lit("review")).otherwise("verdict").alias("verdict"),
        pl.when(weak.is_not_null()).then(pl.lit(RIVAL)).otherwise("rule").alias("rule"),
        pl.when(weak.is_not_null()).then(weak).otherwise("threshold").alias("threshold"),
    )


# ---------------------------------------------------------------- programs

#: The rule that condemns an equal function, and the rank of its pairs: any reading of the text stands before them.
PROGRAM_RULE, PROGRAM_RANK = "views.program", 1 << 40


def program_pairs(
    found: pl.DataFrame, texts: pl.Series, tokens: Tokens, prepared: PreparedItems, tiers: frozenset[str]
) -> pl.DataFrame:
    """Return the pairs of rows that hold a function of an item: frame VERIFIED and `rank`; none without tier `near`.

    Args:
        found: what ProgramIndex.find returned.
        texts, tokens: the shard.
        prepared: the items.
        tiers: tiers that run.
    """
    found = found if "near" in tiers else found.clear()
    said = {"tier": "near", "verdict": "contaminated", "rule": PROGRAM_RULE, "ratio_kind": "equality"}
    whole = {"row_last": tokens.lengths[found["unit"]], "item_last": prepared.items.tokens.lengths[found["text"]]}
    decided = found.select(
        "unit", "text",
        *(pl.lit(value).alias(name) for name, value in said.items()),
        *(pl.lit(1.0).alias(name) for name in ("threshold", "ratio")),
        *(pl.lit(None, DECIDED[name]).alias(name) for name in ("cosine", "encoder")),
        *(pl.lit(0, pl.Int64).alias(name) for name in ("row_first", "item_first")),
        *(pl.Series(name, values, dtype=pl.Int64) for name, values in whole.items()),
        pl.lit(False).alias("is_partial"),
    )  # fmt: skip
    # The numbers of equal functions are equal; those of an item's examples stand in its docstring.
    return completed(decided, texts, tokens, prepared).with_columns(
        found["row_start"],
        found["row_end"],
        pl.lit(PROGRAM).alias("view"),
        pl.lit(False).alias("numbers_differ"),
        pl.lit(PROGRAM_RANK, pl.Int64).alias(RANK),
    )
