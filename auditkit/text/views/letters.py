"""Views of single characters: other forms of a letter, look-alikes from other scripts, marks piled on letters."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from auditkit.text.unicode import ignored_pattern
from auditkit.text.views.alphabet import letters_that_look_like, readings_of_letters
from auditkit.text.views.reading import Reading
from auditkit.text.views.vocabulary import Vocabulary
from auditkit.text.views.words import Word, read_words, spellings

#: Letters and digits with what stands on them.
_MARKED = re.compile(r"(?:[^\W_][\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]*)+")
#: In a text that is disguised by marks at least so many stay beside their letter in normal form C, and this share of
#: letters has a mark. No orthography has both: Vietnamese composes, and Yoruba, which does not, marks fewer letters.
_MIN_LOOSE, _MARKED_SHARE = 3, 0.6


def forms(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings without ignorable characters and with NFKC's form of each: a step before other views.

    The canonical text has both already; leet or base64 in full-width letters is seen only behind this step.
    """
    return [[_simple_forms(reading)] for reading in readings]


def _simple_forms(reading: Reading) -> Reading:
    hidden = [(*match.span(), "") for match in ignored_pattern().finditer(reading.text)]
    shown = reading.replaced(hidden, "invisible") if hidden else reading
    others = ((i, unicodedata.normalize("NFKC", char)) for i, char in enumerate(shown.text) if not char.isascii())
    pieces = [(i, i + 1, form) for i, form in others if form != shown.text[i]]
    return shown.replaced(pieces, "compatibility") if pieces else shown


def lookalike(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings with look-alike letters read as those of the benchmarks' words."""
    return read_words(readings, _foreign_words, vocabulary, "lookalike")


def _foreign_words(text: str) -> Iterator[Word]:
    table = readings_of_letters()
    for match in _word_pattern().finditer(text):
        word = match.group().lower()
        if word.isascii():
            continue
        has_ascii = any(char.isascii() and char.isalpha() for char in word)
        options = spellings([table.get(char, char) for char in word]) if any(c in table for c in word) else ()
        if has_ascii:
            options += _home_spellings(word)
        if options:
            yield Word(*match.span(), options, has_ascii and options[0].isascii())


def _home_spellings(word: str) -> tuple[str, ...]:
    """Return a word of mixed scripts with its ASCII letters read as those of the other script."""
    spelt = ("".join(letters.get(char, char) for char in word) for letters in letters_that_look_like().values())
    return tuple(option for option in spelt if option != word)


@functools.lru_cache(maxsize=1)
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of words, symbols that are read as letters (regional indicators) included."""
    symbols = "".join(char for char in readings_of_letters() if not char.isalnum())
    return re.compile(rf"(?:[^\W_]|[{re.escape(symbols)}])+")


def marks(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings without marks on Latin letters, of texts with marks that no orthography composes."""
    disguised = [reading if _is_piled(reading.text) else Reading.of("") for reading in readings]
    return read_words(disguised, _marked_words, vocabulary, "marks")


def _is_piled(text: str) -> bool:
    """Return whether so many Latin letters have marks, some of them uncomposed, that no orthography explains it."""
    words = [unicodedata.normalize("NFD", match.group()) for match in _MARKED.finditer(text)]
    pairs = [pair for word in words if not word.isalnum() for pair in pairwise(word)]
    n_marked = sum(letter.isascii() and letter.isalnum() and not mark.isalnum() for letter, mark in pairs)
    n_letters = sum(char.isalnum() for word in words if not word.isalnum() for char in word)
    n_loose = sum(not char.isalnum() for word in words for char in unicodedata.normalize("NFC", word))
    return n_loose >= _MIN_LOOSE and n_marked >= _MARKED_SHARE * n_letters


def _marked_words(text: str) -> Iterator[Word]:
    for match in _MARKED.finditer(text):
        letters = unicodedata.normalize("NFD", match.group())
        bare = "".join(char for char in letters if unicodedata.category(char)[0] != "M")
        if bare != match.group() and bare.isascii():
            yield Word(*match.span(), (bare,), True)
