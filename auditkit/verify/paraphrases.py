"""Paraphrase candidates -> verified pairs: all for review, with the lexical scores beside the cosine."""

from __future__ import annotations

import polars as pl

from auditkit import tables
from auditkit.text.normalise import Tokens
from auditkit.verify.align import characters, numbers_differ, view_of
from auditkit.verify.items import PreparedItems
from auditkit.verify.matches import VERIFIED
from auditkit.verify.scores import score
from auditkit.verify.shard import ShardRows, overlap


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
    rows, scores = ShardRows(texts, tokens), score(best, tokens, prepared)
    records = []
    for i, (unit, text, encoder, cosine) in enumerate(best.select("unit", "text", "detector", "cosine").iter_rows()):
        placed, item = rows.placed(unit), prepared.items.tokens.words(text)
        start, end = characters(placed, (0, len(placed)))
        rule = encoder if encoder in ("minilm", "multilingual") else "other"
        records.append(
            {
                "unit": unit,
                "text": text,
                "tier": "paraphrase",
                "verdict": "review",
                "rule": f"paraphrase.{rule}",
                "threshold": prepared.rules.paraphrase.threshold(encoder),
                **overlap(unit, text, rows, prepared),
                "ratio": float(scores.token_sort[i]),
                "ratio_kind": "token_sort_ratio",
                "cosine": cosine,
                "encoder": encoder,
                "row_start": start,
                "row_end": end,
                "item_first": 0,
                "item_last": len(item),
                "view": view_of(texts[unit][start:end]),
                "numbers_differ": numbers_differ([p.token for p in placed], item),
                "is_partial": False,
                "row_sequence": int(tokens.sequences[unit]),
            }
        )
    return pl.DataFrame(records, schema=VERIFIED, orient="row")
