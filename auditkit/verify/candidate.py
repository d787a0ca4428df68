"""One candidate that may reach a rule: what the rules look at, where the shared text lies, whose words it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from auditkit.text.normalise import Tokens
from auditkit.text.spans import letters_of_tokens
from auditkit.verify.align import Letters, Spans, align_tokens, kept, numbers_differ, stands_at, tokens_between
from auditkit.verify.decide import Decision, Pair
from auditkit.verify.direction import direction_differs
from auditkit.verify.items import PreparedItems, at_least
from auditkit.verify.scores import LONG_TOKENS, Scores
from auditkit.verify.windows import Windows

#: Of an item with a template, at least so many tokens of its own (or all it has) are asked for.
MIN_OWN_TOKENS = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate and all there is to know of it.

    Attributes:
        unit, text: index of the row's text in its shard, and of the distinct item text.
        window: where in the row to look, in tokens, half open.
        run: longest shared run of tokens: length, first token in the row, first in the item.
        row_hashes, item_hashes: token hashes of the row and of the item text.
        held_at: where all of a row that is shorter than the item stands in the item, in tokens, or -1.
        tokens: tokens of the shard's texts.
        prepared: the items.
    """

    unit: int
    text: int
    window: tuple[int, int]
    run: tuple[int, int, int]
    row_hashes: NDArray[np.uint64]
    item_hashes: NDArray[np.uint64]
    held_at: int
    tokens: Tokens
    prepared: PreparedItems

    @staticmethod
    def at(
        unit: int,
        text: int,
        window: tuple[int, int],
        run: tuple[int, int, int],
        tokens: Tokens,
        prepared: PreparedItems,
    ) -> Candidate:
        """Return a candidate with what is looked up for it."""
        mine, theirs = tokens.hashes[tokens.offsets[unit] : tokens.offsets[unit + 1]], prepared.tokens(text)
        can_be_held = len(mine) < len(theirs) and run[0] == window[1] - window[0]
        held_at = stands_at(mine, theirs) if can_be_held else -1
        return Candidate(unit, text, window, run, mine, theirs, held_at, tokens, prepared)

    @property
    def window_text(self) -> str:
        """Canonical text of the window."""
        return self.tokens.slice(self.unit, *self.window)

    @property
    def item_text(self) -> str:
        """Canonical item text."""
        return self.prepared.items.tokens.canonical(self.text)

    @property
    def is_equal(self) -> bool:
        """Whether row and item have the same tokens."""
        return np.array_equal(self.row_hashes, self.item_hashes)

    @property
    def holds_item(self) -> bool:
        """Whether the item's tokens stand together in the window."""
        return self.run[0] == len(self.item_hashes)

    @property
    def is_long(self) -> bool:
        """Whether the two are compared token by token inside longer rows."""
        return min(self.window[1] - self.window[0], len(self.item_hashes)) > LONG_TOKENS

    def lacks_only_common(self) -> bool:
        """Return whether every item token that the row lacks is common in the benchmarks."""
        lacking = np.setdiff1d(self.item_hashes, self.row_hashes)
        return all(token in self.prepared.common for token in lacking.tolist())

    def kept(self, partial: float) -> float:
        """Return which share of the shorter text its best stretch of the longer one keeps; 0 where no rule asks."""
        if partial < self.prepared.rules.contained.ratio:
            return 0.0
        return partial if self.is_long or partial == 1.0 else kept(self.item_text, self.window_text)

    def numbers_differ(self, spans: Spans) -> bool:
        """Return whether some number of the item's stretch is missing from the row's."""
        if not self.prepared.has_number[self.text]:
            return False
        numbers = self.item_hashes[slice(*spans.item)][self.prepared.number_mask(self.text)[slice(*spans.item)]]
        return numbers_differ(self.row_hashes[slice(*spans.row)], numbers)

    def is_turned(self, decision: Decision, spans: Spans) -> bool:
        """Return whether the row as a whole is a copy of the whole item, turned round: see direction.py."""
        if decision.tier == "exact" or decision.is_partial or spans.row != (0, len(self.row_hashes)):
            return False
        return direction_differs(self.tokens.words(self.unit), self.prepared.items.tokens.words(self.text))

    def holds_own(self, share: float, decision: Decision, spans: Spans) -> bool:
        """Return whether the row holds that share of what is the item's own, beside the template that many items share.

        True for items without a template, for equal texts, and for items that are nothing but template.
        """
        if decision.tier == "exact" or not self.prepared.has_template[self.text]:
            return True
        mask = self.prepared.template_mask(self.text)
        if not mask[slice(*spans.item)].any() or mask.all():
            return True
        # A row that is a part of the item can have no more than its part, though one word of that ("What ...") says
        # nothing; of every other row all that is the item's own is asked for.
        is_part = len(self.row_hashes) < len(mask) and not decision.is_stretch
        stretch = spans.item if is_part else (0, len(mask))
        own = self.item_hashes[slice(*stretch)][~mask[slice(*stretch)]]
        shared = int(np.isin(own, self.row_hashes[slice(*spans.row)]).sum())
        wanted = max(len(own), min(MIN_OWN_TOKENS, int((~mask).sum())))
        return len(own) > 0 and at_least(shared, share, wanted)

    def spans(self, decision: Decision) -> Spans:
        """Return the token ranges that a decision rests on.

        Exact and near copies are whole rows. Inside longer rows it is the item's own place, or the best alignment of
        the item widened to whole tokens; a row that is a part of the item is placed in it.
        """
        n_row, n_item = len(self.row_hashes), len(self.item_hashes)
        length, in_row, in_item = self.run
        if decision.is_stretch:
            return Spans((in_row, in_row + length), (in_item, in_item + length))
        if decision.tier in ("exact", "near"):
            return Spans((0, n_row), (0, n_item))
        if self.holds_item:
            return Spans((in_row, in_row + n_item), (0, n_item))
        if self.held_at >= 0:
            return Spans((0, n_row), (self.held_at, self.held_at + n_row))
        return self._spans_by_tokens() if self.is_long else self._spans_by_letters(decision)

    def _spans_by_tokens(self) -> Spans:
        first, last = self.window
        found = align_tokens(self.row_hashes[first:last], self.item_hashes).spans
        return Spans((first + found.row[0], first + found.row[1]), found.item)

    def _spans_by_letters(self, decision: Decision) -> Spans:
        n_row, n_item = len(self.row_hashes), len(self.item_hashes)
        found = fuzz.partial_ratio_alignment(self.item_text, self.window_text)
        if found is None:
            return Spans((0, n_row), (0, n_item))
        item = letters_of_tokens(self.prepared.items.tokens, self.text, 0, n_item)
        in_item = tokens_between(item, found.src_start, found.src_end)
        if decision.is_partial and n_row < n_item:
            return Spans((0, n_row), in_item)
        window: Letters = letters_of_tokens(self.tokens, self.unit, *self.window)
        in_window = tokens_between(window, found.dest_start, found.dest_end)
        return Spans((self.window[0] + in_window[0], self.window[0] + in_window[1]), in_item)


def candidates_at(windows: Windows, at: NDArray[np.int64]) -> Iterator[Candidate]:
    """Yield the windows `at` one by one."""
    columns = (windows.unit, windows.text, windows.first, windows.last, *windows.runs.T)
    for unit, text, first, last, *run in zip(*(column[at].tolist() for column in columns), strict=True):
        length, in_row, in_item = run
        yield Candidate.at(unit, text, (first, last), (length, in_row, in_item), windows.tokens, windows.prepared)


def pair_of(here: Candidate, i: int, scores: Scores) -> Pair:
    """Return what the rules look at, for the candidate that is window `i`."""
    near, ratio, partial = here.prepared.rules.near, float(scores.ratio[i]), float(scores.partial[i])
    return Pair(
        n_item=len(here.item_hashes),
        n_row=len(here.row_hashes),
        n_characters=int(here.prepared.n_characters[here.text]),
        is_unspaced=bool(here.prepared.items.are_unspaced[here.text]),
        is_equal=here.is_equal,
        holds_item=here.holds_item,
        is_held=here.held_at >= 0,
        run=here.run[0],
        lacks_only_common=near.common_ratio <= ratio < near.ratio and here.lacks_only_common(),
        ratio=ratio,
        token_sort=float(scores.token_sort[i]),
        partial=partial,
        kept=here.kept(partial),
    )
