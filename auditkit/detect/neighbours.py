"""What stands around a pair of a row and an item: how far the item is ahead of the others of its benchmark.

Distances between unit vectors mean something only beside other distances of the same kind: a row of school maths lies
close to every question of school maths. So a pair is seen against the item's own benchmark. Adding a benchmark changes
nothing for another, nor does the rest of the pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

#: Item texts as close as this say the same: neither is the other's rival.
SAME = 0.9
#: So many of a row's closest item texts of a benchmark are looked at for rivals.
CLOSEST = 8
#: Closest item texts of a row that its mean is taken over, the pair's own among them.
ROW_NEIGHBOURS = 2
#: Texts of a larger benchmark are compared with so many of it, evenly spread, when their closest other is looked for.
REFERENCE = 4096
#: Item texts at once.
BLOCK = 1024


@dataclass(frozen=True)
class Neighbours:
    """The item texts by benchmark, those of decoys apart, and what is close to each.

    Attributes:
        groups: places of the texts of each benchmark among all item texts: int64 arrays.
        rival: cosine of each text and the closest other of its group that does not say the same; NaN where there is
            none: float32 [m].
        centre: mean vector of the texts: float32 [d].
    """

    groups: tuple[NDArray[np.int64], ...]
    rival: NDArray[np.float32]
    centre: NDArray[np.float32]

    @staticmethod
    def of(parts: pl.DataFrame, vectors: NDArray[np.float32]) -> Neighbours:
        """Return the neighbours of item texts.

        Args:
            parts: columns benchmark and item, one row a text, in the order of `vectors`; items of decoys are below 0.
            vectors: their unit vectors, float32 of shape [m, d].
        """
        is_own = (parts["item"] >= 0).to_numpy()
        keyed = parts.select("benchmark", pl.Series("is_own", is_own), pl.int_range(pl.len()).alias("place"))
        grouped = keyed.group_by("benchmark", "is_own", maintain_order=True).agg("place")
        groups = tuple(np.array(places, np.int64) for places in grouped["place"].to_list())
        rival = np.full(len(vectors), np.nan, np.float32)
        for group in groups:
            rival[group] = _closest_others(vectors[group])
        centre = vectors[is_own].mean(axis=0) if is_own.any() else np.zeros(vectors.shape[1], np.float32)
        return Neighbours(groups, rival, np.asarray(centre, np.float32))

    def closest(self, products: NDArray[np.float32]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield per benchmark its texts, and where in them each row's closest are, best first: [n, CLOSEST at most].

        Args:
            products: cosines of rows and item texts, float32 of shape [n, m].
        """
        for group in self.groups:
            mine = products[:, group]
            yield group, _largest(mine, min(CLOSEST, len(group)))

    def centred(self, rows: NDArray[np.float32], items: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the cosines of pairs after the centre was taken from both sides: float64 [p].

        An encoder's vectors share a large common part, by language and kind of text. What is left tells apart.

        Args:
            rows, items: unit vectors of the pairs, float32 of shape [p, d].
        """
        left, right = rows - self.centre, items - self.centre
        lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        return _rounded(np.einsum("pd,pd->p", left, right) / np.maximum(lengths, 1e-9))


@dataclass(frozen=True)
class Around:
    """What stands around p pairs: see tables.CLOSE; float64 [p] each."""

    lead: NDArray[np.float64]
    item_lead: NDArray[np.float64]
    row_mean: NDArray[np.float64]


def around(
    products: NDArray[np.float32],
    vectors: NDArray[np.float32],
    rival: NDArray[np.float32],
    row: NDArray[np.int64],
    item: NDArray[np.int64],
    closest: NDArray[np.int64],
) -> Around:
    """Return what stands around pairs of rows and texts of one benchmark.

    Where a benchmark has no other text, nothing is known of what is usual for it: the leads are NaN.

    Args:
        products: cosines of the rows and the benchmark's texts, float32 of shape [n, m].
        vectors: the texts' vectors, float32 of shape [m, d].
        rival: see Neighbours, of these texts.
        row, item: places of the pairs, int64 [p] each.
        closest: see Neighbours.closest, int64 [n, k].
    """
    near = closest[row]
    cosines = products[row[:, None], near]
    alike = np.einsum("pd,pkd->pk", vectors[item], vectors[near])
    is_rival = (near != item[:, None]) & (alike < SAME)
    best = np.where(is_rival, cosines, -np.inf).max(axis=1)
    # All that are closest say the same: a rival is at most as close as the last of them.
    best = np.where(np.isfinite(best), best, cosines[:, -1])
    cosine = products[row, item]
    no_other = np.isnan(rival[item])
    lead = np.where(no_other, np.nan, cosine - best)
    item_lead = np.where(no_other, np.nan, cosine - rival[item])
    return Around(_rounded(lead), _rounded(item_lead), _rounded(cosines[:, :ROW_NEIGHBOURS].mean(axis=1)))


def _rounded(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.round(values.astype(np.float64), 4), np.float64)


def _largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the places of the k largest of each row, largest first, the earlier of equal ones: int64 [n, k]."""
    if k == values.shape[1]:
        return np.argsort(-values, axis=1, kind="stable")
    places = np.sort(np.argpartition(-values, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(-np.take_along_axis(values, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


def _closest_others(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of each text and the closest that does not say the same, NaN where there is none."""
    reference = vectors[:: -(-len(vectors) // REFERENCE)]
    found = []
    for start in range(0, len(vectors), BLOCK):
        cosines = vectors[start : start + BLOCK] @ reference.T
        found.append(np.where(cosines < SAME, cosines, -np.inf).max(axis=1))
    best = np.concatenate(found)
    return np.where(np.isfinite(best), best, np.nan).astype(np.float32)
