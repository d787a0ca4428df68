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
        """Return the reading with pieces (in order, apart from each other) put in their places.

        A piece as long as what it replaces stands character for character; each character of any other comes from the
        whole stretch.
        """
        texts, starts, ends, last = list[str](), list[NDArray[np.int64]](), list[NDArray[np.int64]](), 0
        for start, end, new in pieces:
            texts += [self.text[last:start], new]
            starts.append(self.starts[last:start])
            ends.append(self.ends[last:start])
            if len(new) == end - start:
                starts.append(self.starts[start:end])
                ends.append(self.ends[start:end])
            else:
                starts.append(np.full(len(new), self.starts[start:end].min(initial=1 << 62), np.int64))
                ends.append(np.full(len(new), self.ends[start:end].max(initial=0), np.int64))
            last = end
        texts.append(self.text[last:])
        return Reading(
            "".join(texts),
            np.concatenate([*starts, self.starts[last:]]),
            np.concatenate([*ends, self.ends[last:]]),
            (*self.views, view),
        )

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters [start, end) of the text as read that the reading's [start, end) come from."""
        if start >= end:
            return 0, 0
        return int(self.starts[start:end].min()), int(self.ends[start:end].max())
