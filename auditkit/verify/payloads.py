"""What items say beside the instruction that they share with others: looked for by itself, in whatever wrapper."""

from __future__ import annotations

import numpy as np
import polars as pl

from auditkit import tables
from auditkit.text.normalise import Tokens
from auditkit.verify.items import PreparedItems, at_least
from auditkit.verify.records import overlaps

#: The rule of a match of an item's payload: the row holds it without the instruction.
ALONE = "templates.alone"
#: A payload's place in its item: frame tables.ITEMS with `item` the distinct text, and its first token there.
PAYLOADS: tables.Schema = tables.ITEMS | {"shift": pl.Int64()}


def payloads(prepared: PreparedItems) -> pl.DataFrame:
    """Return frame PAYLOADS: of each text with a template its longest stretch of own tokens.

    That stretch has to hold nine tenths of the text's own tokens (`templates.condemns`), and be long enough to condemn
    inside a longer row (`contained.min_tokens` and the like): what is shorter says too little by itself.
    """
    tokens, found = prepared.items.tokens, []
    for text in np.flatnonzero(prepared.has_template).tolist():
        first, last = _longest_own(prepared, text)
        if _is_enough(prepared, text, first, last):
            own = tokens.slice(text, first, last)
            found.append({"benchmark": "", "item": text, "kind": "question", "text": own, "shift": first})
    return pl.DataFrame(found, schema=PAYLOADS)


def _longest_own(prepared: PreparedItems, text: int) -> tuple[int, int]:
    """Return the longest stretch of tokens (half open) of a text that are in no template."""
    mask = np.concatenate([[True], prepared.template_mask(text), [True]])
    edges = np.flatnonzero(mask)
    lengths = np.diff(edges) - 1
    longest = int(np.argmax(lengths))
    return int(edges[longest]), int(edges[longest] + lengths[longest])


def _is_enough(prepared: PreparedItems, text: int, first: int, last: int) -> bool:
    rules, n_tokens = prepared.rules, last - first
    n_own = int((~prepared.template_mask(text)).sum())
    if n_own == 0 or not at_least(n_tokens, rules.templates.condemns, n_own):
        return False
    if prepared.items.are_unspaced[text]:
        return n_tokens >= rules.contained.min_unspaced
    n_characters = len(prepared.items.tokens.slice(text, first, last))
    return n_tokens >= rules.contained.min_tokens and n_characters >= rules.contained.min_characters


def as_items(found: pl.DataFrame, places: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> pl.DataFrame:
    """Return pairs of rows and payloads as pairs of rows and the items' texts: frame VERIFIED.

    The row is a distinctive part of the item, so the tier is `contained`; its overlaps are those with the whole item.

    Args:
        found: frame VERIFIED; `text` is the number of the payload.
        places: text (of the payload), item (the distinct text that has it), shift.
        tokens: of the shard.
        prepared: the items.
    """
    whole = found.join(places, on="text", how="inner", maintain_order="left").with_columns(
        pl.col("item").alias("text"),
        pl.col("item_first") + pl.col("shift"),
        pl.col("item_last") + pl.col("shift"),
        pl.lit("contained").alias("tier"),
        pl.when(pl.col("verdict") == "contaminated").then(pl.lit(ALONE)).otherwise("rule").alias("rule"),
    )
    scores = overlaps(whole["unit"].to_numpy(), whole["text"].to_numpy(), tokens, prepared)
    return whole.with_columns(*scores).select(found.columns)


def with_payloads(pairs: pl.DataFrame, alone: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of a shard with those of payloads that say more than the item as a whole does of the row.

    Args:
        pairs: frame VERIFIED.
        alone: frame VERIFIED, from `as_items`.
    """
    key = ["unit", "text"]
    condemned = pl.col("verdict") == "contaminated"
    more = alone.join(pairs.filter(condemned), on=key, how="anti")
    more = more.filter(condemned).vstack(more.filter(~condemned).join(pairs, on=key, how="anti"))
    weaker = pairs.join(more.filter(condemned), on=key, how="anti", maintain_order="left")
    return pl.concat([weaker, more]).sort(*key, "row_start", "row_end", maintain_order=True) if len(more) else pairs
