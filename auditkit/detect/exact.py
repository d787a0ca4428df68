"""Exact: rows whose whole token sequence is that of an item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.detect.protocol import Rows, candidates
from auditkit.kernels.table import build_table, find_all
from auditkit.text.items import ItemTexts


@dataclass(frozen=True)
class ExactDetector:
    """Finds rows equal to an item after normalisation, of any length from one token up.

    Misses everything else. Cost: one look-up a row. Example: "How do I kill a process?" and "how do i kill a process".
    """

    name: str = "exact"

    def index(self, items: ItemTexts) -> ExactIndex:
        """Return the table from sequence hash to distinct text."""
        return ExactIndex(build_table(items.tokens.sequences, np.arange(len(items), dtype=np.int64)))


@dataclass(frozen=True)
class ExactIndex:
    """Sequence hash -> distinct text (kernels/table.py)."""

    table: NDArray[np.uint64]

    def scan(self, rows: Rows) -> pl.DataFrame:
        """Return pairs of equal sequence hash; verification compares the texts themselves."""
        found = find_all(self.table, rows.tokens.sequences)
        unit = np.flatnonzero((found >= 0) & (rows.tokens.lengths > 0))
        return candidates("exact", unit, found[unit], np.zeros(len(unit), np.int64), rows.tokens.lengths[unit])

    def describe(self) -> dict[str, Any]:
        """Return nothing to tune."""
        return {"compares": "whole token sequences"}
