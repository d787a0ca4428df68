"""What a detector found in a pool of `pools.py`: recall by kind of copy, and rows flagged that are no copy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl


@dataclass(frozen=True)
class Score:
    """How flagged rows compare with the truth.

    Attributes:
        recall: kind of copy -> share of its rows that are flagged, for whichever item.
        item_recall: the same, flagged for the very item they are copies of; None where a detector names no items.
        n_flagged: rows flagged.
        n_false_rows: rows flagged that are no copy.
    """

    recall: dict[str, float]
    item_recall: dict[str, float] | None
    n_flagged: int
    n_false_rows: int


def score(flagged: pl.DataFrame, truth: pl.DataFrame) -> Score:
    """Return how flagged pairs compare with the truth.

    Args:
        flagged: columns row and item; item is null where none is named.
        truth: columns row, item, kind: one line a planted copy.
    """
    rows = flagged.select("row").unique()
    has_items = bool(flagged["item"].is_not_null().any()) or flagged.is_empty()
    return Score(
        _recall(truth.join(rows.with_columns(is_found=True), on="row", how="left")),
        _recall(truth.join(_pairs(flagged), on=["row", "item"], how="left")) if has_items else None,
        len(rows),
        len(rows.join(truth, on="row", how="anti")),
    )


def read_pairs(path: Path) -> pl.DataFrame:
    """Return the pairs that a peer's program wrote."""
    return pl.read_csv(path, schema={"row": pl.Int64, "item": pl.Int64})


def read_audit(folder: Path, verdicts: tuple[str, ...] = ("contaminated",)) -> pl.DataFrame:
    """Return the pairs of an audit that have one of these verdicts."""
    matches = pl.read_parquet(folder / "matches.parquet", columns=["row", "item", "verdict"])
    return matches.filter(pl.col("verdict").is_in(verdicts)).select("row", "item")


def _pairs(flagged: pl.DataFrame) -> pl.DataFrame:
    return flagged.unique().with_columns(is_found=True)


def _recall(truth: pl.DataFrame) -> dict[str, float]:
    by_kind = truth.group_by("kind").agg(pl.col("is_found").fill_null(False).mean()).sort("kind")
    return dict(zip(by_kind["kind"], by_kind["is_found"].round(4), strict=True))
