"""Paraphrase candidates -> verified pairs: all for review, with the lexical scores beside the cosine."""

from __future__ import annotations

import numpy as np
import polars as pl

from auditkit import tables
from auditkit.text.normalise import Tokens
from auditkit.verify.items import PreparedItems
from auditkit.verify.records import completed
from auditkit.verify.scores import whole_rows
from auditkit.verify.windows import Windows


def verify_paraphrases(
    candidates: pl.DataFrame, lexical: pl.DataFrame, texts: pl.Series, tokens: Tokens, prepared: PreparedItems
) -> pl.DataFrame:
    """Return the verified paraphrase pairs of a shard: frame VERIFIED.

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
    return completed(decided, texts, tokens, prepared)
