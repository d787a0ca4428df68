"""Seeds: short grams of an item that few other items have. A row that holds one is looked at more closely."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.detect.protocol import Rows, candidates, grouped
from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend_all
from auditkit.kernels.overlap import sketch_texts
from auditkit.kernels.seeds import SeedArrays
from auditkit.kernels.table import build_filter, build_table, pack_entries
from auditkit.kernels.windows import scan_rows
from auditkit.text.items import ItemTexts

_T = TypeVar("_T", np.uint64, np.int64)


@dataclass(frozen=True)
class SeedDetector:
    """Finds rows that hold an item, a large part of one, or an edited copy, anywhere in them.

    At each place of an item the seed is the shortest gram that at most `max_texts` distinct texts of the benchmarks
    have: one token in items of four or five tokens, two words or three characters at least in longer ones, and at most
    `max_gram`. A phrase that more texts share (an instruction common to all items) seeds nothing, unless an item
    consists of nothing else. Of its seeds each item keeps the rarest, a share of `kept` and `min_kept` at least: a copy
    has more than half of them, and the commonest two fifths make four fifths of all chance hits. Candidates share half
    of the item's tokens near one place.

    Misses: items under four tokens (equality only), copies without two neighbouring words left as they were (reordered:
    see near; disguised letters), and rephrasings. Cost: one or two look-ups a token.
    References: seed-and-extend search, BLAST (Altschul et al. 1990); rarest elements only, prefix filtering
    (Chaudhuri, Ganti and Kaushik 2006).
    """

    name: str = "seeds"
    max_texts: int = 32
    max_gram: int = 8
    min_tokens: int = 4
    kept: float = 0.6
    min_kept: int = 10

    def index(self, items: ItemTexts) -> SeedIndex:
        """Return the seed index of the distinct texts."""
        return _build(items, self)


@dataclass(frozen=True)
class SeedIndex:
    """The walk of growing grams and the items' words (see kernels/seeds.py and kernels/windows.py)."""

    arrays: SeedArrays
    n_grams: int
    settings: SeedDetector

    def scan(self, rows: Rows) -> pl.DataFrame:
        """Return windows that share enough tokens with an item."""
        found = scan_rows(rows.tokens.hashes, rows.tokens.offsets, self.arrays, 0, len(rows.tokens))
        return candidates("seeds", found[:, 0], found[:, 1], found[:, 2], found[:, 3], shared=found[:, 4])

    def describe(self) -> dict[str, Any]:
        """Return the settings and the size of the index."""
        return {
            "max_texts_per_seed": self.settings.max_texts,
            "max_gram": self.settings.max_gram,
            "min_tokens": self.settings.min_tokens,
            "kept_share_of_seeds": self.settings.kept,
            "min_kept_seeds": self.settings.min_kept,
            "n_seeds": len(self.arrays.postings),
            "n_grams": self.n_grams,
        }


def _build(items: ItemTexts, settings: SeedDetector) -> SeedIndex:
    tokens = items.tokens
    text = np.repeat(np.arange(len(items), dtype=np.int64), tokens.lengths)
    position = np.arange(len(tokens.hashes), dtype=np.int64) - np.repeat(tokens.offsets[:-1], tokens.lengths)
    long_enough = tokens.lengths[text] >= settings.min_tokens
    shortest = np.where(tokens.lengths < 6, 1, np.where(items.are_unspaced, 3, 2))
    levels = _levels(
        tokens.hashes, tokens.lengths, text[long_enough], position[long_enough], tokens.offsets, shortest, settings,
        items.n_own,
    )  # fmt: skip
    return _assemble(_rarest(levels, settings), items, settings)


class _Grams(NamedTuple):
    """Grams, and where they stand: arrays of shape [n].

    Attributes:
        grams: uint64.
        texts, positions: int64.
        spread: texts that have the gram, int64.
    """

    grams: NDArray[np.uint64]
    texts: NDArray[np.int64]
    positions: NDArray[np.int64]
    spread: NDArray[np.int64]

    def take(self, at: NDArray[np.bool_]) -> _Grams:
        """Return those for which `at` holds."""
        return _Grams(self.grams[at], self.texts[at], self.positions[at], self.spread[at])

    @property
    def postings(self) -> NDArray[np.int64]:
        """Text and position of each: text << 32 less the position."""
        return (self.texts << 32) - self.positions


@dataclass(frozen=True)
class _Level:
    """The grams of one length: the seeds, and those that go on to longer ones."""

    seeds: _Grams
    growing: _Grams


def _levels(
    hashes: NDArray[np.uint64],
    lengths: NDArray[np.int64],
    text: NDArray[np.int64],
    position: NDArray[np.int64],
    offsets: NDArray[np.int64],
    shortest: NDArray[np.int64],
    settings: SeedDetector,
    n_own: int,
) -> list[_Level]:
    """Grow grams at all places at once until few enough texts share them.

    Decoys, the texts from `n_own` on, are counted apart: they change no seed of an item.
    """
    gram = np.full(len(text), EMPTY_SEQUENCE, np.uint64)
    has_seed = np.zeros(len(lengths), np.bool_)
    levels = []
    for size in range(1, settings.max_gram + 1):
        gram = extend_all(gram, hashes[offsets[text] + position + size - 1])
        n_first = int(np.searchsorted(text, n_own))
        spread = np.concatenate([_texts_per_gram(gram[at], text[at]) for at in (np.s_[:n_first], np.s_[n_first:])])
        is_seed = (spread <= settings.max_texts) & (size >= shortest[text])
        can_grow = ~is_seed & (position + size < lengths[text]) & (size < settings.max_gram)
        has_seed[text[is_seed]] = True
        # A text of shared phrases only keeps the longest grams it got to: no item is left without a path.
        has_hope = has_seed.copy()
        has_hope[text[can_grow]] = True
        is_seed |= ~has_hope[text]
        has_seed[text[is_seed]] = True
        here = _Grams(gram, text, position, spread)
        levels.append(_Level(here.take(is_seed), here.take(can_grow)))
        gram, text, position = gram[can_grow], text[can_grow], position[can_grow]
        if len(gram) == 0:
            break
    return levels


def _texts_per_gram(gram: NDArray[np.uint64], text: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each place the number of distinct texts that have its gram. `text` does not descend."""
    _, starts, order = grouped(gram)
    ordered = text[order]
    is_another = np.ones(len(gram), np.int64)
    is_another[1:] = ordered[1:] != ordered[:-1]
    is_another[starts[:-1]] = 1
    owners = np.empty(len(gram), np.int64)
    owners[order] = np.repeat(np.add.reduceat(is_another, starts[:-1]), np.diff(starts)) if len(gram) else 0
    return owners


def _rarest(levels: list[_Level], settings: SeedDetector) -> list[_Level]:
    """Return the levels with the seeds that each text keeps, and the grams that lead to one of them."""
    if not levels:
        return []
    ends = np.cumsum([len(level.seeds.grams) for level in levels])
    is_kept = _is_kept(_Grams(*map(np.concatenate, zip(*(level.seeds for level in levels), strict=True))), settings)
    seeds = [level.seeds.take(at) for level, at in zip(levels, np.split(is_kept, ends[:-1]), strict=True)]
    postings = np.sort(np.concatenate([part.postings for part in seeds]))
    return [
        _Level(part, level.growing.take(_are_among(level.growing.postings, postings)))
        for level, part in zip(levels, seeds, strict=True)
    ]


def _is_kept(seeds: _Grams, settings: SeedDetector) -> NDArray[np.bool_]:
    """Return which seeds are among the rarest of their text. Of equally rare ones the hash decides, not the place."""
    share = Fraction(str(settings.kept))
    rarity = np.minimum(seeds.spread, 0xFFFF) << 16 | (seeds.grams >> np.uint64(48)).astype(np.int64)
    order = np.argsort(seeds.texts << 32 | rarity, kind="stable")
    sizes = np.bincount(seeds.texts)
    starts = np.cumsum(sizes) - sizes
    n_kept = np.maximum(settings.min_kept, -(-sizes * share.numerator // share.denominator))
    texts = seeds.texts[order]
    result = np.empty(len(texts), np.bool_)
    result[order] = np.arange(len(texts)) - starts[texts] < n_kept[texts]
    return result


def _are_among(values: NDArray[np.int64], ordered: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values stand in a sorted array."""
    at = np.searchsorted(ordered, values)
    result: NDArray[np.bool_] = np.append(ordered, np.iinfo(np.int64).min)[at] == values
    return result


def _assemble(levels: list[_Level], items: ItemTexts, settings: SeedDetector) -> SeedIndex:
    grams, starts, order = grouped(_joined([level.seeds.grams for level in levels], np.uint64))
    postings = _joined([level.seeds.postings for level in levels], np.int64)[order]
    growing = [np.unique(level.growing.grams) for level in levels]
    longer = _joined(growing, np.uint64)
    only_go_on = np.setdiff1d(longer, grams, assume_unique=True)
    # A single token that only goes on is no entry: the scan grows every token.
    stored = np.setdiff1d(only_go_on, growing[0] if growing else only_go_on, assume_unique=True)
    keys = np.concatenate([grams, stored])
    spans = np.concatenate([starts, np.full(len(stored), starts[-1])])
    entries = pack_entries(spans, np.isin(keys, longer, assume_unique=True))
    vocabulary, words = _words(items.tokens.hashes)
    return SeedIndex(
        SeedArrays(
            build_table(keys, entries),
            build_filter(keys),
            postings,
            build_table(vocabulary, np.arange(len(vocabulary), dtype=np.int64)),
            len(vocabulary),
            words,
            items.tokens.offsets,
            sketch_texts(words, items.tokens.offsets, len(vocabulary)),
        ),
        len(grams) + len(only_go_on),
        settings,
    )


def _joined(parts: list[NDArray[_T]], dtype: type[_T]) -> NDArray[_T]:
    """Return the arrays one after another, of no arrays an empty one."""
    return np.concatenate([np.empty(0, dtype), *parts])


def _words(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return the distinct tokens, the most frequent first, and the number of each token among them."""
    distinct, starts, order = grouped(hashes)
    counts = np.diff(starts)
    by_count = np.argsort(-counts, kind="stable")
    rank = np.empty(len(distinct), np.int32)
    rank[by_count] = np.arange(len(distinct), dtype=np.int32)
    words = np.empty(len(hashes), np.int32)
    words[order] = np.repeat(rank, counts)
    return distinct[by_count], words
