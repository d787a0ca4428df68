"""Components of a graph that grows pair by pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.components import roots, unite


class Components:
    """The components of n things, numbered 0 to n - 1, under the pairs joined so far.

    They are transitive: A with B and B with C puts A with C, whether or not A and C are alike.
    """

    def __init__(self, n: int) -> None:
        self._parent = np.arange(n, dtype=np.int64)

    def join(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        """Join the ends of each pair; both arrays have shape [k]."""
        unite(self._parent, _whole(left), _whole(right))

    def roots(self) -> NDArray[np.int64]:
        """Return the smallest member of each thing's component: int64 [n]."""
        return np.asarray(roots(self._parent))

    def forest(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs, taken in order, would join two components; nothing is joined: bool [k].

        If all of them hold, every other pair joins nothing new, so it need not be looked at.
        """
        return np.asarray(unite(self._parent.copy(), _whole(left), _whole(right)))


def _whole(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.ascontiguousarray(values, np.int64)
