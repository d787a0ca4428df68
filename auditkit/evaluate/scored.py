"""Predictions beside their targets: the one join of the room, with the checks that make its numbers mean something."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from auditkit.errors import InputError
from auditkit.evaluate.cells import with_cells
from auditkit.study_records.results import Threshold
from auditkit.tables import PREDICTIONS, TARGETS, check

STATUSES = ("ok", "unparsed", "refused", "error", "truncated")
KEYS = ("arm", "seed", "set", "item")


def joined(predictions: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """Return one row a prediction with its target's columns and `cell`, in the order of `predictions`.

    Raises:
        InputError: a prediction of an unknown prompt, one given twice, an unknown status, a score that is no number in
            [0, 1], or one that is ok without score and decision.
    """
    check(predictions, PREDICTIONS, "evaluate predictions")
    check(targets, TARGETS, "evaluate targets")
    check_predictions(predictions)
    _once(targets, ("set", "item"), "target")
    both = predictions.join(with_cells(targets), on=["set", "item"], how="left", maintain_order="left", coalesce=True)
    known = predictions.join(targets, on=["set", "item"], how="anti")
    if known.height:
        first = known.row(0, named=True)
        raise InputError(
            f"predictions of arm {first['arm']!r}: item {first['item']} of set {first['set']!r} has no target "
            f"({known.height} such predictions); give a target for every predicted prompt"
        )
    return both


def check_predictions(predictions: pl.DataFrame) -> None:
    """Raise InputError where a prediction cannot be used as it stands (see `joined`)."""
    _once(predictions, KEYS, "prediction")
    score = pl.col("score")
    faults = (
        (~pl.col("status").is_in(STATUSES) | pl.col("status").is_null(), "status", f"one of {', '.join(STATUSES)}"),
        (score.is_nan() | (score < 0) | (score > 1), "score", "a probability in [0, 1], or null"),
        (~pl.col("decision").is_in([0, 1]), "decision", "1 (flag), 0 (pass), or null"),
        (
            (pl.col("status") == "ok") & score.is_null() & pl.col("decision").is_null(),
            "score",
            "a score or a decision where the status is ok; say unparsed, refused, error or truncated where it failed",
        ),
    )
    for is_bad, column, expected in faults:
        bad = predictions.filter(is_bad)
        if bad.height:
            row = bad.row(0, named=True)
            raise InputError(
                f"predictions of arm {row['arm']!r}, set {row['set']!r}, item {row['item']}: {column} is "
                f"{row[column]!r} ({bad.height} such rows); expected {expected}"
            )


def _once(frame: pl.DataFrame, keys: Sequence[str], what: str) -> None:
    twice = frame.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        where = ", ".join(f"{key} {twice[key][0]!r}" for key in keys)
        raise InputError(f"the {what} of {where} is given twice; expected one row each")


def failed() -> pl.Expr:
    """Return the expression that is true for a failed prediction."""
    return pl.col("status") != "ok"


def flags_at(
    predictions: pl.DataFrame, targets: pl.DataFrame, thresholds: Sequence[Threshold], point: str, set_name: str
) -> pl.DataFrame:
    """Return `joined` of one set with a column `flag` (Int8) at one operating point; failed predictions are left out.

    Rows whose flag is undefined at the point (no threshold, no score) have null.
    """
    rows = joined(predictions.filter(pl.col("set") == set_name), targets).filter(~failed())
    chosen = pl.DataFrame(
        [(t.arm, t.seed, t.threshold) for t in thresholds if t.point == point],
        schema={"arm": pl.String(), "seed": pl.Int64(), "threshold": pl.Float64()},
        orient="row",
    )
    rows = rows.join(chosen, on=["arm", "seed"], how="left", maintain_order="left")
    by_score = (pl.col("score") >= pl.col("threshold")).cast(pl.Int8)
    own = pl.col("decision")
    decided = own if point == "decision" else pl.coalesce(by_score, own) if point == "native" else by_score
    return rows.with_columns(decided.alias("flag"))
