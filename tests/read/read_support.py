"""Helpers of the tests of read/: sources in memory, and what was read as plain values."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl

from auditkit.read import open_pool, read_texts
from auditkit.read.ids import DUPLICATE_ID, SeenIds
from auditkit.records import ReadSettings, Source, TextBatch


def source_of(data: Any) -> Source:
    """Return the one source of data in memory or of a path."""
    return open_pool({"pool": data} if isinstance(data, list) else data).sources[0]


def read(data: Any, **settings: Any) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return all texts of one source and its counts."""
    batches = list(read_texts(source_of(data), ReadSettings(**settings)))
    return pl.concat([batch.texts for batch in batches]), counts(batches)


def counts(batches: list[TextBatch]) -> dict[str, int]:
    """Return the sum of the counts of several batches, duplicate ids among them."""
    total: Counter[str] = Counter()
    seen = SeenIds()
    for batch in batches:
        total.update(batch.not_examined)
        total[DUPLICATE_ID] += seen.add(batch.id_hashes)
    return {reason: n for reason, n in total.items() if n}


def addresses(texts: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Return (row, field, turn, role, text) of every text."""
    return texts.select("row", "field", "turn", "role", "text").rows()
