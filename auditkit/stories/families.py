"""Near-duplicate families inside one pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from auditkit import read
from auditkit.families import family_frame
from auditkit.stories.near import FamilySettings, SelfJoin, self_join
from auditkit.stories.pool_rows import PoolRows, read_rows

#: A text of fewer tokens ("Yes.", "Go on") joins rows only where it is all that a row asks.
MIN_JOINING_TOKENS = 5


def pool_families(pool: Any, settings: FamilySettings | None = None) -> pl.DataFrame:
    """Return the near-duplicate family of every row of a pool: frame FAMILIES (pool, row, family, size).

    Two rows are near where an audit that took one's prompts for benchmark items would condemn the other: equal after
    normalisation, contained, or an edited copy, with the numbers unchanged. Families are what hangs together by near
    pairs: where A is like B and B like C, all three are one family, though A and C may be unlike, for only then can no
    near pair come apart. So a chain of small edits is one family, and a family may hold opposite labels.

    Of a row its prompts count (see read/prompts.py); of several prompts those of five tokens and more, or the longest.
    Not counted is how often a part recurs in the pool, which may turn
    an audit's partial matches to review: families rather join too much than too little. Frames with a template that a
    twentieth of all prompts share are told apart by what is each one's own, as in an audit.

    The pool's prompts are held in memory. Cost (benchmarks/families.py): 13 seconds of one busy
    core for 10,000 short prompts.

    Args:
        pool: whatever `auditkit.open_pool` takes.
        settings: what is read, and what is near.
    """
    settings = settings or FamilySettings()
    return families_of(read_rows(read.open_pool(pool, settings.read), settings.read), settings)


def families_of(pool: PoolRows, settings: FamilySettings) -> pl.DataFrame:
    """Return the families of a pool that was read: frame FAMILIES, in the order of its rows."""
    return kinship(pool, settings).families


@dataclass(frozen=True)
class Kinship:
    """The families of a pool, and what they were made of.

    Attributes:
        families: frame FAMILIES, in the order of the pool's rows.
        texts: pool, row and `text` (Int64, number of a distinct text): a line for each text by which a row can be near.
        found: the distinct texts and their near pairs.
    """

    families: pl.DataFrame
    texts: pl.DataFrame
    found: SelfJoin


def kinship(pool: PoolRows, settings: FamilySettings) -> Kinship:
    """Return the families of a pool that was read, and what they were made of."""
    texts = joining_texts(pool.texts)
    found = self_join(texts["text"], settings)
    numbered = texts.select("pool", "row", found.text_of.alias("text")).drop_nulls("text")
    return Kinship(family_frame(pool.rows, numbered, found.links), numbered, found)


def joining_texts(texts: pl.DataFrame) -> pl.DataFrame:
    """Return the prompts by which rows can be near: long enough, or the longest of their row."""
    longest = pl.col("n_tokens").max().over("pool", "row")
    return texts.filter((pl.col("n_tokens") >= MIN_JOINING_TOKENS) | (pl.col("n_tokens") == longest))
