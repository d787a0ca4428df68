"""Words that are no words of the benchmarks, and what they may be instead: the common part of word-by-word views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from auditkit.text.views.reading import Piece, Reading
from auditkit.text.views.vocabulary import Vocabulary

#: Readings of one word that are tried, the likeliest first. A word of six signs with two meanings each has 64.
MAX_OPTIONS = 64
#: Words looked up at a time, which bounds the memory of their options.
_BATCH = 4096


@dataclass(frozen=True, slots=True)
class Word:
    """A disguised word of a text.

    Attributes:
        start, end: its characters [start, end).
        options: what it may be, the likeliest first.
        is_default: whether it is the first option where the benchmarks have none of them.
        is_sure: whether it is too long for a code ("A1") that only happens to become a word.
    """

    start: int
    end: int
    options: tuple[str, ...]
    is_default: bool
    is_sure: bool = True


#: Finds the disguised words of a text.
Finder = Callable[[str], Iterator[Word]]


def spellings(letters: Sequence[str]) -> tuple[str, ...]:
    """Return the words that take one of the letters at each place, at most MAX_OPTIONS."""
    return tuple(map("".join, islice(product(*letters), MAX_OPTIONS)))


def read_words(
    readings: Sequence[Reading], find: Finder, vocabulary: Vocabulary, view: str, least: int = 1
) -> list[list[Reading]]:
    """Return, for each reading, at most one in which disguised words are read as words of the benchmarks.

    A word that the benchmarks have as it stands is left alone, so that what both sides write alike ("gpt4", a Cyrillic
    word) needs no view of the item. Of the options the first that the benchmarks have is taken, so a word can only
    become one of theirs.

    Args:
        readings: to be read again.
        find: finds the words.
        vocabulary: of the benchmarks.
        view: its name.
        least: so many words must have become words of the benchmarks, a sure one among them.
    """
    pieces: list[list[Piece]] = [[] for _ in readings]
    are_sure: list[list[bool]] = [[] for _ in readings]
    every = ((i, word) for i, reading in enumerate(readings) for word in find(reading.text))
    while some := list(islice(every, _BATCH)):
        asked = ((readings[i].text[word.start : word.end], *word.options) for i, word in some)
        known = vocabulary.known(text for texts in asked for text in texts)
        for i, word in some:
            _decide(word, readings[i].text, known, pieces[i], are_sure[i])
    each = zip(readings, pieces, are_sure, strict=True)
    return [[old.replaced(new, view)] if len(sure) >= least and any(sure) else [] for old, new, sure in each]


def _decide(word: Word, text: str, known: frozenset[str], pieces: list[Piece], are_sure: list[bool]) -> None:
    """Add what to put in the place of a word to `pieces`, and where the benchmarks have that, whether it is sure."""
    if text[word.start : word.end] in known:
        return
    found = next((option for option in word.options if option in known), None)
    if found is not None:
        are_sure.append(word.is_sure)
    elif word.is_default:
        found = word.options[0]
    if found is not None:
        pieces.append((word.start, word.end, found))
