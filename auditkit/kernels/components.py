"""Union-find over integers: which things hang together by pairs, and which pairs it takes to say so."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf


@leaf
def root_of(parent: NDArray[np.int64], node: int) -> int:
    """Return the smallest member of a node's component; paths are halved on the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def unite(parent: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Unite the ends of each pair in turn; return which pairs joined two components (a spanning forest of all)."""
    joined = np.zeros(len(left), np.bool_)
    for i in range(len(left)):
        a, b = root_of(parent, left[i]), root_of(parent, right[i])
        if a != b:
            joined[i] = True
            parent[max(a, b)] = min(a, b)
    return joined


@kernel
def roots(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each node the smallest member of its component. Shape [n]."""
    found = np.empty(len(parent), np.int64)
    for node in range(len(parent)):
        found[node] = root_of(parent, node)
    return found
