"""The whole pool at once: which rows are one family, and which labels of near rows contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from auditkit.families import family_kinds
from auditkit.inspection import opposed
from auditkit.records import LEXICAL_TIERS, Pool
from auditkit.stories.families import Kinship, kinship
from auditkit.stories.inspect_settings import InspectSettings
from auditkit.stories.near import SelfJoin
from auditkit.stories.pool_rows import CELLS, PoolRows, read_rows
from auditkit.verify.matches import verify

#: The two sides of a conflict: label, and what their pool, row and number of rows are called in tables.CONFLICTS.
_SIDES: Mapping[str, tuple[int, tuple[str, str, str, str]]] = {
    "flagged": (1, ("pool", "row", "n_rows", "label")),
    "passed": (0, ("other", "other_row", "n_other_rows", "other_label")),
}


@dataclass(frozen=True)
class Kin:
    """What only the whole pool can tell.

    Attributes:
        rows: pool, row, family, family_size, family_kind of every row, in the pool's order.
        families: a line for each family of several rows, largest first: family, family_kind, size, `labels` (policy ->
            rows flagged, passed, unknown) and, of two policies, `cells` (rows by cell).
        conflicts: pairs of rows: columns of tables.CONFLICTS, without ids, digests and families; None without labels.
        n_measured: pairs of unlike texts under both labels that were measured.
    """

    rows: pl.DataFrame
    families: pl.DataFrame
    conflicts: pl.DataFrame | None
    n_measured: int


def find_kin(pool: Pool, settings: InspectSettings) -> Kin:
    """Return families and conflicts of a pool. Its prompts are held in memory, and an index that grows with them."""
    rows = read_rows(pool, settings.near.read, settings.source_column)
    kin = kinship(rows, settings.near)
    kind = family_kinds(kin.families, kin.texts)
    placed = kin.families.with_columns(kind).rename({"size": "family_size"})
    conflicts, n_measured = _conflicts(kin, rows) if rows.policies else (None, 0)
    return Kin(placed, _families(placed, rows), conflicts, n_measured)


def _families(placed: pl.DataFrame, rows: PoolRows) -> pl.DataFrame:
    """Return frame Kin.families."""
    table = placed.hstack(rows.rows.select(rows.policies)).with_columns(rows.cell.alias("cell"))
    about = [pl.col("family_kind").first(), pl.len().cast(pl.Int64).alias("size")]
    if rows.policies:
        about.append(pl.struct(_label_counts(policy) for policy in rows.policies).alias("labels"))
    if len(rows.policies) == 2:
        about.append(pl.struct(_n(pl.col("cell") == cell).alias(cell) for cell in CELLS).alias("cells"))
    several = table.filter(pl.col("family_size") > 1).group_by("family", maintain_order=True).agg(about)
    return several.sort("size", descending=True, maintain_order=True)


def _label_counts(policy: str) -> pl.Expr:
    label = pl.col(policy)
    holds = {"flagged": label == 1, "passed": label == 0, "unknown": label.is_null()}
    return pl.struct(_n(where).alias(name) for name, where in holds.items()).alias(policy)


def _n(where: pl.Expr) -> pl.Expr:
    return where.sum().cast(pl.Int64)


def _conflicts(kin: Kinship, rows: PoolRows) -> tuple[pl.DataFrame, int]:
    """Return Kin.conflicts and Kin.n_measured."""
    labels = rows.rows.select("pool", "row", *rows.policies)
    holders = kin.texts.unique(maintain_order=True).join(labels, on=["pool", "row"], how="left", maintain_order="left")
    found = opposed(holders, rows.policies, kin.found.likely, lambda candidates: _near(candidates, kin.found))
    each = [_with_rows(found.pairs.filter(pl.col("policy") == p), holders, p) for p in rows.policies]
    return pl.concat(each).with_columns(pl.lit("row").alias("kind")), found.n_measured


def _near(candidates: pl.DataFrame, found: SelfJoin) -> pl.DataFrame:
    """Return the candidates that are near, as they were joined to families: frame VERIFIED."""
    texts, tokens = found.rows.texts, found.rows.tokens
    pairs = verify(candidates, texts, tokens, found.index.prepared, frozenset(LEXICAL_TIERS)).pairs
    return pairs.filter(pl.col("verdict") == "contaminated")


def _with_rows(pairs: pl.DataFrame, holders: pl.DataFrame, policy: str) -> pl.DataFrame:
    """Return the pairs of one policy with the first row of each text that has the label, and how many rows have it."""
    for side, (label, (pool, row, n_rows, named)) in _SIDES.items():
        first = holders.filter(pl.col(policy) == label).group_by("text", maintain_order=True).agg(
            pl.col("pool").first().alias(pool), pl.col("row").first().alias(row), pl.len().cast(pl.Int64).alias(n_rows)
        ).with_columns(pl.lit(label, pl.Int8).alias(named))  # fmt: skip
        pairs = pairs.join(first, left_on=side, right_on="text", how="left", maintain_order="left").drop(side)
    return pairs
