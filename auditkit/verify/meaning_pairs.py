"""Paraphrase candidates of a shard -> the same with the verifier's score."""

from __future__ import annotations

import numpy as np
import polars as pl

from auditkit.text.items import ItemTexts
from auditkit.verify import meaning
from auditkit.verify.meaning import ENCODERS, Reading

#: Columns that with_meaning adds.
MEANING = {"meaning": pl.Float64(), "n_facts": pl.Int64(), "opposes": pl.Boolean()}


def with_meaning(candidates: pl.DataFrame, texts: pl.Series, items: ItemTexts) -> pl.DataFrame:
    """Return the candidates with the columns of MEANING, null for encoders that the verifier was not fitted for.

    A score is null, too, where the benchmark has no other text to see the pair against.

    Args:
        candidates: frame of tables.CLOSE.
        texts: the texts of the shard, String.
        items: the distinct item texts.
    """
    is_known = candidates["detector"].is_in(list(ENCODERS)) & candidates["item_lead"].is_not_null()
    known = candidates.filter(is_known)
    rows = _readings(known["unit"], texts)
    shown = items.shown
    theirs = _readings(shown["text_index"].search_sorted(known["text"]).cast(pl.Int64), shown["text"])
    measured = known.select("cosine", "lead", "item_lead").to_numpy()
    values = pl.DataFrame(
        {
            "meaning": meaning.scores(rows, theirs, measured),
            "n_facts": [item.n_facts for item in theirs],
            "opposes": [meaning.opposes(row, item) for row, item in zip(rows, theirs, strict=True)],
        },
        schema=MEANING,
    )
    others = candidates.filter(~is_known).with_columns(pl.lit(None, kind).alias(name) for name, kind in MEANING.items())
    return pl.concat([known.hstack(values), others])


def _readings(places: pl.Series, texts: pl.Series) -> list[Reading]:
    """Return the readings of the texts at `places`; each text is read once."""
    distinct, index = np.unique(places.to_numpy(), return_inverse=True)
    read = [Reading.of(text) for text in texts.gather(distinct).to_list()]
    return [read[i] for i in index.tolist()]
