"""Paraphrase candidates -> verified pairs: all for review, with the lexical scores beside the cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from auditkit import tables
from auditkit.text.normalise import Tokens
from auditkit.verify.items import PreparedItems
from auditkit.verify.records import completed
from auditkit.verify.scores import whole_rows
from auditkit.verify.windows import Windows

#: Pairs that review gets of one item text: those of the highest cosine. The number beyond is in the report.
MAX_PAIRS = 100
#: How many pairs of an item text are not shown.
BEYOND: tables.Schema = {"text": pl.Int64(), "n_beyond": pl.Int64()}


@dataclass(frozen=True)
class Paraphrases:
    """Pairs for review, at most MAX_PAIRS of one item text, and frame BEYOND of those that were left out."""

    pairs: pl.DataFrame
    beyond: pl.DataFrame


def verify_paraphrases(
    candidates: pl.DataFrame, lexical: pl.DataFrame, texts: pl.Series, tokens: Tokens, prepared: PreparedItems
) -> Paraphrases:
    """Return the verified paraphrase pairs of a shard, the best of each item text: frame VERIFIED.

    Args:
        candidates: frame of tables.CANDIDATES of one or more encoders; of two encoders, the higher cosine stands.
        lexical: the shard's lexical pairs; a pair that a stronger tier has is not reported again.
        texts: the texts of the shard, String.
        tokens: their tokens.
        prepared: the items.
    """
    tables.check(candidates, tables.CANDIDATES, "verify_paraphrases")
    best = candidates.sort("cosine", descending=True, maintain_order=True).unique(
        ["unit", "text"], keep="first", maintain_order=True
    )
    best = best.join(lexical.select("unit", "text"), on=["unit", "text"], how="anti").sort("unit", "text")
    # What a shard leaves out cannot be among the best of the pool, and is not worth the pairwise work.
    best, beyond = _cut(best)
    windows = Windows.of(best, tokens, prepared)
    _, token_sort = whole_rows(windows, np.arange(len(windows)), least=0.0)
    encoder, rule = pl.col("detector"), prepared.rules.paraphrase
    named = pl.when(encoder.is_in(["minilm", "multilingual"])).then(encoder).otherwise(pl.lit("other"))
    decided = best.select(
        "unit",
        "text",
        pl.lit("paraphrase").alias("tier"),
        pl.lit("review").alias("verdict"),
        pl.format("paraphrase.{}", named).alias("rule"),
        pl.Series("threshold", [rule.threshold(name) for name in best["detector"]], dtype=pl.Float64),
        pl.Series("ratio", token_sort, dtype=pl.Float64),
        pl.lit("token_sort_ratio").alias("ratio_kind"),
        "cosine",
        encoder.alias("encoder"),
        pl.lit(0, pl.Int64).alias("item_first"),
        pl.Series("item_last", windows.n_item, dtype=pl.Int64),
        pl.lit(False).alias("is_partial"),
        pl.lit(0, pl.Int64).alias("row_first"),
        pl.Series("row_last", windows.n_row, dtype=pl.Int64),
    )  # fmt: skip
    return Paraphrases(completed(decided, texts, tokens, prepared), beyond)


def keep_best(pairs: pl.DataFrame, beyond: Sequence[pl.DataFrame]) -> Paraphrases:
    """Return the pairs of a pool with at most MAX_PAIRS paraphrases of one item text.

    Of equal cosines the earlier row stays. Cutting shard by shard and then as a whole gives what cutting once gives.

    Args:
        pairs: frame VERIFIED of all tiers and shards, in the order of the pool; its other columns do not matter.
        beyond: frames BEYOND of the shards.
    """
    is_close = pl.col("tier") == "paraphrase"
    kept, more = _cut(pairs.with_row_index("place").filter(is_close))
    places = pl.concat([kept["place"], pairs.with_row_index("place").filter(~is_close)["place"]]).sort()
    sums = pl.concat([tables.empty(BEYOND), *beyond, more]).group_by("text").agg(pl.col("n_beyond").sum()).sort("text")
    return Paraphrases(pairs[places], sums)


def _cut(pairs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the best pairs of each item text in the order they came in, and how many others there were."""
    rank = pl.col("cosine").rank("ordinal", descending=True).over("text")
    more = pairs.group_by("text").agg((pl.len().cast(pl.Int64) - MAX_PAIRS).alias("n_beyond"))
    return pairs.filter(rank <= MAX_PAIRS), more.filter(pl.col("n_beyond") > 0).sort("text")
