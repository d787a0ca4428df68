"""Words that are no words of the benchmarks, and what they may be instead: the common part of word-by-word views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from auditkit.text.views.reading import Piece, Reading
from auditkit.text.views.vocabulary import Vocabulary

#: Readings of one word that are tried, the likeliest first. A word of six signs with two meanings each has 64.
MAX_OPTIONS = 64


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
    words = [list(find(reading.text)) for reading in readings]
    each = zip(readings, words, strict=True)
    known = vocabulary.known(
        text for reading, some in each for w in some for text in (reading.text[w.start : w.end], *w.options)
    )
    results = []
    for reading, some in zip(readings, words, strict=True):
        pieces, is_sure = _pieces(reading.text, some, known)
        results.append([reading.replaced(pieces, view)] if len(is_sure) >= least and any(is_sure) else [])
    return results


def _pieces(text: str, words: Sequence[Word], known: frozenset[str]) -> tuple[list[Piece], list[bool]]:
    """Return what to put in the place of which words, and which of those that the benchmarks have are sure."""
    pieces, is_sure = list[Piece](), list[bool]()
    for word in words:
        if text[word.start : word.end] in known:
            continue
        found = next((option for option in word.options if option in known), None)
        is_sure += [word.is_sure] if found is not None else []
        if found is None and word.is_default:
            found = word.options[0]
        if found is not None:
            pieces.append((word.start, word.end, found))
    return pieces, is_sure
