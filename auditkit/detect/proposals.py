"""Which pairs of rows and items an encoder proposes: those over the threshold, and below it those that stand out.

A rewording may have any cosine; what tells it from an unrelated row is that its item is far ahead of all others. So
below the threshold each row proposes its closest item of each benchmark, and the verifier decides.

A translation is told by its ratio margin (verify/translations.py), which needs the closest rows of an item in the pool:
each shard hands on the closest of its own, from which those of the pool are found whatever the shards are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit import tables
from auditkit.detect.neighbours import Neighbours, around
from auditkit.text.items import ItemTexts
from auditkit.text.normalise import Tokens

#: Rows with a smaller share of their tokens among those of the items are in no language of theirs. Measured: of English
#: rows beside English items of their subject 1 in 50 is below it, of Italian and Vietnamese rows 49 in 50.
NATIVE_SHARE = 0.40
#: Closest rows of an item that its mean is taken over: k = 4 in Artetxe and Schwenk 2019.
ITEM_NEIGHBOURS = 4

AROUND = tuple(name for name in tables.CLOSE if name not in tables.CANDIDATES)
#: A pair by the places of its distinct row text and its item text; `is_proposed` is False for those that are only near
#: the threshold.
PAIRS: tables.Schema = {
    "distinct": pl.Int64(),
    "place": pl.Int64(),
    "cosine": pl.Float64(),
    "is_proposed": pl.Boolean(),
    **{name: tables.CLOSE[name] for name in AROUND},
}


@dataclass(frozen=True)
class Proposals:
    """Which pairs below the threshold are proposed: a row and its closest item of a benchmark.

    Attributes:
        floor: from this cosine on; for translations, from this cosine after centring.
        sieved: cosine from which a sieve is to keep them.
        is_for_translations: whether rows in another language than the items' are asked for, and the closest rows of
            each item with them.
    """

    floor: float
    sieved: float
    is_for_translations: bool = False


def vocabulary(items: ItemTexts) -> NDArray[np.uint64]:
    """Return the hashes of the items' tokens, sorted."""
    return np.unique(items.tokens.hashes)


def foreign(tokens: Tokens, units: NDArray[np.int64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which texts are in no language of the items: few of their tokens are the items'. Shape [n].

    Args:
        tokens: tokens of the shard's texts.
        units: the texts asked for, each of one token at least.
        known: see vocabulary.
    """
    is_known = np.isin(tokens.hashes, known)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_known)])
    n_known = before[tokens.offsets[units + 1]] - before[tokens.offsets[units]]
    result: NDArray[np.bool_] = n_known < NATIVE_SHARE * tokens.lengths[units]
    return result


@dataclass(frozen=True)
class _Block:
    """Some rows beside the n texts of one benchmark.

    Attributes:
        rows: unit vectors of the rows, float32 of shape [b, d].
        is_foreign: which rows are in no language of the items, bool [b].
        products: their cosines with the texts, float32 of shape [b, n].
        is_known: pairs that a stronger tier has, bool [b, n].
        group: places of the texts among all item texts, int64 [n].
        closest: see Neighbours.closest, int64 [b, k].
    """

    rows: NDArray[np.float32]
    is_foreign: NDArray[np.bool_]
    products: NDArray[np.float32]
    is_known: NDArray[np.bool_]
    group: NDArray[np.int64]
    closest: NDArray[np.int64]

    @property
    def best(self) -> NDArray[np.int64]:
        """Each row's closest text, int64 [b]."""
        return self.closest[:, 0]

    def closest_rows(self, threshold: float) -> NDArray[np.bool_]:
        """Return which pairs are a text and one of its ITEM_NEIGHBOURS closest foreign rows: bool [b, n].

        Pairs that are known already, or by their cosine, are none: what is left of them must not depend on the block.
        """
        rounded = np.round(self.products, 4)
        is_open = self.is_foreign[:, None] & ~self.is_known & (rounded < threshold)
        cosines = np.where(is_open, rounded, -np.inf)
        # Of rows as close as each other the earlier ones, in any block.
        top = np.argsort(-cosines, axis=0, kind="stable")[:ITEM_NEIGHBOURS]
        chosen = np.zeros(cosines.shape, np.bool_)
        chosen[top, np.arange(cosines.shape[1])] = True
        return chosen & is_open


@dataclass
class Proposer:
    """Takes the rows of a shard block by block, and says which pairs are proposed.

    Attributes:
        threshold: cosine from which every pair is proposed; `margin` below it pairs are returned as near.
        proposals: which others are.
        items: vectors of the item texts, float32 of shape [m, d].
        neighbours: what stands around them.
        known: pairs that a stronger tier has and that are not proposed: places of distinct texts and of items.
    """

    threshold: float
    margin: float
    proposals: Proposals | None
    items: NDArray[np.float32]
    neighbours: Neighbours
    known: tuple[NDArray[np.int64], NDArray[np.int64]]
    _found: list[pl.DataFrame] = field(default_factory=list)

    def add(self, places: NDArray[np.int64], rows: NDArray[np.float32], is_foreign: NDArray[np.bool_]) -> None:
        """Take rows.

        Args:
            places: of the distinct texts, int64 [b], ascending.
            rows: their unit vectors, float32 of shape [b, d].
            is_foreign: which are in no language of the items, bool [b].
        """
        products = rows @ self.items.T
        is_known = self._known(places)
        for group, closest in self.neighbours.closest(products):
            pairs = self._pairs(_Block(rows, is_foreign, products[:, group], is_known[:, group], group, closest))
            self._found.append(pairs.with_columns(pl.Series("distinct", places[pairs["distinct"].to_numpy()])))

    def pairs(self) -> pl.DataFrame:
        """Return the pairs of all rows taken: frame PAIRS; of an item's closest rows, those of the whole shard."""
        every = pl.concat([tables.empty(PAIRS), *self._found])
        is_open = pl.col("is_proposed") & (pl.col("cosine") < self.threshold)
        rank = pl.col("cosine").rank("ordinal", descending=True).over("place", is_open)
        return every.filter(~pl.col("is_neighbour") | (rank <= ITEM_NEIGHBOURS))

    def _known(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs of these rows and all items are known: bool [b, m]."""
        row, item = self.known
        here = np.isin(row, places)
        is_known = np.zeros((len(places), len(self.items)), np.bool_)
        is_known[np.searchsorted(places, row[here]), item[here]] = True
        return is_known

    def _pairs(self, block: _Block) -> pl.DataFrame:
        """Return the pairs of one benchmark: frame PAIRS, `distinct` being the row's place in the block."""
        stands_out, is_neighbour = self._stands_out(block), np.zeros(block.products.shape, np.bool_)
        is_near = block.products >= self.threshold - 2 * self.margin
        if self.proposals is not None and self.proposals.is_for_translations:
            is_neighbour = block.closest_rows(self.threshold) & ~stands_out
        row, item = np.nonzero((is_near | stands_out | is_neighbour) & ~block.is_known)
        vectors, cosine = self.items[block.group], np.round(block.products[row, item].astype(np.float64), 4)
        near = around(block.products, vectors, self.neighbours.rival[block.group], row, item, block.closest)
        return pl.DataFrame(
            {
                "distinct": row,
                "place": block.group[item],
                "cosine": cosine,
                "is_proposed": (cosine >= self.threshold) | stands_out[row, item] | is_neighbour[row, item],
                "lead": near.lead,
                "item_lead": near.item_lead,
                "row_mean": near.row_mean,
                "centred": self.neighbours.centred(block.rows[row], vectors[item]),
                "is_neighbour": is_neighbour[row, item],
            },
            schema=PAIRS,
        ).with_columns(pl.col("lead", "item_lead").fill_nan(None))

    def _stands_out(self, block: _Block) -> NDArray[np.bool_]:
        """Return which pairs are a row and its closest text, close enough to be proposed: bool [b, n]."""
        chosen, rows = np.zeros(block.products.shape, np.bool_), np.arange(len(block.products))
        if self.proposals is None:
            return chosen
        if self.proposals.is_for_translations:
            cosines = self.neighbours.centred(block.rows, self.items[block.group[block.best]])
            chosen[rows, block.best] = (cosines >= self.proposals.floor) & block.is_foreign
        else:
            chosen[rows, block.best] = block.products[rows, block.best] >= self.proposals.floor
        return chosen
