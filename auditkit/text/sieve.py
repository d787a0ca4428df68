"""A cheap bound before the encoder: which rows can be close to an item at all, told from their tokens.

A row's vector is predicted from its static vector (text/static.py) by ridge regression, fitted on the items, whose
encoder vectors are known. A row's score with an item is

    cosine(predicted row, item) + LEXICAL * cosine(row's tokens, item's tokens weighted by their rarity among items)

and only rows with a score at or over the cut are embedded. The cut is calibrated on the items alone, so it needs no
pass over the pool and is the same for any shard: each item is predicted by a regression that has not seen it, and the
cut is the score that KEPT of the item pairs reach whose cosine is at or over the threshold. Where fewer than MIN_PAIRS
pairs are that close, the closest MIN_PAIRS stand in, their scores raised by what a fitted line says of the distance.

It was measured, not proven, that this keeps pairs of rows and items: benchmarks/paraphrase.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.bags import sketches
from auditkit.text.encode import Encoder
from auditkit.text.static import Bags, as_token_encoder, bags_of, rank_weights, static_vectors, token_table, unit
from auditkit.text.vectors import text_keys

#: Share of calibration pairs that the cut keeps.
KEPT = 0.99
#: Pairs that a calibration rests on at least.
MIN_PAIRS = 300
#: Items that a calibration rests on at most: those with the smallest keys.
MAX_ITEMS = 2048
N_FOLDS = 5
#: Weight of the token overlap beside the predicted cosine.
LEXICAL = 0.3
N_BUCKETS = 512
#: Strength of the ridge, in mean eigenvalues of the inputs' second moments.
RIDGE = 0.04
#: The constant input of the regression, beside inputs of length one.
CONSTANT = 0.3


@dataclass(frozen=True)
class Calibration:
    """What the cut was measured on: item pairs close to the threshold, and how many of them score at or over it."""

    n_pairs: int
    n_kept: int
    lowest_cosine: float


@dataclass(frozen=True)
class Sieve:
    """A static model, a regression, the items' side of the score, and the cut.

    Attributes:
        table: the static model, float32 of shape [vocabulary, w].
        regression: float32 of shape [w + 1, d].
        rarity: weight of each token in the overlap, float32 of shape [vocabulary].
        items: what a row's features are multiplied with, float32 of shape [m, d + N_BUCKETS].
        cut: rows whose best score is lower are left out.
        calibration: what the cut was measured on.
    """

    encoder: Encoder
    table: NDArray[np.float32]
    regression: NDArray[np.float32]
    rarity: NDArray[np.float32]
    items: NDArray[np.float32]
    cut: float
    calibration: Calibration

    def scores(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the score of each text with each item: float32 of shape [n, m]."""
        encoder = as_token_encoder(self.encoder)
        assert encoder is not None, "a sieve is only made of an encoder that can be distilled"
        bags = bags_of(encoder, texts)
        predicted = unit(_inputs(static_vectors(self.table, bags)) @ self.regression)
        return np.concatenate([predicted, _overlap(bags, self.rarity)], axis=1) @ self.items.T


def make_sieve(
    encoder: Encoder, texts: list[str], vectors: NDArray[np.float32], threshold: float
) -> tuple[Sieve | None, str]:
    """Return a sieve for these items, or None and the reason why there is none.

    Args:
        encoder: the encoder whose cosines decide.
        texts: the items' texts, distinct.
        vectors: their unit vectors by the encoder, float32 of shape [m, d].
        threshold: the cosine from which pairs are wanted.
    """
    source = as_token_encoder(encoder)
    if source is None:
        return None, "this encoder cannot be distilled"
    if len(texts) < 2 * N_FOLDS:
        return None, f"fewer than {2 * N_FOLDS} item texts to calibrate on"
    table, bags = token_table(source), bags_of(source, texts)
    rarity = _rarity(bags, len(table))
    inputs, overlap = _inputs(static_vectors(table, bags)), _overlap(bags, rarity)
    chosen = np.argsort(text_keys(texts), kind="stable")[:MAX_ITEMS]
    cosines, scores = _cross_fitted(inputs[chosen], vectors[chosen], overlap[chosen])
    cut, calibration = _calibrated(cosines, scores, threshold)
    items = np.concatenate([vectors, LEXICAL * overlap], axis=1)
    return Sieve(encoder, table, _ridge(inputs, vectors), rarity, items, cut, calibration), ""


def _inputs(static: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([static, np.full((len(static), 1), CONSTANT, np.float32)], axis=1)


def _rarity(bags: Bags, n_vocabulary: int) -> NDArray[np.float32]:
    """Return rank weight times inverse item frequency, float32 of shape [n_vocabulary]."""
    text = np.repeat(np.arange(len(bags)), np.diff(bags.offsets))
    once = np.unique(np.stack([text, bags.ids.astype(np.int64)]), axis=1)[1]
    frequency = np.bincount(once, minlength=n_vocabulary)
    return np.asarray(np.log((len(bags) + 1) / (frequency + 1)) * rank_weights(n_vocabulary), np.float32)


def _overlap(bags: Bags, rarity: NDArray[np.float32]) -> NDArray[np.float32]:
    return unit(sketches(bags.ids, bags.offsets, rarity, N_BUCKETS))


def _ridge(inputs: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the regression of vectors on inputs: float32 of shape [w + 1, d]."""
    moments = np.asarray(inputs.T @ inputs, np.float64)
    strength = RIDGE * np.trace(moments) / len(moments)
    solved = np.linalg.solve(moments + strength * np.eye(len(moments)), np.asarray(inputs.T @ vectors, np.float64))
    return np.asarray(solved, np.float32)


def _cross_fitted(
    inputs: NDArray[np.float32], vectors: NDArray[np.float32], overlap: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return cosine and score of all ordered pairs of two items, the first predicted by a regression without it."""
    n = len(vectors)
    fold = np.arange(n) % N_FOLDS
    predicted = np.empty_like(vectors)
    for i in range(N_FOLDS):
        predicted[fold == i] = unit(inputs[fold == i] @ _ridge(inputs[fold != i], vectors[fold != i]))
    pairs = ~np.eye(n, dtype=np.bool_)
    scores = predicted @ vectors.T + LEXICAL * (overlap @ overlap.T)
    return (vectors @ vectors.T)[pairs], scores[pairs]


def _calibrated(
    cosines: NDArray[np.float32], scores: NDArray[np.float32], threshold: float
) -> tuple[float, Calibration]:
    """Return the cut and what it rests on."""
    n = min(max(MIN_PAIRS, int((cosines >= threshold).sum())), len(cosines))
    lowest = np.partition(cosines, -n)[-n]
    closest = cosines >= lowest
    cosines, scores = cosines[closest], scores[closest]
    spread = cosines - cosines.mean()
    slope = np.clip(spread @ scores / max(spread @ spread, np.float32(1e-9)), 0, 1)
    raised = np.sort(scores + slope * np.maximum(threshold - cosines, 0))
    # Rounded down: machines that differ in the last bit agree on the cut.
    cut = math.floor(float(raised[int((1 - KEPT) * len(raised))]) * 1000) / 1000
    return cut, Calibration(len(raised), int((raised >= cut).sum()), float(lowest))
