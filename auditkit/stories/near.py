"""Near pairs between pool texts, by the audit's own detectors, measures and rules: the pool's texts play the items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from auditkit import tables
from auditkit.detect.exact import ExactDetector
from auditkit.detect.minhash import MinHashDetector
from auditkit.detect.protocol import Index, Rows
from auditkit.detect.seeds import SeedDetector
from auditkit.errors import UsageError
from auditkit.families import Components
from auditkit.records import LEXICAL_TIERS, ReadSettings
from auditkit.stories.settings import AuditSettings
from auditkit.text.items import ItemTexts, distinct_texts
from auditkit.text.normalise import tokenise
from auditkit.verify.condemned import can_condemn, condemned
from auditkit.verify.items import PreparedItems, prepare
from auditkit.verify.rules import Rules

#: Rounds in which only pairs that would join two families are verified; the rest then comes at once.
_FOREST_ROUNDS = 8
_TIERS = frozenset(LEXICAL_TIERS)
#: A pair of texts, whichever of them plays the item.
PAIR = ["low", "high"]


@dataclass(frozen=True)
class FamilySettings:
    """What makes two rows near.

    Attributes:
        read: what of the pool is read; of that the prompts count (see read/prompts.py).
        rules: a rules file, Rules, or None for the audit's defaults.
        join_numbers: whether texts that are near but for a number ("Road 1506", "Road 1507") are one family. The audit
            takes them for different questions, and so does this by default.
        max_texts: how many of the pool's texts may share a seed. The audit's 32 is for few items: of a pool of 10,500
            short prompts it loses 0.7 % of the near pairs (templates), and 128 none (benchmarks/families.py).
    """

    read: ReadSettings = field(default_factory=ReadSettings)
    rules: Rules | str | Path | None = None
    join_numbers: bool = False
    max_texts: int = 128

    def __post_init__(self) -> None:
        if self.max_texts < 1:
            raise UsageError(f"max_texts is {self.max_texts}, expected a whole number from 1")

    def all_rules(self) -> Rules:
        """Return the rules in force."""
        rules = AuditSettings(rules=self.rules).all_rules()
        return replace(rules, near=replace(rules.near, numbers_condemn=True)) if self.join_numbers else rules


@dataclass(frozen=True)
class NearIndex:
    """Distinct texts as items, indexed and prepared: other texts are looked up in it."""

    texts: ItemTexts
    prepared: PreparedItems
    indexes: Mapping[str, Index]

    @staticmethod
    def make(texts: pl.Series, settings: FamilySettings) -> NearIndex:
        """Return the index of a String series; of equal texts one stands for all."""
        rules = settings.all_rules()
        distinct = distinct_texts(_as_items(texts), min_answer_tokens=0)
        m = rules.minhash
        indexes: dict[str, Index] = {
            "exact": ExactDetector().index(distinct),
            # All seeds: which are the rarest changes with the texts beside them, and both sides of a split must agree.
            "seeds": SeedDetector(max_texts=settings.max_texts, kept=1.0).index(distinct),
            "minhash": MinHashDetector(
                "minhash", m.jaccard, m.recall, m.permutations, m.bands, m.rows, m.seed
            ).index(distinct),
        }  # fmt: skip
        return NearIndex(distinct, prepare(distinct, rules), indexes)

    def candidates(self, rows: Rows) -> pl.DataFrame:
        """Return what the detectors propose: frame tables.CANDIDATES."""
        return pl.concat([tables.empty(tables.CANDIDATES), *(index.scan(rows) for index in self.indexes.values())])

    def pairs(self, texts: pl.Series) -> pl.DataFrame:
        """Return every pair that an audit of `texts` against this index condemns: `unit`, `text` (Int64)."""
        rows = Rows(texts, tokenise(texts))
        return condemned(self.candidates(rows), texts, rows.tokens, self.prepared, _TIERS)


@dataclass(frozen=True)
class SelfJoin:
    """Distinct texts of a pool and the pairs that hold its families together.

    Attributes:
        text_of: number of the distinct text of each text, null for texts without a token: Int64 series [n].
        links: `left`, `right` (Int64): a spanning forest of the near pairs, not all of them.
        rows: the distinct texts, as rows that are looked up.
        index: the same as items.
        likely: what may be near, `unit` and `text` two distinct texts: frame tables.CANDIDATES.
    """

    text_of: pl.Series
    links: pl.DataFrame
    rows: Rows
    index: NearIndex
    likely: pl.DataFrame


def self_join(texts: pl.Series, settings: FamilySettings) -> SelfJoin:
    """Return which texts of a pool are near: each distinct text is looked up among all others, both ways."""
    index = NearIndex.make(texts, settings)
    parts = index.texts.parts
    first = parts.unique("text_index", keep="first", maintain_order=True).sort("text_index")["text"]
    rows = Rows(first, index.texts.tokens)
    found = index.candidates(rows).filter(pl.col("unit") != pl.col("text"))
    likely = found.filter(pl.Series(can_condemn(found, rows.tokens, index.prepared)))
    of = pl.DataFrame({"item": pl.int_range(len(texts), eager=True)}).join(
        parts.select("item", "text_index"), on="item", how="left", maintain_order="left"
    )["text_index"]
    return SelfJoin(of, _spanning(likely, rows, index.prepared), rows, index, likely)


def _spanning(candidates: pl.DataFrame, rows: Rows, prepared: PreparedItems) -> pl.DataFrame:
    """Return near pairs that join whatever all near pairs among the candidates would join.

    Verifying costs a millisecond a pair, and a template of a hundred rows has ten thousand pairs: only pairs that would
    join two families are verified, a forest of them a round.
    """
    graph, taken = Components(len(rows.tokens)), []
    low, high = pl.min_horizontal("unit", "text").alias("low"), pl.max_horizontal("unit", "text").alias("high")
    rest = candidates.sort("unit", "text").with_columns(low, high)
    for turn in range(_FOREST_ROUNDS + 1):
        root = graph.roots()
        rest = rest.filter(pl.Series(root[rest["unit"].to_numpy()] != root[rest["text"].to_numpy()], dtype=pl.Boolean))
        if rest.is_empty():
            break
        tree = _forest(rest, graph) if turn < _FOREST_ROUNDS else rest.select(PAIR).unique()
        now = rest.join(tree, on=PAIR, how="semi", maintain_order="left").drop(PAIR)
        near = condemned(now, rows.texts, rows.tokens, prepared, _TIERS)
        graph.join(near["unit"].to_numpy(), near["text"].to_numpy())
        taken.append(near.rename({"unit": "left", "text": "right"}))
        rest = rest.join(tree, on=PAIR, how="anti", maintain_order="left")
    return pl.concat([pl.DataFrame(schema={"left": pl.Int64, "right": pl.Int64}), *taken])


def _forest(candidates: pl.DataFrame, graph: Components) -> pl.DataFrame:
    """Return pairs that would join different families, and no two of them the same two: frame of PAIR."""
    pairs = candidates.select(PAIR).unique(maintain_order=True)
    return pairs.filter(pl.Series(graph.forest(pairs["low"].to_numpy(), pairs["high"].to_numpy()), dtype=pl.Boolean))


def _as_items(texts: pl.Series) -> pl.DataFrame:
    """Return texts as one benchmark's questions: frame tables.ITEMS."""
    n = len(texts)
    same = {"benchmark": "pool", "item_id": None, "slice": None, "part": "text", "kind": "question", "label": None}
    frame = pl.DataFrame({"item": np.arange(n, dtype=np.int64), "text": texts})
    columns = [
        pl.col(name) if name in frame.columns else pl.lit(same[name], dtype).alias(name)
        for name, dtype in tables.ITEMS.items()
    ]
    return frame.select(columns)
