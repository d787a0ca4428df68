"""A sample of a pool's texts, the same however the pool is cut: their first and last tokens, as hashes.

A text is taken where the hash of its tokens and its row number is small enough (sampling by a hash: Broder 1997, "On
the resemblance and containment of documents", section 4), so shards need not know of each other. The share that is
taken depends on the size of the pool alone, so that the samples of all its shards stay within some megabytes.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.kernels.hashing import extend_all
from auditkit.tables import TEXTS, Schema
from auditkit.text.normalise import Tokens

#: Bytes of a pool up to which all its texts are taken; of larger pools at least half of this is.
ALL_BYTES = 8 << 20
#: Tokens that are kept of either end.
LONGEST = 24
#: Bits of a token's hash that are kept, since sequences of several are compared; four tokens are a number of 64 bits.
_KEPT_BITS, _PACKED = 16, 4
_NUMBERS = range(LONGEST // _PACKED)

#: One text of a shard.
SAMPLED: Schema = {name: TEXTS[name] for name in ("row", "field", "turn")} | {
    "sequence": pl.UInt64(),  # hash of all its tokens
    "n_tokens": pl.Int64(),
    "is_beside": pl.Boolean(),  # whether its record has other texts
    **{f"first_{i}": pl.UInt64() for i in _NUMBERS},  # its first tokens, packed: LONGEST, zeros behind its last
    **{f"last_{i}": pl.UInt64() for i in _NUMBERS},  # its last tokens, the last one first
}


def n_halvings(n_bytes: int) -> int:
    """Return how often the sample of a pool of so many bytes is halved: one text in 2 ** n is taken."""
    return max(0, (max(n_bytes, 1) - 1) // ALL_BYTES).bit_length()


def observe(texts: pl.DataFrame, tokens: Tokens, halvings: int) -> pl.DataFrame:
    """Return frame SAMPLED of a shard.

    Args:
        texts: frame tables.TEXTS.
        tokens: their tokens.
        halvings: one text in 2 ** halvings is taken.
    """
    rows = texts["row"].to_numpy()
    at = _taken(rows, tokens, halvings)
    first, last = _ends(tokens, at)
    packed = {"first": first.view("<u8"), "last": last.view("<u8")}
    return (
        texts[at]
        .select("row", "field", "turn")
        .with_columns(
            pl.Series("sequence", tokens.sequences[at], dtype=pl.UInt64),
            pl.Series("n_tokens", tokens.lengths[at], dtype=pl.Int64),
            pl.Series("is_beside", _are_beside(rows)[at], dtype=pl.Boolean),
            *(pl.Series(f"{end}_{i}", numbers[:, i]) for end, numbers in packed.items() for i in _NUMBERS),
        )
    )


def unpacked(sampled: pl.DataFrame, end: str) -> NDArray[np.uint16]:
    """Return the kept bits of the tokens at one end ("first" or "last") of sampled texts: uint16 [n, LONGEST]."""
    numbers = sampled.select(f"{end}_{i}" for i in _NUMBERS).to_numpy(order="c")
    return np.ascontiguousarray(numbers, "<u8").view("<u2").reshape(len(sampled), LONGEST)


def _taken(rows: NDArray[np.int64], tokens: Tokens, halvings: int) -> NDArray[np.int64]:
    """Return which texts are taken; those without a token never are."""
    has_token = tokens.lengths > 0
    if halvings:
        mixed = extend_all(tokens.sequences, rows.astype(np.uint64))
        has_token &= mixed >> np.uint64(64 - halvings) == 0
    return np.flatnonzero(has_token)


def _are_beside(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether a text has a neighbour of its own record: bool [n]. Texts of a record follow each other."""
    is_same = rows[1:] == rows[:-1]
    result: NDArray[np.bool_] = np.append(is_same, False) | np.append(False, is_same)
    return result


def _ends(tokens: Tokens, at: NDArray[np.int64]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the kept bits of the first and of the last tokens, the last one first: uint16 [n, LONGEST] each."""
    steps = np.arange(LONGEST)
    is_there = steps < tokens.lengths[at, None]
    begin, end = tokens.offsets[at, None], tokens.offsets[at + 1, None]
    return _kept(tokens.hashes, begin + steps, is_there), _kept(tokens.hashes, end - 1 - steps, is_there)


def _kept(hashes: NDArray[np.uint64], places: NDArray[np.int64], is_there: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """Return the kept bits of the hashes at `places`, 0 where nothing is there; a token's are never 0."""
    bits = (hashes[np.where(is_there, places, 0)] >> np.uint64(64 - _KEPT_BITS)).astype("<u2")
    return np.where(is_there, np.maximum(bits, 1), 0).astype("<u2")
