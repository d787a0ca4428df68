"""Paraphrase candidates -> verified pairs, with the verifier's score and the lexical scores beside the cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from auditkit import tables
from auditkit.text.cross_encode import CrossEncoder
from auditkit.text.normalise import Tokens
from auditkit.verify.cross import CROSS, with_cross_scores
from auditkit.verify.items import PreparedItems
from auditkit.verify.meaning_pairs import with_meaning
from auditkit.verify.meaning_rules import rule_paraphrases
from auditkit.verify.records import completed
from auditkit.verify.scores import whole_rows
from auditkit.verify.translations import settle_translations
from auditkit.verify.windows import Windows

#: Pairs that are reported of one item text: those of the highest cosine. The number beyond is in the report.
MAX_PAIRS = 100
#: How many pairs of an item text are not shown.
BEYOND: tables.Schema = {"text": pl.Int64(), "n_beyond": pl.Int64()}


@dataclass(frozen=True)
class Paraphrases:
    """Pairs to be reported, at most MAX_PAIRS of one item text, and frame BEYOND of those that were left out."""

    pairs: pl.DataFrame
    beyond: pl.DataFrame


def verify_paraphrases(
    candidates: pl.DataFrame,
    lexical: pl.DataFrame,
    texts: pl.Series,
    tokens: Tokens,
    prepared: PreparedItems,
    cross_encoder: CrossEncoder | None = None,
) -> Paraphrases:
    """Return the verified paraphrase pairs of a shard, the best of each item text: frame VERIFIED.

    Possible translations and the closest rows of each item are among them; only the whole pool tells which stay.

    Args:
        candidates: frame of tables.CLOSE of one or more encoders; a pair counts for the one that says most of it.
        lexical: the shard's lexical pairs; a pair that a stronger tier has is not reported again.
        texts: the texts of the shard, String.
        tokens: their tokens.
        prepared: the items.
        cross_encoder: scores what is reported; None: nobody does.
    """
    tables.check(candidates, tables.CLOSE, "verify_paraphrases")
    new = candidates.join(lexical.select("unit", "text"), on=["unit", "text"], how="anti")
    ruled = rule_paraphrases(with_meaning(new, texts, prepared.items), prepared.rules.paraphrase)
    best = ruled.sort("strength", "cosine", descending=True, maintain_order=True).unique(
        ["unit", "text"], keep="first", maintain_order=True
    )
    # What a shard leaves out cannot be among the best of the pool, and is not worth the pairwise work.
    best, beyond = _cut(best.sort("unit", "text"), pl.col("row_mean").is_not_null())
    if cross_encoder is not None:
        best = with_cross_scores(best, texts, prepared.items, cross_encoder, prepared.rules.paraphrase)
    windows = Windows.of(best, tokens, prepared)
    _, token_sort = whole_rows(windows, np.arange(len(windows)), least=0.0)
    decided = best.select(
        "unit",
        "text",
        pl.lit("paraphrase").alias("tier"),
        "verdict",
        "rule",
        "threshold",
        pl.Series("ratio", token_sort, dtype=pl.Float64),
        pl.lit("token_sort_ratio").alias("ratio_kind"),
        "cosine",
        pl.col("detector").alias("encoder"),
        "meaning",
        *(name for name in CROSS if name in best.columns),
        "row_mean",
        pl.lit(0, pl.Int64).alias("item_first"),
        pl.Series("item_last", windows.n_item, dtype=pl.Int64),
        pl.lit(False).alias("is_partial"),
        pl.lit(0, pl.Int64).alias("row_first"),
        pl.Series("row_last", windows.n_row, dtype=pl.Int64),
    )  # fmt: skip
    return Paraphrases(completed(decided, texts, tokens, prepared), beyond)


def keep_best(pairs: pl.DataFrame, beyond: Sequence[pl.DataFrame]) -> Paraphrases:
    """Return the pairs of a pool with their margins, and at most MAX_PAIRS paraphrases of one item text.

    Of equal cosines the earlier row stays. Cutting shard by shard and then as a whole gives what cutting once gives.

    Args:
        pairs: frame VERIFIED of all tiers and shards with column `pool`, in the order of the pool.
        beyond: frames BEYOND of the shards.
    """
    pairs, is_close = settle_translations(pairs), pl.col("tier") == "paraphrase"
    kept, more = _cut(pairs.with_row_index("place").filter(is_close), pl.lit(False))
    places = pl.concat([kept["place"], pairs.with_row_index("place").filter(~is_close)["place"]]).sort()
    sums = pl.concat([tables.empty(BEYOND), *beyond, more]).group_by("text").agg(pl.col("n_beyond").sum()).sort("text")
    return Paraphrases(pairs[places], sums)


def _cut(pairs: pl.DataFrame, is_open: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the best pairs of each item text in the order they came in, and how many others there were.

    Those that `is_open` holds for all stay: which of them are reported is not known before the whole pool is.
    """
    rank = pl.col("cosine").rank("ordinal", descending=True).over("text", is_open)
    more = pairs.filter(~is_open).group_by("text").agg((pl.len().cast(pl.Int64) - MAX_PAIRS).alias("n_beyond"))
    return pairs.filter(is_open | (rank <= MAX_PAIRS)), more.filter(pl.col("n_beyond") > 0).sort("text")
