"""Labels that contradict each other: texts that are near and stand under both labels of a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from auditkit.records import TIERS

#: A pair of texts, whichever was looked up in which.
PAIR = ["low", "high"]
_AS_PAIR = (pl.min_horizontal("unit", "text").alias("low"), pl.max_horizontal("unit", "text").alias("high"))
#: What a verified pair says of itself, and what a text says that is its own copy.
MEASURES: dict[str, pl.Expr] = {
    "tier": pl.lit("exact"),
    "verdict": pl.lit("contaminated"),
    "rule": pl.lit("exact"),
    "ratio": pl.lit(1.0),
    "numbers_differ": pl.lit(False),
}


@dataclass(frozen=True)
class Opposed:
    """Pairs of texts under both labels of a policy.

    Attributes:
        pairs: policy, `flagged` and `passed` (Int64, numbers of texts: some row of the first has label 1, some row of
            the second label 0; one text may be both), and the MEASURES of the pair.
        n_measured: pairs of unlike texts that were measured.
    """

    pairs: pl.DataFrame
    n_measured: int


def opposed(
    holders: pl.DataFrame,
    policies: Sequence[str],
    candidates: pl.DataFrame,
    near: Callable[[pl.DataFrame], pl.DataFrame],
) -> Opposed:
    """Return the near pairs of texts with opposite labels, each verified itself.

    That both are of one family is not enough: the ends of a chain of near pairs may be unlike.

    Args:
        holders: `text` (number of a distinct text), and an Int8 column per policy: a line for each row that has it.
        policies: the policies' names, one at least.
        candidates: frame tables.CANDIDATES, `unit` and `text` two distinct texts.
        near: candidates -> frame of `unit`, `text` and MEASURES, those that are near.
    """
    labels = _labels_of_texts(holders, policies)
    paired = candidates.with_columns(_AS_PAIR)
    asked = _with_labels(paired.select(PAIR).unique(), labels).filter(_clashes(policies)).select(PAIR)
    found = _best(near(paired.join(asked, on=PAIR, how="semi", maintain_order="left").drop(PAIR)))
    own = labels.select(*(pl.col("text").alias(side) for side in PAIR), **MEASURES)
    known = _with_labels(pl.concat([own, found]), labels)
    each = [_under(known, policy) for policy in policies]
    return Opposed(pl.concat(each).unique(maintain_order=True), len(asked))


def _labels_of_texts(holders: pl.DataFrame, policies: Sequence[str]) -> pl.DataFrame:
    """Return `text`, and for each policy whether some row of it has label 1, and label 0: Boolean "P=1", "P=0"."""
    has = [(pl.col(policy) == label).any().alias(f"{policy}={label}") for policy in policies for label in (1, 0)]
    return holders.group_by("text").agg(has).sort("text")


def _with_labels(pairs: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the labels of both texts: "low P=1", "high P=0" and so on."""
    for side in PAIR:
        named = labels.select(pl.col("text").alias(side), pl.exclude("text").name.prefix(f"{side} "))
        pairs = pairs.join(named, on=side, how="left", maintain_order="left")
    return pairs


def _clash(policy: str, flagged: str, passed: str) -> pl.Expr:
    """Return whether one side of a pair has a row that is flagged, and the other one that is not."""
    return pl.col(f"{flagged} {policy}=1") & pl.col(f"{passed} {policy}=0")


def _clashes(policies: Sequence[str]) -> pl.Expr:
    return pl.any_horizontal(_clash(policy, *way) for policy in policies for way in (PAIR, PAIR[::-1]))


def _best(verified: pl.DataFrame) -> pl.DataFrame:
    """Return each pair once, as PAIR and MEASURES: by its strongest tier, then its highest ratio."""
    tier = pl.col("tier").cast(pl.Enum(TIERS))
    ordered = verified.with_columns(_AS_PAIR).sort(*PAIR, tier, -pl.col("ratio"), "unit", maintain_order=True)
    return ordered.unique(PAIR, keep="first", maintain_order=True).select(*PAIR, *MEASURES)


def _under(pairs: pl.DataFrame, policy: str) -> pl.DataFrame:
    """Return the pairs that conflict under a policy, the flagged text first; one that does so both ways is two."""
    ways = [
        pairs.filter(_clash(policy, flagged, passed)).select(
            pl.lit(policy).alias("policy"), pl.col(flagged).alias("flagged"), pl.col(passed).alias("passed"), *MEASURES
        )
        for flagged, passed in (PAIR, PAIR[::-1])
    ]
    return pl.concat(ways).sort("flagged", "passed")
