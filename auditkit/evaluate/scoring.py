"""Numbers of one guard on one set of prompts, from plain arrays. The convention is `y = 1 when p >= t`, everywhere.

An undefined number is None. scikit-learn, scipy and statsmodels compute what they have; they are imported when asked.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.study_records.results import Estimate

Floats = NDArray[np.float64]
Labels = NDArray[Any]

N_BINS = 15


def auroc(scores: Floats, labels: Labels) -> float | None:
    """Return the area under the ROC curve (scikit-learn roc_auc_score), None where only one class is present."""
    from sklearn.metrics import roc_auc_score

    if len(labels) == 0 or labels.min() == labels.max():
        return None
    return float(roc_auc_score(labels, scores))


def auprc(scores: Floats, labels: Labels) -> float | None:
    """Return the area under the precision-recall curve (average precision), None where only one class is present."""
    from sklearn.metrics import average_precision_score

    if len(labels) == 0 or labels.min() == labels.max():
        return None
    return float(average_precision_score(labels, scores))


def allowed_count(rate: float, n: int) -> int:
    """Return how many of `n` may be flagged so that the rate is not exceeded, counted in integers."""
    return math.floor(Fraction(str(rate)) * n)


def threshold_at_fpr(negatives: Floats, rate: float) -> float | None:
    """Return the smallest threshold at which at most `rate` of `negatives` have p >= t; None without negatives.

    It lies just above the highest score that must pass, so it is as lenient as the rate allows.
    """
    if len(negatives) == 0:
        return None
    descending = np.sort(negatives)[::-1]
    k = allowed_count(rate, len(negatives))
    return 0.0 if k >= len(negatives) else float(np.nextafter(descending[k], np.inf))


def recall_at_fpr(positives: Floats, negatives: Floats, rate: float) -> Estimate:
    """Return the share of `positives` flagged where at most `rate` of `negatives` are: a point of this set's own ROC.

    No interpolation between points. It describes capability; an operating point is chosen on dev instead. The interval
    is Wilson's and takes the threshold as given.
    """
    threshold = threshold_at_fpr(negatives, rate)
    if threshold is None or len(positives) == 0:
        return Estimate(None, n=len(positives), method="recall at fixed false-positive rate")
    return wilson(int((positives >= threshold).sum()), len(positives))


@functools.cache
def wilson(count: int, n: int, level: float = 0.95) -> Estimate:
    """Return the rate count / n with its Wilson interval (statsmodels proportion_confint); None for n = 0.

    Over random rates from 0.02 to 0.98 and 40 to 400 independent prompts the 95 % interval holds the truth in 95 % of
    1,000 simulations (benchmarks/results/recovery.json); at a single rate counts are whole numbers, so it is above or
    below that. Prompts in near-duplicate families make it too narrow: see intervals.score_intervals.
    """
    from statsmodels.stats.proportion import proportion_confint

    if n == 0:
        return Estimate(None, n=0, method="Wilson")
    low, high = proportion_confint(count, n, alpha=1 - level, method="wilson")
    return Estimate(count / n, float(low) if count else 0.0, float(high) if count < n else 1.0, n, "Wilson")


def modified_wilson(count: int, n: int, level: float = 0.95) -> Estimate:
    """Return the rate count / n with its modified Wilson interval; None for n = 0.

    Where a few, but not none, of n are found or missed, the bound on that side is that of a Poisson rate, half the
    chi-square quantile at 1 - level with 2 count degrees of freedom, over n (Brown, Cai and DasGupta 2001, Statistical
    Science 16:101). Wilson's is too far inside there: at n = 40 it holds a true rate of 0.996 in 85 % only.
    """
    from scipy.stats import chi2

    plain = wilson(count, n, level)
    if plain.low is None or plain.high is None:
        return plain
    n_few, low, high = (3 if n > 50 else 2), plain.low, plain.high
    if 1 <= count <= n_few:
        low = min(low, float(chi2.ppf(1 - level, 2 * count)) / 2 / n)
    if 1 <= n - count <= n_few:
        high = max(high, 1 - float(chi2.ppf(1 - level, 2 * (n - count))) / 2 / n)
    return Estimate(plain.value, low, high, n, "modified Wilson")


def rule_of_three(n: int) -> float | None:
    """Return 3 / n, the upper 95 % bound of a rate with zero events in n (Hanley and Lippman-Hand 1983)."""
    return min(1.0, 3 / n) if n else None


def brier(scores: Floats, labels: Labels) -> float | None:
    """Return the Brier score, mean of (p - label)^2 (scikit-learn brier_score_loss); None without prompts."""
    from sklearn.metrics import brier_score_loss

    return float(brier_score_loss(labels, scores, pos_label=1)) if len(labels) else None


def calibration_error(scores: Floats, labels: Labels, n_bins: int = N_BINS) -> float | None:
    """Return the expected calibration error of P(flag): sum over bins of n_b / n * |mean label_b - mean p_b|.

    Bins are of equal width and closed below: bin b holds b / n_bins <= p < (b + 1) / n_bins, the last one also p = 1
    (Naeini, Cooper and Hauskrecht 2015, for the probability of the positive class).
    """
    n = len(labels)
    if n == 0:
        return None
    bins = np.minimum((scores * n_bins).astype(np.int64), n_bins - 1)
    gaps = np.bincount(bins, labels.astype(np.float64) - scores, minlength=n_bins)
    return float(np.abs(gaps).sum() / n)


def det_points(scores: Floats, labels: Labels, tolerance: float = 5e-3) -> tuple[Floats, Floats, Floats]:
    """Return (over-refusal, miss, threshold) of the DET curve (scikit-learn det_curve), thinned.

    Points are left out only where the straight line between the kept neighbours passes within `tolerance` of them in
    both rates; the first and the last are always kept. As det_curve has it, the curve ends where one rate reaches 0:
    a guard that separates the classes has one point. One class only: empty arrays.
    """
    from sklearn.metrics import det_curve

    if len(labels) == 0 or labels.min() == labels.max():
        return np.empty(0), np.empty(0), np.empty(0)
    over, miss, thresholds = det_curve(labels, scores)
    kept = _thin(np.asarray(over, float), np.asarray(miss, float), tolerance)
    return over[kept], miss[kept], thresholds[kept]


def _thin(x: Floats, y: Floats, tolerance: float) -> NDArray[np.int64]:
    """Return the indices that Douglas and Peucker (1973) keep, with the larger deviation of both axes as distance."""
    keep = np.zeros(len(x), bool)
    keep[[0, -1]] = True
    stack = [(0, len(x) - 1)]
    while stack:
        first, last = stack.pop()
        if last - first < 2:
            continue
        far, distance = _farthest(x[first : last + 1], y[first : last + 1])
        if distance > tolerance:
            keep[first + far] = True
            stack += [(first, first + far), (first + far, last)]
    return np.flatnonzero(keep)


def _farthest(x: Floats, y: Floats) -> tuple[int, float]:
    """Return which point lies farthest from the segment between the ends, and how far (in the axis that is worse)."""
    dx, dy = x[-1] - x[0], y[-1] - y[0]
    length = dx * dx + dy * dy
    share = np.clip(((x - x[0]) * dx + (y - y[0]) * dy) / length, 0, 1) if length else np.zeros(len(x))
    off = np.maximum(np.abs(x - x[0] - share * dx), np.abs(y - y[0] - share * dy))
    far = int(off.argmax())
    return far, float(off[far])
