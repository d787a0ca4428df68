"""Ruled paraphrases -> the same with a cross-encoder's score, which can hold back what would be condemned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from auditkit.text.cross_encode import CrossEncoder
from auditkit.text.items import ItemTexts
from auditkit.verify.rules import Paraphrase

#: Columns that with_cross_scores adds.
CROSS = {"cross_encoder": pl.Float64(), "is_cut": pl.Boolean()}
#: Rule of a pair that is for review since the cross-encoder's score is too low.
HELD = "paraphrase.cross_encoder"


def with_cross_scores(
    ruled: pl.DataFrame, texts: pl.Series, items: ItemTexts, encoder: CrossEncoder, rule: Paraphrase
) -> pl.DataFrame:
    """Return the pairs with the columns of CROSS, and for review where the score is below `rule.cross_encoder`.

    Possible translations have no score: the whole pool decides them. A score neither adds nor removes a match, nor
    does it condemn.

    Args:
        ruled: what rule_paraphrases gave: unit, text, verdict, rule, threshold and row_mean.
        texts: the texts of the shard, String.
        items: the distinct item texts.
        encoder: scores pairs; equal ones once.
        rule: the rules in force.
    """
    is_decided = ruled["row_mean"].is_null()
    rows = texts.gather(ruled["unit"].filter(is_decided))
    theirs = items.shown["text"].gather(items.shown["text_index"].search_sorted(ruled["text"].filter(is_decided)))
    pairs = list(zip(rows.to_list(), theirs.to_list(), strict=True))
    distinct = list(dict.fromkeys(pairs))
    found = encoder.score(distinct)
    place = {pair: at for at, pair in enumerate(distinct)}
    at = np.array([place[pair] for pair in pairs], np.int64)
    at_row = np.flatnonzero(is_decided.to_numpy())
    scored = pl.DataFrame({"at": at_row, "cross_encoder": found.scores[at], "is_cut": found.are_cut[at]})
    joined = ruled.with_row_index("at").with_columns(pl.col("at").cast(pl.Int64))
    return _held(joined.join(scored, on="at", how="left", maintain_order="left").drop("at"), rule)


def _held(scored: pl.DataFrame, rule: Paraphrase) -> pl.DataFrame:
    is_held = ((pl.col("verdict") == "contaminated") & (pl.col("cross_encoder") < rule.cross_encoder)).fill_null(False)
    return scored.with_columns(
        pl.when(is_held).then(pl.lit("review")).otherwise("verdict").alias("verdict"),
        pl.when(is_held).then(pl.lit(HELD)).otherwise("rule").alias("rule"),
        pl.when(is_held).then(pl.lit(rule.cross_encoder)).otherwise("threshold").alias("threshold"),
    )


def describe_cross_encoder(encoder: CrossEncoder, rule: Paraphrase, pairs: pl.DataFrame) -> Mapping[str, Any]:
    """Return what the cross-encoder is, its threshold, and what it scored and held back of an audit's pairs.

    Args:
        encoder: that was asked.
        rule: the rules in force.
        pairs: frame VERIFIED of the whole pool.
    """
    return {
        **encoder.describe(),
        "threshold": rule.cross_encoder,
        "n_pairs": int(pairs["cross_encoder"].is_not_null().sum()),
        "n_truncated": int(pairs["is_cut"].sum()),
        "n_held": int((pairs["rule"] == HELD).sum()),
    }
