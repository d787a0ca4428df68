"""Texts -> canonical texts and tokens. One meaning of "equal after normalisation" for the whole of auditkit.

Two texts are equal when their token sequences are. `canonical` is the slow, readable statement of the rule and the
oracle of the kernels; `tokenise` does the same to a shard at a time.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.kernels import tokens as kernels
from auditkit.kernels.hashing import sequence_hashes
from auditkit.kernels.tokens import TokenArrays
from auditkit.text.folding import bounds_of, fold, fold_rows
from auditkit.text.strings import string_buffers
from auditkit.text.unicode import classes

VERSION = "1"


def describe() -> str:
    """Return the name of the normalisation as reports carry it; it changes with the rule and with Unicode's version."""
    return f"auditkit-{VERSION} (ignorables out, NFKC, casefold, by category; Unicode {unicodedata.unidata_version})"


def tokens_of(text: str) -> list[str]:
    """Return the tokens of one text: the oracle of the kernels."""
    return [token for token, _ in _scan(fold(text))]


def canonical(text: str) -> str:
    """Return the canonical text: tokens joined by a space, but not within scripts that have none."""
    out: list[str] = []
    last = kernels.SEPARATOR
    for token, kind in _scan(fold(text)):
        if out and not (kind == last == kernels.NO_SPACE):
            out.append(" ")
        out.append(token)
        last = kind
    return "".join(out)


def _scan(folded: str) -> list[tuple[str, int]]:
    table, result, in_word = classes(), list[tuple[str, int]](), False
    for char in folded:
        kind = int(table[ord(char)])
        if in_word and kind in (kernels.WORD, kernels.MARK):
            result[-1] = (result[-1][0] + char, kernels.WORD)
        elif kind in (kernels.WORD, kernels.SYMBOL, kernels.NO_SPACE):
            result.append((char, kind))
            in_word = kind == kernels.WORD
        elif kind == kernels.SEPARATOR:
            in_word = False
    return result


@dataclass(frozen=True)
class Tokens:
    """The canonical form of n texts, in flat arrays.

    Attributes:
        text: canonical UTF-8 bytes of all texts, uint8 [n_bytes].
        text_offsets: where each text starts in `text`, int64 [n + 1].
        hashes: token hashes, uint64 [n_tokens].
        starts, ends: byte bounds of each token from its text's start, uint32 [n_tokens].
        offsets: where each text starts in `hashes`, int64 [n + 1].
        sequences: one hash a text, of its whole token sequence: uint64 [n].
        lengths: tokens a text: int64 [n].
    """

    text: NDArray[np.uint8]
    text_offsets: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    sequences: NDArray[np.uint64] = field(init=False)
    lengths: NDArray[np.int64] = field(init=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __post_init__(self) -> None:
        # Not cached properties: Python 3.11 has one lock for a property of all instances, and shards run in threads.
        object.__setattr__(self, "sequences", sequence_hashes(self.hashes, self.offsets))
        object.__setattr__(self, "lengths", np.diff(self.offsets))

    def canonical(self, index: int) -> str:
        """Return the canonical text of one text."""
        return self.slice(index, 0, int(self.offsets[index + 1] - self.offsets[index]))

    def words(self, index: int) -> list[str]:
        """Return the tokens of one text.

        Tokenising the canonical text again need not give them: U+3099 after a gap would join the kana before it.
        """
        return [self.slice(index, i, i + 1) for i in range(int(self.lengths[index]))]

    def slice(self, index: int, first: int, end: int) -> str:
        """Return the canonical text of tokens `first` to `end` (half open) of one text."""
        if end <= first:
            return ""
        base, token = int(self.text_offsets[index]), int(self.offsets[index])
        start, stop = int(self.starts[token + first]), int(self.ends[token + end - 1])
        return self.text[base + start : base + stop].tobytes().decode()


def tokenise(texts: pl.Series) -> Tokens:
    """Return the tokens of a String series without nulls."""
    data, offsets = string_buffers(texts)
    n_tokens, n_bytes, is_ascii = kernels.count_ascii(data, offsets, classes())
    plain, others = np.flatnonzero(is_ascii), np.flatnonzero(~is_ascii)
    folded, bounds = fold_rows(data, offsets, others)
    n_tokens[others], n_bytes[others] = kernels.count_tokens(folded, bounds, classes())
    arrays = _empty_arrays(n_tokens, n_bytes)
    kernels.fill_ascii(data, offsets, plain, classes(), arrays)
    kernels.fill_tokens(folded, bounds, others, classes(), arrays)
    return Tokens(*arrays)


def token_hash(token: str) -> int:
    """Return the 64-bit hash of one token, as the kernels compute it."""
    return int(kernels.hash_bytes(np.frombuffer(token.encode(), np.uint8)))


def _empty_arrays(n_tokens: NDArray[np.int64], n_bytes: NDArray[np.int64]) -> TokenArrays:
    """Return room for texts of so many tokens and canonical bytes each."""
    offsets, text_offsets = bounds_of(n_tokens), bounds_of(n_bytes)
    total = int(offsets[-1])
    return TokenArrays(
        text=np.empty(int(text_offsets[-1]), np.uint8),
        text_offsets=text_offsets,
        hashes=np.empty(total, np.uint64),
        starts=np.empty(total, np.uint32),
        ends=np.empty(total, np.uint32),
        offsets=offsets,
    )
