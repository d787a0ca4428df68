"""Matches of items and of decoys -> q-values: how many of the matches that are as strong or stronger are accidents.

Target-decoy search (Elias and Gygi 2007, doi:10.1038/nmeth1019) over several decoy sets (Keich and Noble 2017,
doi:10.1101/116905): with T matches of items and D of the decoys of one set, on average, at a threshold or above, the
estimate is (1 + D) / T times the number of items that one decoy stands for. It holds as far as a decoy is as likely to
be matched by accident as an item that did not leak.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.estimates import TierErrors
from auditkit.records import TIERS

GROUP = ["tier", "measured_by"]
ROW = ["pool", "row", "benchmark"]
FDR_RULE = "fdr"


@dataclass(frozen=True)
class Estimated:
    """Matches with their q-values, and the rates of each tier."""

    matches: pl.DataFrame
    tiers: tuple[TierErrors, ...]


def is_twin() -> pl.Expr:
    """Return which matches may be twins: changed copies whose label or numbers are not the item's."""
    return (pl.col("tier") != "exact") & (pl.col("label_conflict").fill_null(False) | pl.col("numbers_differ"))


def strength() -> pl.Expr:
    """Return what matches of one group are ordered by: the verdict, then the score that decided; in [0, 3].

    That is the ratio in lexical tiers; of paraphrases the lesser of the verifier's and the cross-encoder's score, or
    the cosine where neither was asked; of translations their ratio margin, which lies about 1, halved.
    """
    of_meaning = pl.coalesce(pl.col("margin") / 2, pl.min_horizontal("meaning", "cross_encoder"), "cosine")
    score = pl.when(pl.col("tier") == "paraphrase").then(of_meaning).otherwise("ratio")
    return score + 2.0 * (pl.col("verdict") == "contaminated").cast(pl.Float64)


def measured_by() -> pl.Expr:
    """Return the encoder of each match, null in lexical tiers; translations, which have a score of their own, apart."""
    encoder, is_translation = pl.col("encoder"), pl.col("margin").is_not_null()
    named = pl.when(is_translation).then(pl.format("{}, translations", encoder)).otherwise(encoder)
    return named.alias("measured_by")


def estimate(matches: pl.DataFrame, decoys: pl.DataFrame, scale: float, n_sets: int) -> Estimated:
    """Return the matches with a q-value each, and the rates by tier.

    Args:
        matches, decoys: frames tables.MATCHES of the items and of the decoys.
        scale: items for each decoy of one set.
        n_sets: sets of decoys.
    """
    about = (strength().alias("strength"), is_twin().alias("is_twin"), measured_by())
    ours = matches.with_columns(*about, are_siblings(matches)).with_row_index("place")
    theirs = decoys.with_columns(*about)
    q_values, tiers = np.zeros(len(matches)), []
    for (tier, encoder), mine, others in _groups(ours, theirs):
        counted = mine.filter(~pl.col("is_twin") & ~pl.col("is_sibling"))
        asked, targets, wrong = (frame["strength"].to_numpy() for frame in (mine, counted, others))
        q_values[mine["place"].to_numpy()] = q_of(asked, targets, wrong, scale, n_sets)
        tiers.append(_rates(tier, encoder, mine, others, scale, n_sets))
    return Estimated(matches.with_columns(pl.Series("q_value", q_values)), tuple(tiers))


def accidents(decoys: pl.DataFrame, matches: pl.DataFrame, sources: pl.DataFrame) -> pl.DataFrame:
    """Return the decoys' matches but weaker ones in rows condemned for the item itself: copies of that, no accidents.

    Args:
        decoys, matches: frames tables.MATCHES of the decoys and of the items.
        sources: benchmark, item (of a decoy) and source, the item that it was made from.
    """
    named = sources.rename({"source": "of"})
    known = _best(matches, pl.col("item").alias("of"))
    joined = decoys.join(named, on=["benchmark", "item"], how="left", maintain_order="left").join(
        known, on=[*ROW, "of"], how="left", maintain_order="left"
    )
    return joined.filter((strength() >= pl.col("best")).fill_null(True)).drop("of", "best")


def are_siblings(matches: pl.DataFrame) -> pl.Series:
    """Return which matches are weaker than another of their row, which is condemned for an item of the same benchmark.

    Such a row is a copy of that item, and matches the item's siblings for that reason: it is no accident, and no copy
    of them. Of a spectrum, too, target-decoy search counts the best match alone. Bool [n].
    """
    joined = matches.join(_best(matches), on=ROW, how="left", maintain_order="left")
    return joined.select((strength() < pl.col("best")).fill_null(False).alias("is_sibling")).to_series()


def _best(matches: pl.DataFrame, *more: pl.Expr) -> pl.DataFrame:
    """Return the strongest match of each row and benchmark (and more) that is condemned."""
    condemned = matches.filter(pl.col("verdict") == "contaminated")
    return condemned.group_by(*ROW, *more).agg(strength().max().alias("best"))


def q_of(
    strengths: NDArray[np.float64],
    targets: NDArray[np.float64],
    decoys: NDArray[np.float64],
    scale: float,
    n_sets: int,
) -> NDArray[np.float64]:
    """Return the smallest estimate among the thresholds that keep a match of each strength: float64 [n], at most 1.

    Args:
        strengths: of the matches asked for.
        targets: of the matches that are counted.
        decoys: of the decoys' matches, over all sets.
        scale: items for each decoy of one set.
        n_sets: sets of decoys.
    """
    thresholds = np.unique(np.concatenate([strengths, targets]))
    n_targets = len(targets) - np.searchsorted(np.sort(targets), thresholds)
    n_decoys = len(decoys) - np.searchsorted(np.sort(decoys), thresholds)
    # No more than all can be wrong; without a counted match nothing is known.
    rates = np.minimum(1.0, scale * (1 + n_decoys / n_sets) / np.maximum(n_targets, 1))
    # Thresholds ascend: those that keep a match are its own strength and all below.
    result: NDArray[np.float64] = np.minimum.accumulate(rates)[np.searchsorted(thresholds, strengths)]
    return result


def hold(matches: pl.DataFrame, fdr: float, contexts: pl.DataFrame) -> pl.DataFrame:
    """Return the matches with contaminated ones whose q-value is above `fdr` turned to review by the rule "fdr".

    Args:
        matches: frame tables.MATCHES with q-values.
        fdr: the share of wrong matches that is allowed.
        contexts: benchmark, item and part of the parts that do not condemn alone.
    """
    held = _weaken(matches, pl.col("q_value") > fdr, fdr)
    item = ["pool", "row", "benchmark", "item"]
    marked = held.join(contexts.with_columns(pl.lit(True).alias("is_context")), on=contexts.columns, how="left",
                       maintain_order="left").with_columns(pl.col("is_context").fill_null(False))  # fmt: skip
    is_lonely = ~((pl.col("verdict") == "contaminated") & ~pl.col("is_context")).any().over(item)
    was_held = (pl.col("rule") == FDR_RULE).any().over(item)
    return _weaken(marked, pl.col("is_context") & is_lonely & was_held, fdr).drop("is_context")


def _weaken(matches: pl.DataFrame, where: pl.Expr, fdr: float) -> pl.DataFrame:
    weak = (where & (pl.col("verdict") == "contaminated")).fill_null(False)
    return matches.with_columns(
        pl.when(weak).then(pl.lit("review")).otherwise("verdict").alias("verdict"),
        pl.when(weak).then(pl.lit(FDR_RULE)).otherwise("rule").alias("rule"),
        pl.when(weak).then(pl.lit(fdr)).otherwise("threshold").alias("threshold"),
    )


def _groups(
    ours: pl.DataFrame, theirs: pl.DataFrame
) -> Iterator[tuple[tuple[str, str | None], pl.DataFrame, pl.DataFrame]]:
    """Yield tier and encoder with the matches of items and of decoys, strongest tier first."""
    known = pl.concat([ours.select(GROUP), theirs.select(GROUP)]).unique().rows()
    for tier, encoder in sorted(known, key=lambda group: (TIERS.index(group[0]), group[1] or "")):
        where = (pl.col("tier") == tier) & pl.col("measured_by").eq_missing(pl.lit(encoder, pl.String))
        yield (tier, encoder), ours.filter(where), theirs.filter(where)


def _rates(
    tier: str, encoder: str | None, mine: pl.DataFrame, others: pl.DataFrame, scale: float, n_sets: int
) -> TierErrors:
    is_counted = ~pl.col("is_twin") & ~pl.col("is_sibling")
    counted, is_condemned = mine.filter(is_counted), pl.col("verdict") == "contaminated"
    condemned, wrong = counted.filter(is_condemned), others.filter(is_condemned)
    return TierErrors(
        tier=tier,
        encoder=encoder,
        n_matches=len(counted),
        n_contaminated=len(condemned),
        n_twins=int(mine["is_twin"].sum()),
        n_siblings=len(mine.filter(pl.col("is_sibling") & ~pl.col("is_twin"))),
        n_decoy_matches=len(others),
        n_decoy_contaminated=len(wrong),
        fdr=_rate(len(condemned), len(wrong) / n_sets, scale),
        fdr_reported=_rate(len(counted), len(others) / n_sets, scale),
        least=_rate(len(condemned), 0, scale),
    )


def _rate(n_targets: int, n_decoys: float, scale: float) -> float | None:
    return min(1.0, scale * (1 + n_decoys) / n_targets) if n_targets else None


def hold_like(matches: pl.DataFrame, audited: pl.DataFrame, fdr: float) -> pl.DataFrame:
    """Return matches of another pool with those turned to review that `hold` would turn in the audit's.

    In each tier the weakest match of the audit whose q-value is at most `fdr` sets the threshold; where there is none,
    no match stands.

    Args:
        matches: frame tables.MATCHES.
        audited: that of the audit, with q-values.
        fdr: as in `hold`.
    """
    group = pl.concat_str("tier", measured_by().fill_null("")).alias("group")
    stands = audited.filter((pl.col("q_value") <= fdr) & (pl.col("rule") != FDR_RULE))
    least = stands.group_by(group).agg(strength().min().alias("least"))
    marked = matches.with_columns(group).join(least, on="group", how="left", maintain_order="left")
    is_weaker = (strength() < pl.col("least")) | pl.col("least").is_null()
    return _weaken(marked, is_weaker, fdr).drop("group", "least")
