"""Predictions -> metrics: capability, policy agreement, floors, ranges, inheritance, correlations.

The package is callable: `auditkit.evaluate(predictions, labels, ...)` is `evaluate_predictions`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from auditkit.evaluate.cells import cells_by_set, count_cells, nested_note
from auditkit.evaluate.correlations import correlations
from auditkit.evaluate.floors import evaluation_floor, seed_floor
from auditkit.evaluate.guards import Evaluation, evaluate_predictions
from auditkit.evaluate.hits import hits
from auditkit.evaluate.inheritance import inheritances
from auditkit.evaluate.intervals import gap, score_intervals
from auditkit.evaluate.metrics import det_curves, metrics, value
from auditkit.evaluate.ranges import fold, ranges
from auditkit.evaluate.thresholds import operating_points

__all__ = [
    "Evaluation",
    "cells_by_set",
    "correlations",
    "count_cells",
    "det_curves",
    "evaluate_predictions",
    "evaluation_floor",
    "fold",
    "gap",
    "hits",
    "inheritances",
    "metrics",
    "nested_note",
    "operating_points",
    "ranges",
    "score_intervals",
    "seed_floor",
    "value",
]


class _Room(ModuleType):
    """The package itself, which can be called: a room and a public function of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Evaluation:
        """Return evaluate_predictions(...)."""
        return evaluate_predictions(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
#: The room under its public name: what `auditkit.evaluate` is, whether or not a part of it was imported before.
evaluate = sys.modules[__name__]
