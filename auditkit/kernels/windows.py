"""From seed hits to candidates: the windows of rows that share enough words with an item.

Most hits are chance. A sketch of the row tells which items cannot share enough with it; only the windows of the others
are counted out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf
from auditkit.kernels.lists import as_rows, grown, sort_first
from auditkit.kernels.overlap import SKETCH_WORDS, count_missing, count_shared, sketch_words
from auditkit.kernels.prefetch import prefetch
from auditkit.kernels.seeds import DIAGONAL_SHIFT, LOW_HALF, SeedArrays, gather_hits
from auditkit.kernels.sets import longest_text
from auditkit.kernels.table import find

#: So many seeds of one item near one diagonal make a candidate of any window: a stretch of a long item.
STRETCH_SEEDS = 8

#: So many seeds are asked for where just half of an item is shared: unrelated rows share one short phrase with it.
HALF_SEEDS = 4

#: Items of more tokens share half of their words with many rows by chance.
LONG_ITEM = 64


#: Values of a candidate, see scan_rows.
COLUMNS = 5


class Scratch(NamedTuple):
    """Arrays that rows are scanned with, one after another.

    Attributes:
        places, grams, entries: see seeds.gather_hits.
        words: word numbers of a row, int32 as long as the longest row.
        sketch: of a row, uint64 [1, SKETCH_WORDS].
        crowds: hits a counter, int64 [N_CROWDS].
        counts: one 0 a word number, int32.
    """

    places: NDArray[np.int64]
    grams: NDArray[np.uint64]
    entries: NDArray[np.int64]
    words: NDArray[np.int32]
    sketch: NDArray[np.uint64]
    crowds: NDArray[np.int64]
    counts: NDArray[np.int32]


@leaf
def is_candidate(shared: int, n_item: int, n_window: int, n_hits: int) -> bool:
    """Return whether a window shares enough: over half of the item, a stretch of it, or most of a short row with it.

    Long texts share half of their words by chance, but not their seeds: of a copy with a fifth of its words changed
    more than half of the seeds are left, so one in sixteen is asked for.
    """
    is_stretch = n_hits >= STRETCH_SEEDS
    has_seeds = (n_item <= LONG_ITEM) | (16 * n_hits >= n_item)
    is_half = (2 * shared > n_item) | ((2 * shared == n_item) & (n_hits >= HALF_SEEDS))
    is_part = (n_window < n_item) & (4 * shared >= 3 * n_window) & (10 * shared >= 3 * n_item)
    # No branch: which of these holds is chance, and a branch foretold wrongly costs more than all of them.
    return is_stretch | (has_seeds & (is_half | is_part))


@leaf
def _slack(n_item: Any) -> Any:
    """Return how far diagonals of one copy may lie apart, and how far a window reaches beyond its hits."""
    return max(4, n_item // 3)


@leaf
def _window(first_hit: Any, last_hit: Any, n_item: int, n_row: int) -> tuple[Any, Any]:
    """Return the first and last token (half open) of the window around hits, given those of least and most diagonal."""
    low = (first_hit & LOW_HALF) - DIAGONAL_SHIFT - _slack(n_item)
    high = (last_hit & LOW_HALF) - DIAGONAL_SHIFT + n_item + _slack(n_item)
    return max(0, low), min(n_row, high)


#: Counters of hits a text; texts that share one are kept together, so a collision loses nothing.
N_CROWDS = 1024


@leaf
def _crowd(hit: Any) -> Any:
    """Return the counter of a hit's text."""
    return (hit >> 32) & (N_CROWDS - 1)


@leaf
def drop_hopeless(
    hits: NDArray[np.int64],
    n: int,
    n_row: int,
    item_offsets: NDArray[np.int64],
    item_sketches: NDArray[np.uint64],
    sketch: NDArray[np.uint64],
    crowds: NDArray[np.int64],
) -> int:
    """Move the hits of texts that may be candidates to the front; return their number.

    All hits of a text stay or go together. They go where none of its windows can be a candidate: it has too few hits in
    the whole row for a stretch, and shares too little even if all that the row's sketch allows stood in that window.
    """
    for i in range(n):
        crowds[_crowd(hits[i])] = 0
        prefetch(item_sketches, hits[i] >> 32)
        prefetch(item_offsets, hits[i] >> 32)
    for i in range(n):
        crowds[_crowd(hits[i])] += 1
    for i in range(n):
        text = hits[i] >> 32
        n_item = item_offsets[text + 1] - item_offsets[text]
        low, high = _window(hits[i], hits[i], n_item, n_row)
        most = n_item - count_missing(item_sketches, text, sketch, 0)
        is_possible = is_candidate(most, n_item, high - low, STRETCH_SEEDS - 1)
        crowds[_crowd(hits[i])] += STRETCH_SEEDS * is_possible
    kept = 0
    for i in range(n):
        hit = hits[i]
        hits[kept] = hit
        kept += crowds[_crowd(hit)] >= STRETCH_SEEDS
    return kept


@leaf
def _group_end(hits: NDArray[np.int64], first: int, n: int, slack: int) -> int:
    """Return the end of the group of sorted hits[first:n]: of one text, without a jump of its diagonals.

    Hits of one copy lie on near diagonals; a jump is another copy further on in the row.
    """
    end = first + 1
    while end < n and hits[end] >> 32 == hits[first] >> 32 and hits[end] - hits[end - 1] <= slack:
        end += 1
    return end


@leaf
def _find_words(
    tokens: NDArray[np.uint64],
    begin: int,
    end: int,
    vocabulary: NDArray[np.uint64],
    unknown: int,
    words: NDArray[np.int32],
) -> None:
    """Write the word numbers of tokens[begin:end]; tokens that no item has are all the word `unknown`."""
    for i in range(end - begin):
        number = find(vocabulary, tokens[begin + i])
        words[i] = number if number >= 0 else unknown


@leaf
def _add_windows(
    hits: NDArray[np.int64],
    n: int,
    row: int,
    words: NDArray[np.int32],
    n_row: int,
    item_words: NDArray[np.int32],
    item_offsets: NDArray[np.int64],
    counts: NDArray[np.int32],
    found: NDArray[np.int64],
    n_found: int,
) -> int:
    """Append the candidates among the windows of a row's sorted hits, n at most; return their number so far.

    Candidates lie one after another in a flat array, of COLUMNS values each.
    """
    for at in range(n):
        prefetch(item_words, item_offsets[hits[at] >> 32])
    at = 0
    while at < n:
        text = hits[at] >> 32
        first, last = item_offsets[text], item_offsets[text + 1]
        end = _group_end(hits, at, n, _slack(last - first))
        low, high = _window(hits[at], hits[end - 1], last - first, n_row)
        shared = count_shared(words, low, high, item_words, first, last, counts)
        if is_candidate(shared, last - first, high - low, end - at):
            cell = COLUMNS * n_found
            found[cell], found[cell + 1], found[cell + 2] = row, text, low
            found[cell + 3], found[cell + 4] = high, shared
            n_found += 1
        at = end
    return n_found


@leaf
def _scan_on(
    tokens: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    index: SeedArrays,
    row: int,
    last_row: int,
    scratch: Scratch,
    hits: NDArray[np.int64],
    found: NDArray[np.int64],
    n_found: int,
) -> tuple[int, int, int]:
    """Append the candidates of rows [row, last_row), as far as there is room.

    Returns:
        the first row that was not done, the number of candidates so far, and the hits of that row, for all of which
        `hits` and `found` must have room.
    """
    table, maybe, postings, vocabulary, n_words, item_words, item_offsets, item_sketches = index
    places, grams, entries, words, sketch, crowds, counts = scratch
    while row < last_row:
        begin, n_row = offsets[row], offsets[row + 1] - offsets[row]
        n = gather_hits(tokens, begin, begin + n_row, table, maybe, postings, places, grams, entries, hits)
        if n > len(hits) or COLUMNS * (n_found + n) > len(found):
            return row, n_found, n
        if n > 0:
            _find_words(tokens, begin, begin + n_row, vocabulary, n_words, words)
            sketch_words(words, 0, n_row, counts, sketch, 0)
            n = drop_hopeless(hits, n, n_row, item_offsets, item_sketches, sketch, crowds)
            sort_first(hits, n)
            n_found = _add_windows(hits, n, row, words, n_row, item_words, item_offsets, counts, found, n_found)
        row += 1
    return row, n_found, 0


@kernel
def scan_rows(
    tokens: NDArray[np.uint64], offsets: NDArray[np.int64], index: SeedArrays, first_row: int, last_row: int
) -> NDArray[np.int64]:
    """Return candidates of rows [first_row, last_row): int64 of shape [n, COLUMNS].

    Columns: row, item text, first and last token of the window (half open), tokens shared with the item. Sorted by row
    and text. Threads may scan with one index at once: all scratch is made here.
    """
    longest = longest_text(offsets, first_row, last_row)
    scratch = Scratch(
        np.empty(longest, np.int64),
        np.empty(longest, np.uint64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int32),
        np.empty((1, SKETCH_WORDS), np.uint64),
        np.zeros(N_CROWDS, np.int64),
        np.zeros(index.n_words + 1, np.int32),
    )
    hits, found, n_found, row = np.empty(1024, np.int64), np.empty(COLUMNS * 4096, np.int64), 0, first_row
    while row < last_row:
        row, n_found, n_hits = _scan_on(tokens, offsets, index, row, last_row, scratch, hits, found, n_found)
        if n_hits > len(hits):
            hits = grown(hits, 0, n_hits)
        if COLUMNS * (n_found + n_hits) > len(found):
            found = grown(found, COLUMNS * n_found, COLUMNS * (n_found + n_hits))
    return as_rows(found, n_found, COLUMNS)
