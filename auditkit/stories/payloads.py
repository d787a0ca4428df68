"""Payloads of items that share an instruction, as items of their own: the same detectors, the same verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from auditkit import tables
from auditkit.detect.protocol import Index, Rows
from auditkit.text.items import ItemTexts, distinct_texts
from auditkit.verify.items import PreparedItems, prepare
from auditkit.verify.matches import verify
from auditkit.verify.payloads import as_items, payloads, with_payloads


@dataclass(frozen=True)
class Payloads:
    """The payloads of the benchmarks' items and of their decoys; none where no items share an instruction.

    Attributes:
        prepared: their distinct texts.
        places: text (of a payload), item (the distinct text that has it), shift (its first token there).
        indexes: the lexical detectors' indexes of them.
    """

    prepared: PreparedItems
    places: pl.DataFrame
    indexes: Mapping[str, Index]

    @staticmethod
    def make(prepared: PreparedItems, index: Callable[[ItemTexts], Mapping[str, Index]]) -> Payloads | None:
        """Return the payloads of prepared items, None where there are none.

        Args:
            prepared: the items and their decoys.
            index: makes the lexical detectors' indexes of distinct texts.
        """
        found = payloads(prepared)
        if found.is_empty():
            return None
        is_own = pl.col("item") < prepared.items.n_own
        own, decoys = (found.filter(where).select(tables.ITEMS.keys()) for where in (is_own, ~is_own))
        texts = distinct_texts(own, min_answer_tokens=0, decoys=decoys)
        places = texts.parts.select(pl.col("text_index").alias("text"), "item").join(
            found.select("item", "shift"), on="item", how="left", maintain_order="left"
        )
        return Payloads(prepare(texts, prepared.rules), places, index(texts))

    def add(self, rows: Rows, pairs: pl.DataFrame, prepared: PreparedItems, tiers: frozenset[str]) -> pl.DataFrame:
        """Return the lexical pairs of a shard with those of payloads that the items as wholes do not have.

        Args:
            rows: the shard.
            pairs: frame VERIFIED of the items.
            prepared: the items.
            tiers: tiers that run.
        """
        proposed = pl.concat([index.scan(rows) for index in self.indexes.values()])
        found = verify(proposed, rows.texts, rows.tokens, self.prepared, tiers).pairs
        return with_payloads(pairs, as_items(found, self.places, rows.tokens, prepared)) if len(found) else pairs
