"""Texts as bags of tokens of a vocabulary: weighted sums of token vectors, and sketches of weighted token sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel


@kernel
def weighted_sums(
    tokens: NDArray[np.int32], offsets: NDArray[np.int64], weights: NDArray[np.float32], table: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the sum of weight times vector over the tokens of each text: float32 of shape [n, d].

    Args:
        tokens: token ids of all texts, one text after the other.
        offsets: int64 of shape [n + 1]; text i holds tokens[offsets[i]:offsets[i + 1]].
        weights: float32 of shape [vocabulary].
        table: float32 of shape [vocabulary, d].
    """
    n, width = len(offsets) - 1, table.shape[1]
    result = np.zeros((n, width), np.float32)
    for i in range(n):
        for t in range(offsets[i], offsets[i + 1]):
            token = tokens[t]
            weight = weights[token]
            for k in range(width):
                result[i, k] += weight * table[token, k]
    return result


@kernel
def sketches(
    tokens: NDArray[np.int32], offsets: NDArray[np.int64], weights: NDArray[np.float32], n_buckets: int
) -> NDArray[np.float32]:
    """Return a sketch of each text's set of tokens: float32 of shape [n, n_buckets].

    Each distinct token adds plus or minus its weight to one bucket, so that inner products of sketches estimate inner
    products of the weighted sets without bias (feature hashing, Weinberger et al. 2009, eq. 2).
    """
    n = len(offsets) - 1
    result = np.zeros((n, n_buckets), np.float32)
    for i in range(n):
        for t in range(offsets[i], offsets[i + 1]):
            token = tokens[t]
            is_first = True
            for earlier in range(offsets[i], t):
                if tokens[earlier] == token:
                    is_first = False
                    break
            if is_first:
                mixed = np.uint64(token) * np.uint64(0x9E3779B97F4A7C15)
                weight = weights[token]
                if (mixed >> np.uint64(20)) & np.uint64(1):
                    weight = -weight
                result[i, (mixed >> np.uint64(40)) % np.uint64(n_buckets)] += weight
    return result
