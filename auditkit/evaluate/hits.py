"""One number an arm, a seed and a prompt: what rates, their bootstraps and paired tests are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.errors import UsageError, nearest
from auditkit.evaluate.scored import flags_at
from auditkit.study_records.results import Threshold

Floats = NDArray[np.float64]

_FLAG = pl.col("flag")
_DISCORDANT = pl.col("cell").is_in(["d10", "d01"])
_CONCORDANT = pl.col("cell").is_in(["c1", "c0"])
_ALL = pl.lit(True)

#: Measure -> (the prompts it rests on, what counts as a hit).
RATES: dict[str, tuple[pl.Expr, pl.Expr]] = {
    "flag_rate": (_ALL, _FLAG == 1),
    "agreement_a": (_DISCORDANT, pl.col("label_a") == _FLAG),
    "agreement_b": (_DISCORDANT, pl.col("label_b") == _FLAG),
    "acc_a": (_CONCORDANT | _DISCORDANT, pl.col("label_a") == _FLAG),
    "acc_b": (_CONCORDANT | _DISCORDANT, pl.col("label_b") == _FLAG),
    "acc_c": (_CONCORDANT, pl.col("label_a") == _FLAG),
    "f10": (pl.col("cell") == "d10", _FLAG == 1),
    "f01": (pl.col("cell") == "d01", _FLAG == 1),
    "recall_c1": (pl.col("cell") == "c1", _FLAG == 1),
    "fpr_c0": (pl.col("cell") == "c0", _FLAG == 1),
}
#: Measures that rank prompts: the prompts they rest on; the target is label a.
RANKINGS: dict[str, pl.Expr] = {"auroc_concordant": _CONCORDANT, "agreement_auroc": _DISCORDANT}


@dataclass(frozen=True)
class Hits:
    """Values of a measure: [K arms, S seeds, n prompts], NaN where a prediction failed or is undefined.

    Attributes:
        values: 1.0 for a hit and 0.0 for none (rates), or scores (rankings).
        labels: target of each prompt for rankings, None for rates.
        items: the prompts' item numbers; `groups` their near-duplicate families as whole numbers from 0.
    """

    measure: str
    arms: tuple[str, ...]
    seeds: tuple[int, ...]
    values: Floats
    items: NDArray[np.int64]
    groups: NDArray[np.int64]
    labels: NDArray[np.int64] | None

    @property
    def n_groups(self) -> int:
        """Number of near-duplicate families."""
        return int(self.groups.max()) + 1 if len(self.groups) else 0

    def of(self, arm: str) -> Floats:
        """Return [S, n] of one arm.

        Raises:
            UsageError: the arm has no predictions here.
        """
        if arm not in self.arms:
            raise UsageError(f"arm {arm!r} has no predictions for {self.measure}{nearest(arm, self.arms)}")
        chosen: Floats = self.values[self.arms.index(arm)]
        return chosen


def hits(
    predictions: pl.DataFrame,
    targets: pl.DataFrame,
    thresholds: Sequence[Threshold],
    measure: str,
    set_name: str = "test",
    point: str = "native",
    items: Sequence[int] | None = None,
) -> Hits:
    """Return the values of a measure (RATES or RANKINGS) on one set, of the named `items` where they are given.

    Raises:
        UsageError: an unknown measure.
        InputError: predictions that cannot be used (scored.joined).
    """
    if measure not in RATES and measure not in RANKINGS:
        known = [*RATES, *RANKINGS]
        raise UsageError(f"unknown measure {measure!r}; expected one of {', '.join(known)}{nearest(measure, known)}")
    within, value = RATES.get(measure) or (RANKINGS[measure], pl.col("score"))
    rows = flags_at(predictions, targets, thresholds, point, set_name).filter(within)
    if items is not None:
        rows = rows.filter(pl.col("item").is_in(list(items)))
    rows = rows.with_columns(value.cast(pl.Float64).alias("value"))
    prompts = rows.select("item", "group", "label_a").unique("item").sort("item")
    arms, seeds = rows["arm"].unique(maintain_order=True).to_list(), sorted(rows["seed"].unique().to_list())
    values = np.full((len(arms), len(seeds), prompts.height), np.nan)
    at = [
        rows["arm"].replace_strict(arms, range(len(arms)), return_dtype=pl.Int64).to_numpy(),
        rows["seed"].replace_strict(seeds, range(len(seeds)), return_dtype=pl.Int64).to_numpy(),
        np.searchsorted(prompts["item"].to_numpy(), rows["item"].to_numpy()),
    ]  # fmt: skip
    values[tuple(index.astype(np.int64) for index in at)] = rows["value"].fill_null(float("nan")).to_numpy()
    groups = prompts["group"].fill_null("").rank("dense").to_numpy().astype(np.int64) - 1
    labels = prompts["label_a"].to_numpy().astype(np.int64) if measure in RANKINGS else None
    return Hits(measure, tuple(arms), tuple(seeds), values, prompts["item"].to_numpy(), groups, labels)


def run_values(found: Hits) -> Floats:
    """Return the measure of every run, [K, S]: a rate or an AUROC; NaN where it is undefined."""
    return np.array([[_one(found, run) for run in arm] for arm in found.values]).reshape(found.values.shape[:2])


def _one(found: Hits, run: Floats) -> float:
    is_known = ~np.isnan(run)
    if found.labels is None:
        return float(run[is_known].mean()) if is_known.any() else float("nan")
    from auditkit.evaluate.scoring import auroc

    value = auroc(run[is_known], found.labels[is_known])
    return float("nan") if value is None else value
