"""Decoys: items that cannot be in the pool, as like real ones as can be, so that what matches them matches by accident.

A decoy keeps an item's frame (its length, its gaps, the words that many items share, the templates) and gets other
content words: those that stand between the same two words of the frame in other items, so that it reads as they do.
The words are drawn from the item's own benchmark: subject, script and spelling are the same.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit import tables
from auditkit.text.items import ItemTexts

SEED = 1
#: Without a number given, an audit has as many decoys as items, and at most this many: they make its index larger.
MAX_DECOYS = 1_000
#: Words in this share of a benchmark's texts, and in MIN_FRAME_TEXTS, belong to the frame.
FRAME_SHARE, MIN_FRAME_TEXTS = 0.15, 3
#: Of an item's content words a decoy exchanges at least this share, and one.
EXCHANGED = 0.5
#: A word is drawn so many times until it is not that of the item, and not of the text that gave the last one: else the
#: decoy could be a copy of that text.
N_DRAWS = 8
#: So often a decoy is made anew that is one of its benchmark's items.
N_TRIES = 4
#: Donor texts beside the chosen items, for each of them: enough words, whatever the benchmarks' size.
N_DONORS = 4
ITEM = ["benchmark", "item"]


@dataclass(frozen=True)
class Decoys:
    """Decoys of an audit.

    Attributes:
        parts: frame tables.ITEMS; `benchmark` is that of the item each was made from, `item` numbers the decoys from -1
            downwards, so that none is taken for an item.
        sources: benchmark, item (of `parts`) and source, the item that each was made from.
        n_sets: sets of them; each holds at most one decoy of an item.
        n_items: items of the benchmarks that have a text to be matched.
        n_left_out: items chosen that gave no decoy, since they have too few words to exchange.
    """

    parts: pl.DataFrame
    sources: pl.DataFrame
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


NO_SOURCES = pl.DataFrame(schema={"benchmark": pl.String, "item": pl.Int64, "source": pl.Int64})
NO_DECOYS = Decoys(tables.empty(tables.ITEMS), NO_SOURCES, 0, 0, 0)


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
    sources = chosen.select("benchmark", (-1 - pl.col("decoy")).alias("item"), pl.col("item").alias("source"))
    return Decoys(whole.select(tables.ITEMS.keys()), sources, n_sets, len(items), len(failed))


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
#: The words of the frame before and behind a word ("" at either end, CONTENT for any other word), and its kind.
_Slot = tuple[str, str, _Kind]
CONTENT = "*"


def _kind(word: str) -> _Kind:
    return any(map(str.isdigit, word)), word.isalnum()


@dataclass(frozen=True)
class _Donors:
    """The words of one benchmark.

    Attributes:
        frame: words that many of its texts have.
        known: the texts themselves: no decoy is one of them.
        between: slot -> the words that stand in it, as often as they do, each with the number of its text.
        after: the same by the word before the slot alone.
        words: kind -> all words of it, with their texts.
    """

    frame: frozenset[str]
    known: frozenset[tuple[str, ...]]
    between: Mapping[_Slot, Sequence[_Donor]]
    after: Mapping[tuple[str, _Kind], Sequence[_Donor]]
    words: Mapping[_Kind, Sequence[_Donor]]

    @staticmethod
    def of(texts: Mapping[int, _Words]) -> _Donors:
        """Return the words of these texts, those of templates left out."""
        spread = Counter(word for text in texts.values() for word in set(text.tokens))
        least = max(MIN_FRAME_TEXTS, FRAME_SHARE * len(texts))
        frame = frozenset(word for word, n in spread.items() if n >= least)
        between, after = defaultdict[_Slot, list[_Donor]](list), defaultdict[tuple[str, _Kind], list[_Donor]](list)
        words = defaultdict[_Kind, list[_Donor]](list)
        for number, text in texts.items():
            for (word, slot), is_template in zip(_slots(text.tokens, frame), text.is_template, strict=True):
                if not is_template:
                    between[slot].append((word, number))
                    after[slot[0], slot[2]].append((word, number))
                    words[slot[2]].append((word, number))
        known = frozenset(tuple(text.tokens) for text in texts.values())
        return _Donors(frame, known, between, after, words)

    def another(self, word: str, slot: _Slot, barred: tuple[int, int], rng: Random) -> _Donor | None:
        """Return a word of a text not barred that can stand in a slot in place of `word`, if there is one."""
        before, _, kind = slot
        for pool in (self.between.get(slot, ()), self.after.get((before, kind), ()), self.words.get(kind, ())):
            for _ in range(min(N_DRAWS, len(pool))):
                other, text = rng.choice(pool)
                if other != word and text not in barred:
                    return other, text
        return None


@dataclass(frozen=True)
class _Maker:
    """What decoys are made with: the texts by number, and the words of each benchmark."""

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
            donors[name] = _Donors.of({text: texts_of[text] for text in numbers})
        return _Maker(texts_of, donors)

    def texts(self, parts: pl.DataFrame, seed: int) -> Iterable[str | None]:
        """Yield the decoy text of each part, None where none can be made."""
        for decoy, name, text in parts.select("decoy", "benchmark", "text_index").iter_rows():
            yield _decoy(text, self.texts_of[text], self.donors[name], Random(f"decoy {seed} {decoy} {text}"))


def _decoy(number: int, text: _Words, donors: _Donors, rng: Random) -> str | None:
    """Return a text's frame with other content words, and of a frame alone with other words of it.

    A text that is all template is left as it is. None where all that is drawn are texts of the benchmark.
    """
    own = [i for i, is_template in enumerate(text.is_template) if not is_template]
    content = [i for i in own if text.tokens[i] not in donors.frame]
    for places in [content] * N_TRIES + [own]:
        chosen = frozenset(rng.sample(places, math.ceil(EXCHANGED * len(places))))
        words = _exchanged(number, text.tokens, chosen, donors, rng)
        if tuple(words) not in donors.known or not own:
            return text.joined(words)
    return None


def _exchanged(number: int, tokens: Sequence[str], places: frozenset[int], donors: _Donors, rng: Random) -> list[str]:
    """Return the tokens with those at `places` exchanged for words of other texts, no two in turn of the same one."""
    words, last = list[str](), number
    for i, (word, slot) in enumerate(_slots(tokens, donors.frame)):
        other = donors.another(word, slot, (number, last), rng) if i in places else None
        words.append(other[0] if other else word)
        last = other[1] if other else last
    return words


def _slots(tokens: Sequence[str], frame: frozenset[str]) -> Iterator[tuple[str, _Slot]]:
    """Yield each token and the slot that it stands in."""
    marks = ["", *(token if token in frame else CONTENT for token in tokens), ""]
    for i, token in enumerate(tokens):
        yield token, (marks[i], marks[i + 2], _kind(token))
