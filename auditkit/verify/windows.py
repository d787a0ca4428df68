"""Candidates as columns: where in which row to look for which item text, and what their tokens say at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from auditkit.kernels.letters import NOT_ASCII, count_letters, letters_in_order
from auditkit.kernels.runs import longest_runs
from auditkit.text.normalise import Tokens
from auditkit.text.spans import stretch_bounds, stretches, whole_bounds, wholes
from auditkit.verify.items import PreparedItems

#: `shared` where the detector did not count it: as many as there can be.
UNKNOWN = 1 << 40


@dataclass(frozen=True)
class Windows:
    """n windows of rows, each with the item text that may stand in it.

    Attributes:
        unit, text: index of the row's text in its shard, and of the distinct item text: int64 [n].
        first, last: the window in tokens of the row, half open, of one token at least: int64 [n].
        shared: tokens that window and item share, or UNKNOWN: int64 [n].
        runs: longest run of tokens shared by window and item: length, first in the row, first in the item; 0 where it
            is too short for any rule: int64 [n, 3].
        tokens: tokens of the shard's texts.
        prepared: the items.
    """

    unit: NDArray[np.int64]
    text: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    shared: NDArray[np.int64]
    runs: NDArray[np.int64]
    tokens: Tokens
    prepared: PreparedItems

    @staticmethod
    def of(candidates: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> Windows:
        """Return the windows of frame tables.CANDIDATES, in its order."""
        unit, text, first, last = (candidates[name].to_numpy() for name in ("unit", "text", "first", "last"))
        shared = candidates["shared"].fill_null(UNKNOWN).to_numpy()
        pairs = np.stack([unit, text, first, last], axis=1)
        return Windows(unit, text, first, last, shared, _runs(pairs, shared, tokens, prepared), tokens, prepared)

    def __len__(self) -> int:
        return len(self.unit)

    def take(self, at: NDArray[np.int64]) -> Windows:
        """Return the windows `at`."""
        return replace(
            self,
            unit=self.unit[at],
            text=self.text[at],
            first=self.first[at],
            last=self.last[at],
            shared=self.shared[at],
            runs=self.runs[at],
        )

    @property
    def n_row(self) -> NDArray[np.int64]:
        """Tokens of the rows."""
        return self.tokens.lengths[self.unit]

    @property
    def n_item(self) -> NDArray[np.int64]:
        """Tokens of the item texts."""
        return self.prepared.items.tokens.lengths[self.text]

    @property
    def n_window(self) -> NDArray[np.int64]:
        """Tokens of the windows."""
        return self.last - self.first

    @property
    def n_shorter(self) -> NDArray[np.int64]:
        """Tokens of the shorter of window and item."""
        return np.minimum(self.n_window, self.n_item)

    @property
    def are_unspaced(self) -> NDArray[np.bool_]:
        """Whether the item is of a script without spaces."""
        return self.prepared.items.are_unspaced[self.text]

    @property
    def are_equal(self) -> NDArray[np.bool_]:
        """Whether row and item have the same tokens."""
        mine, theirs = self.tokens.sequences[self.unit], self.prepared.items.tokens.sequences[self.text]
        result: NDArray[np.bool_] = (mine == theirs) & (self.n_row == self.n_item)
        return result

    @property
    def hold_item(self) -> NDArray[np.bool_]:
        """Whether the item's tokens stand together in the window."""
        result: NDArray[np.bool_] = self.runs[:, 0] == self.n_item
        return result

    def row_letters(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the characters of the canonical rows of the windows `at`: int64 [n]."""
        return count_letters(self.tokens.text, whole_bounds(self.tokens, self.unit[at]))

    def letters_in_order(self, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many letters window and item share in the same order, and how many the shorter has: int64 [n]."""
        items = self.prepared.items.tokens
        mine = stretch_bounds(self.tokens, self.unit[at], self.first[at], self.last[at])
        theirs = whole_bounds(items, self.text[at])
        letters = letters_in_order(self.tokens.text, mine, items.text, theirs)
        n_shorter = np.minimum(mine[:, 1] - mine[:, 0], theirs[:, 1] - theirs[:, 0])
        others = np.flatnonzero(letters == NOT_ASCII)
        left, right = self.window_texts(at[others]), self.item_texts(at[others])
        letters[others] = process.cpdist(left, right, scorer=LCSseq.similarity, dtype=np.int64)
        n_shorter[others] = [min(len(a), len(b)) for a, b in zip(left, right, strict=True)]
        return letters, n_shorter

    def window_texts(self, at: NDArray[np.int64]) -> list[str]:
        """Return the canonical texts of the windows `at`."""
        return stretches(self.tokens, self.unit[at], self.first[at], self.last[at])

    def row_texts(self, at: NDArray[np.int64]) -> list[str]:
        """Return the canonical texts of the whole rows of the windows `at`."""
        return wholes(self.tokens, self.unit[at])

    def item_texts(self, at: NDArray[np.int64]) -> list[str]:
        """Return the canonical texts of the items of the windows `at`."""
        return wholes(self.prepared.items.tokens, self.text[at])


def _runs(
    pairs: NDArray[np.int64], shared: NDArray[np.int64], tokens: Tokens, prepared: PreparedItems
) -> NDArray[np.int64]:
    """Return the longest runs of windows [n, 4] that share enough tokens for a run that a rule asks for: int64 [n, 3].

    Rules ask for stretches of a stated length, and whether the whole of the shorter one stands in the other.
    """
    rule, items = prepared.rules.contained, prepared.items.tokens
    n_shorter = np.minimum(pairs[:, 3] - pairs[:, 2], items.lengths[pairs[:, 1]])
    at = np.flatnonzero(shared >= np.minimum(n_shorter, min(rule.stretch_tokens, rule.review_stretch_tokens)))
    runs = np.zeros((len(pairs), 3), np.int64)
    runs[at] = longest_runs(tokens.hashes, tokens.offsets, items.hashes, items.offsets, pairs[at])
    return runs
