"""Decoys: items that cannot be in the pool, as like real ones as can be, so that what matches them matches by accident.

A decoy keeps an item's frame (its length, its gaps, the words that many items share, the templates) and gets other
content words: those that follow the same word in other items, so that neighbours go together as they do in real text.
The words of an item are drawn from its own benchmark: subject, script and spelling are the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from random import Random

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from auditkit import tables
from auditkit.text.items import ItemTexts

SEED = 1
#: Without a number given, an audit has as many decoys as items, and at most this many: they make its index larger.
MAX_DECOYS = 1_000
#: Words in this share of a benchmark's texts, and in MIN_FRAME_TEXTS, belong to the frame.
FRAME_SHARE, MIN_FRAME_TEXTS = 0.05, 3
#: A decoy shares at most this share of its item's words in their places, no longer run, and is no nearer (rapidfuzz
#: ratio of the sorted words): a leaked copy of the item must not be taken for one of the decoy.
MAX_KEPT, MAX_RUN, MAX_LIKENESS = 0.6, 6, 75.0
#: A word is drawn so many times until it is not that of the item, and not of the text that gave the last one: else the
#: decoy could be a copy of that text.
N_DRAWS = 8
#: In benchmarks of so few texts a decoy is compared with each of them, not with its own item only.
FEW_TEXTS = 200
#: Donor texts beside the chosen items, for each of them: enough words, whatever the benchmarks' size.
N_DONORS = 4
ITEM = ["benchmark", "item"]


@dataclass(frozen=True)
class Decoys:
    """Decoys of an audit.

    Attributes:
        parts: frame tables.ITEMS; `benchmark` is that of the item each was made from, `item` numbers the decoys from -1
            downwards, so that none is taken for an item.
        n_sets: sets of them; each holds at most one decoy of an item.
        n_items: items of the benchmarks that have a text to be matched.
        n_left_out: items chosen that gave no decoy, since they have too few words to exchange.
    """

    parts: pl.DataFrame
    n_sets: int
    n_items: int
    n_left_out: int

    @property
    def n_decoys(self) -> int:
        """Number of decoys, over all sets."""
        return int(self.parts["item"].n_unique())

    @property
    def scale(self) -> float:
        """Items for each decoy of a set: what one decoy's match stands for."""
        return self.n_items * self.n_sets / self.n_decoys if self.n_decoys else 0.0


NO_DECOYS = Decoys(tables.empty(tables.ITEMS), 0, 0, 0)


def make_decoys(texts: ItemTexts, in_template: NDArray[np.bool_], n: int | None, seed: int = SEED) -> Decoys:
    """Return `n` decoys of the items; of each item one, and a second only where `n` is more than there are items.

    Args:
        texts: the distinct texts of the benchmarks.
        in_template: per token of all texts, whether it belongs to text that many items share: such text is kept.
        n: how many are wanted; None is one of each item, and at most MAX_DECOYS. 0 gives none.
        seed: of all that is drawn; equal seeds and items give equal decoys.
    """
    items = texts.parts.select(ITEM).unique(maintain_order=True)
    wanted = min(len(items), MAX_DECOYS) if n is None else n
    if not wanted or not len(items):
        return NO_DECOYS
    n_sets = -(-wanted // len(items))
    chosen = pl.concat([_drawn(items, wanted // n_sets + (i < wanted % n_sets), seed + i) for i in range(n_sets)])
    chosen = chosen.with_row_index("decoy").with_columns(pl.col("decoy").cast(pl.Int64))
    parts = chosen.join(texts.parts, on=ITEM, how="left", maintain_order="left")
    maker = _Maker.of(texts, in_template, parts, seed)
    made = parts.with_columns(pl.Series("text", list(maker.texts(parts, seed)), dtype=pl.String))
    failed = made.filter(pl.col("text").is_null())["decoy"].unique()
    whole = made.filter(~pl.col("decoy").is_in(failed.implode())).with_columns((-1 - pl.col("decoy")).alias("item"))
    return Decoys(whole.select(tables.ITEMS.keys()), n_sets, len(items), len(failed))


def _drawn(items: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    """Return n of the items, in their order."""
    return items[sorted(Random(f"decoys {seed}").sample(range(len(items)), n))]


@dataclass(frozen=True)
class _Words:
    """One text: its tokens, the gaps before them (a space, or nothing), and which belong to a template."""

    tokens: Sequence[str]
    gaps: Sequence[str]
    is_template: Sequence[bool]

    @staticmethod
    def of(texts: ItemTexts, text: int, in_template: NDArray[np.bool_]) -> _Words:
        """Return one distinct text."""
        tokens = texts.tokens
        span = slice(tokens.offsets[text], tokens.offsets[text + 1])
        starts, ends = tokens.starts[span].tolist(), tokens.ends[span].tolist()
        gaps = ["", *(" " * (start - end) for end, start in zip(ends[:-1], starts[1:], strict=True))]
        return _Words(tokens.words(text), gaps, in_template[span].tolist())

    def joined(self, words: Iterable[str]) -> str:
        """Return other words in the gaps of these."""
        return "".join(gap + word for gap, word in zip(self.gaps, words, strict=True))


#: Numbers stand for numbers, signs for signs, words for words.
_Kind = tuple[bool, bool]
#: A word, and the number of the text it is from.
_Donor = tuple[str, int]


def _kind(word: str) -> _Kind:
    return any(map(str.isdigit, word)), word.isalnum()


@dataclass(frozen=True)
class _Donors:
    """The words of one benchmark.

    Attributes:
        frame: words that many of its texts have.
        after: word and kind -> the words of that kind that follow it, as often as they do, each with the number of
            its text; "" is the beginning.
        words: kind -> all words of it, with their texts.
        few: the texts, sorted by words, where they are few.
    """

    frame: frozenset[str]
    after: Mapping[tuple[str, _Kind], Sequence[_Donor]]
    words: Mapping[_Kind, Sequence[_Donor]]
    few: Sequence[str]

    @staticmethod
    def of(texts: Sequence[_Words]) -> _Donors:
        """Return the words of these texts, those of templates left out."""
        spread, after = Counter[str](), defaultdict[tuple[str, _Kind], list[_Donor]](list)
        words = defaultdict[_Kind, list[_Donor]](list)
        for number, text in enumerate(texts):
            spread.update(set(text.tokens))
            for (before, word), is_template in zip(pairwise(["", *text.tokens]), text.is_template, strict=True):
                if not is_template:
                    after[before, _kind(word)].append((word, number))
                    words[_kind(word)].append((word, number))
        least = max(MIN_FRAME_TEXTS, FRAME_SHARE * len(texts))
        few = [_sorted(text.tokens) for text in texts] if len(texts) <= FEW_TEXTS else []
        return _Donors(frozenset(word for word, n in spread.items() if n >= least), after, words, few)

    def another(self, before: str, word: str, last: int, rng: Random) -> _Donor:
        """Return a word of another text than `last` that can stand after `before` in place of `word`: of its kind."""
        kind = _kind(word)
        for pool in (self.after.get((before, kind), ()), self.words.get(kind, ())):
            for _ in range(min(N_DRAWS, len(pool))):
                other, text = rng.choice(pool)
                if other != word and text != last:
                    return other, text
        return word, last

    def are_like(self, words: Sequence[str]) -> bool:
        """Return whether these words are nearly those of one of a few texts."""
        return process.extractOne(_sorted(words), self.few, scorer=fuzz.ratio, score_cutoff=MAX_LIKENESS) is not None


@dataclass(frozen=True)
class _Maker:
    """What decoys are made with: the texts by number, the words by benchmark, and the texts they must not equal."""

    texts_of: Mapping[int, _Words]
    donors: Mapping[str, _Donors]

    @staticmethod
    def of(texts: ItemTexts, in_template: NDArray[np.bool_], parts: pl.DataFrame, seed: int) -> _Maker:
        """Return the maker for the chosen parts."""
        texts_of, donors = dict[int, _Words](), dict[str, _Donors]()
        for benchmark, mine in parts.group_by("benchmark", maintain_order=True):
            name = str(benchmark[0])
            chosen = mine["text_index"].unique(maintain_order=True).to_list()
            known = texts.parts.filter(pl.col("benchmark") == name)["text_index"].unique(maintain_order=True)
            n_more = min(len(known), N_DONORS * len(chosen))
            more = Random(f"donors {seed} {name}").sample(known.to_list(), n_more)
            numbers = list(dict.fromkeys([*chosen, *more]))
            texts_of |= {text: _Words.of(texts, text, in_template) for text in numbers}
            donors[name] = _Donors.of([texts_of[text] for text in numbers])
        return _Maker(texts_of, donors)

    def texts(self, parts: pl.DataFrame, seed: int) -> Iterable[str | None]:
        """Yield the decoy text of each part, None where none can be made."""
        for decoy, name, text in parts.select("decoy", "benchmark", "text_index").iter_rows():
            yield _decoy(self.texts_of[text], self.donors[name], Random(f"decoy {seed} {decoy} {text}"))


def _decoy(text: _Words, donors: _Donors, rng: Random) -> str | None:
    """Return other words in a text's frame: the frame's own words are exchanged only where too much is left as it was.

    None where the text has no words to exchange, or no others stand in its benchmark.
    """
    own = [i for i, is_template in enumerate(text.is_template) if not is_template]
    content = [i for i in own if text.tokens[i] not in donors.frame]
    frame = [i for i in own if text.tokens[i] in donors.frame]
    half = rng.sample(frame, len(frame) // 2)
    for places in (content, [*content, *half], own):
        words = _exchanged(text.tokens, frozenset(places), donors, rng)
        mine, theirs = [text.tokens[i] for i in own], [words[i] for i in own]
        if own and not _is_copy(mine, theirs) and not donors.are_like(words):
            return text.joined(words)
    return None


def _exchanged(tokens: Sequence[str], places: frozenset[int], donors: _Donors, rng: Random) -> list[str]:
    """Return the tokens with those at `places` exchanged, from the left: each fits what now stands before it."""
    words, last = list[str](), -1
    for i, word in enumerate(tokens):
        if i in places:
            word, last = donors.another(words[-1] if words else "", word, last, rng)
        words.append(word)
    return words


def _sorted(words: Iterable[str]) -> str:
    return " ".join(sorted(words))


def _is_copy(tokens: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a decoy is so like its item that a copy of the one could be taken for one of the other."""
    same = [a == b for a, b in zip(tokens, words, strict=True)]
    longest = max((sum(1 for _ in run) for is_same, run in groupby(same) if is_same), default=0)
    is_like = fuzz.ratio(_sorted(tokens), _sorted(words)) > MAX_LIKENESS
    return sum(same) > MAX_KEPT * len(same) or longest > MAX_RUN or is_like
