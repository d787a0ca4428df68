"""One reading of a text: what it says once a disguise is undone, and where each character of that comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: A stretch [start, end) of a text, in characters, and what stands there in truth.
Piece = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says in a view.

    Attributes:
        text: the reading.
        starts, ends: per character of it, the characters [start, end) of the text as read that it comes from: int64.
        views: names of the views that led to it, the outermost disguise first.
    """

    text: str
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    views: tuple[str, ...] = ()

    @staticmethod
    def of(text: str) -> Reading:
        """Return the text as it was read."""
        places = np.arange(len(text) + 1, dtype=np.int64)
        return Reading(text, places[:-1], places[1:])

    @property
    def name(self) -> str:
        """Name of the view, as a match carries it: "base64+rot13"."""
        return "+".join(self.views)

    def stretch(self, start: int, end: int) -> Reading:
        """Return the reading of the characters [start, end) alone."""
        return Reading(self.text[start:end], self.starts[start:end], self.ends[start:end], self.views)

    def replaced(self, pieces: Sequence[Piece], view: str) -> Reading:
        """Return the reading with pieces (one at least, in order, apart, none empty) put in their places.

        A piece as long as what it replaces stands character for character; each character of any other comes from the
        whole stretch.
        """
        bounds = np.array([piece[:2] for piece in pieces], np.int64).reshape(-1, 2)
        sizes = np.array([len(new) for _, _, new in pieces], np.int64)
        # What stays before each piece, and the piece, by turns; at the end what stays behind the last.
        firsts = np.append(np.stack([np.append(0, bounds[:-1, 1]), bounds[:, 0]], axis=1).ravel(), bounds[-1, 1])
        lasts = np.append(bounds.ravel(), len(self.text))
        lengths = lasts - firsts
        is_whole = np.append(np.stack([np.zeros(len(sizes), np.bool_), sizes != lengths[1::2]], axis=1).ravel(), False)
        lengths[1::2] = sizes
        turn = np.repeat(np.arange(len(lengths)), lengths)
        place = firsts[turn] + np.arange(len(turn)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        starts = np.where(is_whole[turn], firsts[turn], place)
        ends = np.where(is_whole[turn], lasts[turn] - 1, place)
        return Reading(self._text_with(pieces), self.starts[starts], self.ends[ends], (*self.views, view))

    def _text_with(self, pieces: Sequence[Piece]) -> str:
        texts, last = list[str](), 0
        for start, end, new in pieces:
            texts += [self.text[last:start], new]
            last = end
        return "".join([*texts, self.text[last:]])

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters [start, end) of the text as read that the reading's [start, end) come from."""
        if start >= end:
            return 0, 0
        return int(self.starts[start:end].min()), int(self.ends[start:end].max())
