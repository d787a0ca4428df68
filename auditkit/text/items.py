"""The distinct texts of the benchmarks: what detectors index and matches are verified against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit import tables
from auditkit.text.normalise import Tokens, tokenise
from auditkit.text.spans import n_spaces, wholes

#: Share of one-character tokens of scripts without spaces from which a text counts as unspaced.
UNSPACED_SHARE = 0.5


@dataclass(frozen=True)
class ItemTexts:
    """Every distinct canonical text among the parts of all benchmarks, and the parts that have it.

    Items that share a text share one index here, so identical items of several benchmarks are matched once and all are
    named.

    Attributes:
        tokens: tokens of the m distinct texts.
        parts: frame of tables.ITEMS plus `part_index` (row of the input) and `text_index` (Int64, 0 to m - 1).
        unmatchable: part_index of parts that no lexical tier examines (no token, or a short answer).
        n_own: distinct texts of the benchmarks themselves; those behind them are decoys' (plant/decoys.py).
    """

    tokens: Tokens
    parts: pl.DataFrame
    unmatchable: NDArray[np.int64]
    n_own: int

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def canonicals(self) -> list[str]:
        """The canonical text of each distinct text."""
        return wholes(self.tokens, np.arange(len(self)))

    @cached_property
    def shown(self) -> pl.DataFrame:
        """One text as read of each distinct text: columns text_index, ascending, and text."""
        return (
            self.parts.unique("text_index", keep="first", maintain_order=True)
            .sort("text_index")
            .select("text_index", "text")
        )

    @cached_property
    def are_unspaced(self) -> NDArray[np.bool_]:
        """Whether most tokens of a text are single characters of a script without spaces. Shape [m]."""
        n_tokens = self.tokens.lengths
        return (n_tokens > 0) & (n_tokens - 1 - n_spaces(self.tokens) >= UNSPACED_SHARE * n_tokens)


def distinct_texts(items: pl.DataFrame, *, min_answer_tokens: int, decoys: pl.DataFrame | None = None) -> ItemTexts:
    """Return the distinct texts of frame tables.ITEMS.

    Args:
        items: all parts of all benchmarks.
        min_answer_tokens: an answer of fewer tokens ("Yes", "42") is no evidence by itself and is left out.
        decoys: parts of decoys, a frame tables.ITEMS; what of them equals a text of `items` is left out.
    """
    every = items if decoys is None else pl.concat([items, decoys])
    tables.check(every, tables.ITEMS, "distinct_texts")
    parts = every.with_row_index("part_index").with_columns(pl.col("part_index").cast(pl.Int64))
    tokens = tokenise(parts["text"])
    parts = parts.with_columns(
        pl.Series("sequence", tokens.sequences), pl.Series("n_tokens", tokens.lengths, dtype=pl.Int64)
    )
    is_short_answer = (pl.col("kind") == "answer") & (pl.col("n_tokens") < min_answer_tokens)
    usable = parts.filter((pl.col("n_tokens") > 0) & ~is_short_answer)
    firsts = usable.unique("sequence", keep="first", maintain_order=True)
    index = firsts.select("sequence", pl.int_range(pl.len(), dtype=pl.Int64).alias("text_index"))
    usable = usable.join(index, on="sequence", how="left", maintain_order="left").drop("sequence", "n_tokens")
    left_out = np.setdiff1d(np.arange(len(items)), usable["part_index"].to_numpy())
    n_own = int((firsts["part_index"] < len(items)).sum())
    usable = usable.filter((pl.col("part_index") < len(items)) | (pl.col("text_index") >= n_own))
    return ItemTexts(tokenise(firsts["text"]), usable, left_out, n_own)
