"""What a detector is: items -> an index of plain arrays; the index scans shards and proposes candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit import tables
from auditkit.text.items import ItemTexts
from auditkit.text.normalise import Tokens


@dataclass(frozen=True)
class Rows:
    """The texts of one shard, tokenised once for all detectors.

    Attributes:
        texts: String series [n].
        tokens: their tokens.
    """

    texts: pl.Series
    tokens: Tokens


class Index(Protocol):
    """A detector's index: picklable plain arrays, made once and sent to every worker."""

    def scan(self, rows: Rows) -> pl.DataFrame:
        """Return the candidates of a shard: frame of tables.CANDIDATES."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what the settings in force mean, for the report."""
        ...


class Detector(Protocol):
    """A way of finding copies."""

    name: str

    def index(self, items: ItemTexts) -> Index:
        """Return the index of the benchmarks' distinct texts."""
        ...


def candidates(
    detector: str,
    unit: NDArray[np.int64],
    text: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    *,
    shared: NDArray[np.int64] | None = None,
    cosine: NDArray[np.float64] | None = None,
) -> pl.DataFrame:
    """Return a frame of tables.CANDIDATES made of columns of equal length."""
    frame = pl.DataFrame(
        {"unit": unit, "text": text, "first": first, "last": last},
        schema={name: tables.CANDIDATES[name] for name in ("unit", "text", "first", "last")},
    )
    counts = pl.lit(None, pl.Int64) if shared is None else pl.Series("shared", shared, dtype=pl.Int64)
    cosines = pl.lit(None, pl.Float64) if cosine is None else pl.Series("cosine", cosine, dtype=pl.Float64)
    return frame.with_columns(
        counts.alias("shared"), pl.lit(detector).alias("detector"), cosines.alias("cosine")
    ).select(tables.CANDIDATES.keys())


def grouped(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys in order, where each one's places start in `order` (one more than keys), and `order`.

    `order` holds the places 0 to len(keys) - 1 sorted by key; those of equal keys keep their order.
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_first)
    return ordered[starts], np.append(starts, len(keys)), order
