"""Leet: digits and signs that stand for letters inside words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from auditkit.text.views.reading import Reading
from auditkit.text.views.vocabulary import Vocabulary
from auditkit.text.views.words import Word, read_words, spellings

#: What a sign may stand for, the likeliest first, and last itself ("gpt4").
_LETTERS = {
    "0": "o0", "1": "il1", "2": "z2", "3": "e3", "4": "a4", "5": "s5", "6": "gb6", "7": "t7", "8": "b8", "9": "g9",
    "@": "a", "$": "s", "!": "i", "|": "il", "€": "e", "£": "l", "¡": "i", "§": "s", "¢": "c",
}  # fmt: skip
_WORD = re.compile(rf"(?:[^\W_]|[{re.escape(''.join(sign for sign in _LETTERS if not sign.isdigit()))}])+")
#: Numbers with what is written behind them (2010s, 1st, 5kg): read only where the benchmarks have what comes of it.
_NUMBER = re.compile(r"[0-9]+[a-z]{1,2}")
_APOSTROPHES = "'’`"
#: Words that have to become words of the benchmarks, one of them of so many characters: others may be codes or names.
_LEAST, _SURE = 2, 4


def leet(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings with leet words read as words of the benchmarks.

    Only words that mix letters and signs are read, and what hangs on one by an apostrophe ("wh47'5"): numbers stay
    numbers. A number that is a whole word ("4" for "a") so stays, too, and counts as one changed word.
    """
    return read_words(readings, _leet_words, vocabulary, "leet", _LEAST)


def _leet_words(text: str) -> Iterator[Word]:
    mixed_end = -1
    for match in _WORD.finditer(text):
        start, end = match.span()
        # Exclamation marks at the end of a word are punctuation.
        end -= len(match.group()) - len(match.group().rstrip("!"))
        word = text[start:end].lower()
        is_mixed = any(map(str.isalpha, word)) or (start == mixed_end + 1 and text[mixed_end] in _APOSTROPHES)
        if is_mixed:
            mixed_end = end
        if is_mixed and any(char in _LETTERS for char in word):
            options = spellings([_LETTERS.get(char, char) for char in word])
            yield Word(start, end, options, _NUMBER.fullmatch(word) is None, len(word) >= _SURE)
