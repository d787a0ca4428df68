"""Where seeds of a benchmark's items stand in a row.

The index is a walk of growing grams in one hash table: an entry says which items start a seed there, and whether some
seed is longer. All places of a row are walked side by side, one token further at a time, so that no look-up waits for
another.

All that is called for each row makes no array (see kernels/compile.py, leaf): where the room that it is given does not
suffice it says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import leaf
from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend
from auditkit.kernels.prefetch import prefetch
from auditkit.kernels.table import ask_for, find, is_marked, may_hold, n_postings, posting_start

#: Added to diagonals so that they sort as unsigned numbers.
DIAGONAL_SHIFT = 1 << 31
LOW_HALF = 0xFFFFFFFF


class SeedArrays(NamedTuple):
    """The index of m item texts as the kernels read it.

    Attributes:
        table: gram -> entry, marked where some longer gram goes on from it (kernels/table.py). Grams of one token that
            only go on are left out.
        maybe: filter of its keys.
        postings: text << 32 less the position of the seed in it, int64 [n_postings].
        vocabulary: token hash -> number of the word, the most frequent first (kernels/overlap.py).
        n_words: number of words.
        item_words: word numbers of the item texts, int32 [n_tokens].
        item_offsets: where each text starts in `item_words`, int64 [m + 1].
        item_sketches: uint64 [m, SKETCH_WORDS].
    """

    table: NDArray[np.uint64]
    maybe: NDArray[np.uint64]
    postings: NDArray[np.int64]
    vocabulary: NDArray[np.uint64]
    n_words: int
    item_words: NDArray[np.int32]
    item_offsets: NDArray[np.int64]
    item_sketches: NDArray[np.uint64]


@leaf
def _add_hits(entry: Any, place: int, postings: NDArray[np.int64], hits: NDArray[np.int64], n: int) -> int:
    """Write the hits of an entry found at a place of the row behind the first n, where there is room.

    A hit is text << 32 | diagonal. Returns the number of hits of the entry.
    """
    start, shift = posting_start(entry), place + DIAGONAL_SHIFT
    count: int = n_postings(entry)
    if n + count <= len(hits):
        for p in range(count):
            hits[n + p] = postings[start + p] + shift
    return count


@leaf
def _start_grams(
    tokens: NDArray[np.uint64], begin: int, end: int, places: NDArray[np.int64], grams: NDArray[np.uint64]
) -> int:
    """Write the gram of one token of each place of the row; return their number."""
    for i in range(end - begin):
        places[i], grams[i] = i, extend(EMPTY_SEQUENCE, tokens[begin + i])
    return end - begin


@leaf
def _grow_grams(
    tokens: NDArray[np.uint64],
    begin: int,
    end: int,
    size: int,
    places: NDArray[np.int64],
    grams: NDArray[np.uint64],
    n: int,
) -> int:
    """Make the first n grams, of `size` tokens, one token longer; return how many do not end with the row before."""
    n_grown = 0
    for i in range(n):
        last = begin + places[i] + size
        if last < end:
            places[n_grown], grams[n_grown] = places[i], extend(grams[i], tokens[last])
            n_grown += 1
    return n_grown


@leaf
def _keep_likely(maybe: NDArray[np.uint64], places: NDArray[np.int64], grams: NDArray[np.uint64], n: int) -> int:
    """Move the grams that may be in the index to the front; return their number."""
    kept = 0
    for i in range(n):
        place, gram = places[i], grams[i]
        places[kept], grams[kept] = place, gram
        kept += may_hold(maybe, gram)
    return kept


@leaf
def _look_up(
    table: NDArray[np.uint64],
    postings: NDArray[np.int64],
    places: NDArray[np.int64],
    grams: NDArray[np.uint64],
    entries: NDArray[np.int64],
    n_grams: int,
    hits: NDArray[np.int64],
    n: int,
) -> tuple[int, int]:
    """Append the hits of the first n_grams grams, as far as there is room; move those that go on to the front.

    Returns:
        the number of hits so far, those without room included, and that of grams that go on.
    """
    for i in range(n_grams):
        ask_for(table, grams[i])
    n_found = 0
    for i in range(n_grams):
        entries[n_found] = find(table, grams[i])
        if entries[n_found] >= 0:
            prefetch(postings, posting_start(entries[n_found]))
            places[n_found], grams[n_found] = places[i], grams[i]
            n_found += 1
    n_alive = 0
    for i in range(n_found):
        place, gram, entry = places[i], grams[i], entries[i]
        n += _add_hits(entry, place, postings, hits, n)
        places[n_alive], grams[n_alive] = place, gram
        n_alive += is_marked(entry)
    return n, n_alive


@leaf
def gather_hits(
    tokens: NDArray[np.uint64],
    begin: int,
    end: int,
    table: NDArray[np.uint64],
    maybe: NDArray[np.uint64],
    postings: NDArray[np.int64],
    places: NDArray[np.int64],
    grams: NDArray[np.uint64],
    entries: NDArray[np.int64],
    hits: NDArray[np.int64],
) -> int:
    """Write the seed hits of the row tokens[begin:end] and return their number; with more than len(hits), some lack.

    Args:
        tokens, begin, end: the row.
        table, maybe, postings: see SeedArrays.
        places, grams, entries: scratch, at least as long as the row.
        hits: where they go.
    """
    n_grams = _keep_likely(maybe, places, grams, _start_grams(tokens, begin, end, places, grams))
    n, _ = _look_up(table, postings, places, grams, entries, n_grams, hits, 0)
    # Whether or not one token is a seed, longer grams may begin with it.
    n_alive, size = _start_grams(tokens, begin, end, places, grams), 1
    while n_alive > 0:
        n_grown = _grow_grams(tokens, begin, end, size, places, grams, n_alive)
        n_grams = _keep_likely(maybe, places, grams, n_grown)
        n, n_alive = _look_up(table, postings, places, grams, entries, n_grams, hits, n)
        size += 1
    return n
