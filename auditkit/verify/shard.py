"""The row's side of verification: the texts of a shard, looked into on demand, and one candidate at hand."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.text.normalise import Tokens
from auditkit.text.spans import Placed, place
from auditkit.verify.align import Spans, numbers_differ
from auditkit.verify.items import PreparedItems, shingle_size, shingles
from auditkit.verify.scores import LONG_TOKENS


@dataclass(frozen=True)
class ShardRows:
    """The texts of a shard and their tokens, with the places of tokens found on demand."""

    texts: pl.Series
    tokens: Tokens
    _placed: dict[int, list[Placed]] = field(default_factory=dict)
    _shingles: dict[tuple[int, int], NDArray[np.uint64]] = field(default_factory=dict)

    def placed(self, unit: int) -> list[Placed]:
        """Return the tokens of one text with their characters."""
        if unit not in self._placed:
            self._placed[unit] = place(self.texts[unit])
        return self._placed[unit]

    def hashes(self, unit: int) -> NDArray[np.uint64]:
        """Return the token hashes of one text."""
        return self.tokens.hashes[self.tokens.offsets[unit] : self.tokens.offsets[unit + 1]]

    def shingles(self, unit: int, size: int) -> NDArray[np.uint64]:
        """Return the distinct shingles of one text."""
        key = (unit, size)
        if key not in self._shingles:
            self._shingles[key] = shingles(self.hashes(unit), size)
        return self._shingles[key]


@dataclass(frozen=True)
class Candidate:
    """One candidate and all there is to know of it.

    Attributes:
        unit, text: index of the row text in its shard, and of the distinct item text.
        window: where in the row to look, in tokens, half open.
        window_text: canonical text of the window.
        run: longest shared run of tokens: length, first token in the row, first in the item.
    """

    unit: int
    text: int
    window: tuple[int, int]
    window_text: str
    run: tuple[int, int, int]
    rows: ShardRows
    prepared: PreparedItems

    @property
    def row_hashes(self) -> NDArray[np.uint64]:
        """Token hashes of the row."""
        return self.rows.hashes(self.unit)

    @property
    def item_hashes(self) -> NDArray[np.uint64]:
        """Token hashes of the item text."""
        return self.prepared.tokens(self.text)

    @property
    def item_text(self) -> str:
        """Canonical item text."""
        return self.prepared.items.canonicals[self.text]

    @property
    def is_long(self) -> bool:
        """Whether the two are compared token by token inside longer rows."""
        return min(self.window[1] - self.window[0], len(self.item_hashes)) > LONG_TOKENS

    def row_words(self, span: tuple[int, int]) -> list[str]:
        """Return the tokens of a stretch of the row."""
        return [placed.token for placed in self.rows.placed(self.unit)[slice(*span)]]

    def item_words(self, span: tuple[int, int]) -> list[str]:
        """Return the tokens of a stretch of the item."""
        return self.prepared.items.tokens.words(self.text)[slice(*span)]

    def numbers_differ(self, spans: Spans) -> bool:
        """Return whether some number of the item's stretch is missing from the row's."""
        return numbers_differ(self.row_words(spans.row), self.item_words(spans.item))


def overlap(unit: int, text: int, rows: ShardRows, prepared: PreparedItems) -> dict[str, float]:
    """Return containment, row_containment and jaccard of a row and an item text, over shingle_size tokens."""
    size = shingle_size(int(prepared.items.tokens.lengths[text]))
    mine, theirs = rows.shingles(unit, size), shingles(prepared.tokens(text), size)
    shared = len(np.intersect1d(mine, theirs, assume_unique=True))
    return {
        "containment": shared / len(theirs),
        "row_containment": shared / len(mine),
        "jaccard": shared / (len(mine) + len(theirs) - shared),
    }
