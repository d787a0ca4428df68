"""Row ids as text, and how often one comes again."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import orjson
import polars as pl

from auditkit.kernels.sets import keep_new
from auditkit.kernels.strings import hash_strings
from auditkit.text.strings import string_buffers

#: What is longer is taken for a text of the pool: it never stands in a report, its digest does.
MAX_CHARACTERS = 200
#: Ids of the first so many rows of a source are compared: they take 128 megabytes, and as much again while growing.
MAX_COMPARED_ROWS = 10_000_000
DUPLICATE_ID = "duplicate id"
NOT_COMPARED = f"id beyond the first {MAX_COMPARED_ROWS:,} rows of its source: not compared with the others"


def short_id(text: str) -> str:
    """Return an id as reports carry it: itself, or of one with more than MAX_CHARACTERS "sha256:" and 16 hex digits.

    Ids are addresses and stay; a column of texts that is called an id is no reason to stop, since a digest tells rows
    apart as well, and finds one again.
    """
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def short_ids(ids: pl.Series) -> pl.Series:
    """Return a series of ids, each as `short_id` gives it."""
    if not (ids.str.len_bytes() > MAX_CHARACTERS).any():
        return ids
    return pl.Series(ids.name, [None if text is None else short_id(text) for text in ids], dtype=pl.String())


def id_text(value: Any) -> str | None:
    """Return an id as text: 7 and 7.0 are "7", true is "true", a list its JSON; None for null and NaN."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, (dict, list, tuple)):
        return orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS).decode()
    return str(value)


def id_hashes(ids: pl.Series) -> pl.Series:
    """Return one hash for each id that is not null, in order: UInt64, the same on every machine.

    8 bytes an id: two different ones of 10 million agree with a chance of 3 in a million.
    """
    return pl.Series("id_hash", hash_strings(*string_buffers(ids.drop_nulls())), dtype=pl.UInt64())


class SeenIds:
    """Counts the ids of one source that came before, by their hashes, in a set that is at most two thirds full."""

    def __init__(self) -> None:
        self._slots, self._n = np.zeros(1 << 10, np.uint64), 0

    def add(self, hashes: pl.Series) -> int:
        """Return how many of these were there before, in this batch or an earlier one; remember the others."""
        n_slots = len(self._slots)
        while 3 * (self._n + len(hashes)) > 2 * n_slots:
            n_slots *= 2
        if n_slots > len(self._slots):
            known, self._slots = self._slots, np.zeros(n_slots, np.uint64)
            keep_new(known[known != 0], self._slots)
        n_new = keep_new(hashes.to_numpy(), self._slots)
        self._n += n_new
        return len(hashes) - n_new
