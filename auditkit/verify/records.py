"""Decided pairs of a shard -> frame VERIFIED: overlap, places in the text as read, view, numbers, many at a time."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit import tables
from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend_all
from auditkit.kernels.sets import count_distinct, set_overlaps
from auditkit.text.normalise import Tokens
from auditkit.text.spans import characters
from auditkit.verify.align import numbers_differ, view_of
from auditkit.verify.frames import are_swapped
from auditkit.verify.items import PreparedItems

#: A verified pair: positions of the row text and of the distinct item text in their frames, and the scores.
VERIFIED: tables.Schema = {
    "unit": pl.Int64(),
    "text": pl.Int64(),
    "tier": pl.String(),
    "verdict": pl.String(),
    "rule": pl.String(),
    "threshold": pl.Float64(),
    "containment": pl.Float64(),
    "row_containment": pl.Float64(),
    "jaccard": pl.Float64(),
    "ratio": pl.Float64(),
    "ratio_kind": pl.String(),
    "cosine": pl.Float64(),
    "encoder": pl.String(),
    "meaning": pl.Float64(),  # the verifier's score of a paraphrase, null where it was not asked
    "margin": pl.Float64(),  # of translations, once the whole pool is known
    "cross_encoder": pl.Float64(),  # its score of a paraphrase, null where none was asked
    "is_cut": pl.Boolean(),  # whether the cross-encoder read a part of the pair only
    "row_mean": pl.Float64(),  # of what may be one, until then: see tables.CLOSE; null for all others
    "row_start": pl.Int64(),
    "row_end": pl.Int64(),
    "item_first": pl.Int64(),  # tokens of the item, half open; its characters differ from part to part
    "item_last": pl.Int64(),
    "view": pl.String(),
    "numbers_differ": pl.Boolean(),
    "is_partial": pl.Boolean(),
    "is_swapped": pl.Boolean(),  # whether the row has other words in a frame that it shares with the item
    "row_sequence": pl.UInt64(),  # hash of the row's tokens: rows of equal text count once in frequencies
}

#: What only paraphrases have.
CLOSE_ONLY = ("meaning", "margin", "cross_encoder", "is_cut", "row_mean")

#: What a decision says of a pair: tokens of the row in place of characters, and nothing that follows from the texts.
DECIDED: tables.Schema = {
    name: VERIFIED[name]
    for name in ("unit", "text", "tier", "verdict", "rule", "threshold", "ratio", "ratio_kind", "cosine", "encoder")
} | {
    "row_first": pl.Int64(),
    "row_last": pl.Int64(),
    "item_first": pl.Int64(),
    "item_last": pl.Int64(),
    "is_partial": pl.Boolean(),
}


def completed(decided: pl.DataFrame, texts: pl.Series, tokens: Tokens, prepared: PreparedItems) -> pl.DataFrame:
    """Return frame DECIDED of a shard, in its order, as frame VERIFIED.

    Args:
        decided: the pairs; columns of CLOSE_ONLY that it lacks are null.
        texts: the texts of the shard, String.
        tokens: their tokens.
        prepared: the items.
    """
    tables.check(decided, DECIDED, "completed")
    unit, text = decided["unit"].to_numpy(), decided["text"].to_numpy()
    absent = [pl.lit(None, VERIFIED[name]).alias(name) for name in CLOSE_ONLY if name not in decided.columns]
    return decided.with_columns(
        *absent,
        *overlaps(unit, text, tokens, prepared),
        *_places(decided, texts),
        pl.Series("numbers_differ", _differing_numbers(decided, tokens, prepared), dtype=pl.Boolean),
        are_swapped(decided, tokens, prepared),
        pl.Series("row_sequence", tokens.sequences[unit], dtype=pl.UInt64),
    ).select(VERIFIED.keys())


# ---------------------------------------------------------------- overlap


def shingle_sizes(n_tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the shingle size in tokens for items of `n_tokens`: 3, or 2 and 1 for short ones."""
    return np.where(n_tokens >= 8, 3, np.where(n_tokens >= 5, 2, 1))


def overlaps(
    unit: NDArray[np.int64], text: NDArray[np.int64], tokens: Tokens, prepared: PreparedItems
) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return containment, row_containment and jaccard of rows and item texts, over shingle_sizes: Float64 [n] each."""
    shared, mine, united = np.zeros(len(unit)), np.ones(len(unit)), np.ones(len(unit))
    items = prepared.items.tokens
    sizes = shingle_sizes(items.lengths[text])
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        units, of_row = np.unique(unit[at], return_inverse=True)
        theirs, of_item = np.unique(text[at], return_inverse=True)
        rows, parts = shingles(tokens, units, size), shingles(items, theirs, size)
        counts = set_overlaps(*rows, *parts, np.stack([of_row, of_item], axis=1))
        shared[at], united[at] = counts[:, 0], counts[:, 1]
        mine[at] = np.maximum(count_distinct(*rows), 1)[of_row]  # a row without a token shares nothing
    n_item = united - mine + shared
    return (
        pl.Series("containment", shared / n_item, dtype=pl.Float64),
        pl.Series("row_containment", shared / mine, dtype=pl.Float64),
        pl.Series("jaccard", shared / united, dtype=pl.Float64),
    )


def shingles(tokens: Tokens, index: NDArray[np.int64], size: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the hashes of `size` tokens in a row of the texts `index`, of all tokens where a text has fewer.

    Returns:
        (hashes, repeats included: uint64, where each text starts in them: int64 [n + 1]).
    """
    lengths = tokens.lengths[index]
    counts = np.where(lengths >= size, lengths - size + 1, np.minimum(lengths, 1))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    starts = np.arange(offsets[-1]) + np.repeat(tokens.offsets[index] - offsets[:-1], counts)
    ends = np.repeat(tokens.offsets[index + 1], counts)
    value = np.full(len(starts), EMPTY_SEQUENCE, np.uint64)
    for i in range(size):
        goes_on = np.flatnonzero(starts + i < ends)
        value[goes_on] = extend_all(value[goes_on], tokens.hashes[starts[goes_on] + i])
    return value, offsets


# ---------------------------------------------------------------- places, views, numbers


def _places(decided: pl.DataFrame, texts: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return row_start, row_end and view of the pairs."""
    units, index = np.unique(decided["unit"].to_numpy(), return_inverse=True)
    matched = texts.gather(units).to_list()
    start, end = characters(matched, index, decided["row_first"].to_numpy(), decided["row_last"].to_numpy())
    views = [view_of(matched[i][a:b]) for i, a, b in zip(index.tolist(), start.tolist(), end.tolist(), strict=True)]
    return (
        pl.Series("row_start", start, dtype=pl.Int64),
        pl.Series("row_end", end, dtype=pl.Int64),
        pl.Series("view", views, dtype=pl.String),
    )


def _differing_numbers(decided: pl.DataFrame, tokens: Tokens, prepared: PreparedItems) -> list[bool]:
    """Return whether some number of each item's stretch is missing from the row's."""
    theirs = prepared.items.tokens
    columns = decided.select("unit", "text", "row_first", "row_last", "item_first", "item_last")
    has_number = prepared.has_number[decided["text"].to_numpy()]
    differs = [False] * len(decided)
    for i in np.flatnonzero(has_number).tolist():
        unit, text, *row, first, last = columns.row(i)
        mine = tokens.hashes[tokens.offsets[unit] :][slice(*row)]
        stretch = slice(theirs.offsets[text] + first, theirs.offsets[text] + last)
        differs[i] = numbers_differ(mine, theirs.hashes[stretch][prepared.is_number[stretch]])
    return differs
