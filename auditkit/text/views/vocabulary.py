"""The words of the benchmarks: what a disguised word may turn out to be."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.kernels.table import build_filter, build_table, find_all
from auditkit.text.normalise import Tokens, tokenise
from auditkit.text.spans import stretches

#: Of so many words of the benchmarks, the most frequent ones, rot13 is looked for in every row. A disguised item has
#: several of them, and their filter stays in the processor's cache.
N_FREQUENT = 4096
#: Of other words at most one in 32 passes.
_BITS_A_KEY = 32


@dataclass(frozen=True)
class Vocabulary:
    """The distinct tokens of the benchmarks.

    Attributes:
        table: token hash -> 0 (kernels/table.py).
        rot13: a filter of the frequent words' rot13 that are no words of the benchmarks themselves.
    """

    table: NDArray[np.uint64]
    rot13: NDArray[np.uint64]

    @staticmethod
    def of(tokens: Tokens, n_tokens: int) -> Vocabulary:
        """Return the vocabulary of the first `n_tokens` tokens of the benchmarks' distinct texts."""
        distinct, first, counts = np.unique(tokens.hashes[:n_tokens], return_index=True, return_counts=True)
        table = build_table(distinct, np.zeros(len(distinct), np.int64))
        frequent = np.sort(first[np.argsort(-counts, kind="stable")[:N_FREQUENT]])
        text = np.searchsorted(tokens.offsets, frequent, side="right") - 1
        words = stretches(tokens, text, frequent - tokens.offsets[text], frequent - tokens.offsets[text] + 1)
        return Vocabulary(table, _rot13_filter(words, table))

    def known(self, words: Iterable[str]) -> frozenset[str]:
        """Return those of `words` that are one token each, and one that the benchmarks have."""
        distinct = list(dict.fromkeys(words))
        tokens = tokenise(pl.Series(distinct, dtype=pl.String))
        one = np.flatnonzero(tokens.lengths == 1)
        found = find_all(self.table, tokens.hashes[tokens.offsets[one]]) >= 0
        return frozenset(distinct[i] for i in one[found].tolist())


def _rot13_filter(words: list[str], table: NDArray[np.uint64]) -> NDArray[np.uint64]:
    turned = [codecs.encode(word, "rot13") for word in words]
    tokens = tokenise(pl.Series([word for word in turned if len(word) > 1], dtype=pl.String))
    keys = tokens.hashes[find_all(table, tokens.hashes) < 0]
    return build_filter(keys, _BITS_A_KEY)
