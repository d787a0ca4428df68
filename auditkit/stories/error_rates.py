"""What the decoys of an audit matched -> the matches' q-values and the report's error rates."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from auditkit.estimates import ErrorRates
from auditkit.plant.decoys import SEED
from auditkit.stories.scan import Scanner
from auditkit.verify.error_rates import FDR_RULE, accidents, estimate, hold
from auditkit.verify.verdicts import conclude


@dataclass(frozen=True)
class Judged:
    """The matches of an audit with their q-values, and how often they are wrong; None without decoys."""

    matches: pl.DataFrame
    errors: ErrorRates | None


def judge(pairs: pl.DataFrame, labels: pl.DataFrame, scanner: Scanner, fdr: float | None) -> Judged:
    """Return the matches that the pairs of a whole pool come to, those of decoys taken out and counted.

    Args:
        pairs: frame VERIFIED of all shards, with the address columns of tables.TEXTS.
        labels: pool, row and one column per policy, for the rows that matched.
        scanner: what the pool was compared with.
        fdr: see AuditSettings.
    """
    is_own, decoys = pl.col("text") < scanner.texts.n_own, scanner.decoys
    matches = conclude(pairs.filter(is_own), scanner.prepared, labels)
    if not decoys.n_decoys:
        return Judged(matches, None)
    theirs = conclude(pairs.filter(~is_own), scanner.prepared, labels)
    theirs = accidents(theirs, matches, decoys.sources)
    estimated = estimate(matches, theirs, decoys.scale, decoys.n_sets)
    matches = estimated.matches if fdr is None else hold(estimated.matches, fdr, _contexts(scanner))
    n_weakened = int((matches["rule"] == FDR_RULE).sum())
    errors = ErrorRates(
        decoys.n_items, decoys.n_decoys, decoys.n_sets, SEED, decoys.n_left_out, estimated.tiers, fdr, n_weakened
    )
    return Judged(matches, errors)


def _contexts(scanner: Scanner) -> pl.DataFrame:
    """Return benchmark, item and part of what does not condemn alone."""
    alone = scanner.prepared.rules.context.condemns_alone
    return (
        scanner.items.filter((pl.col("kind") == "context") & (not alone)).select("benchmark", "item", "part").unique()
    )
