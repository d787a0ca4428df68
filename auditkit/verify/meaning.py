"""Whether a row asks for the same as an item in other words: a score from features that a cosine misses.

A cosine tells the subject. That two texts ask for the same shows in what a rewording keeps (numbers, names, content
words, the direction of the request) and in how far the item is ahead of all others of its benchmark. The score is a
logistic regression on FEATURES, one for prose and one for programs; its coefficients stand in meaning.toml, made by
benchmarks/meaning.py, and docs/paraphrase.md says what was measured with them. The features are made for English and
for the vectors of `minilm`; pairs of other encoders get no score.
"""

from __future__ import annotations

import functools
import math
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import compress
from operator import and_

import numpy as np
from numpy.typing import NDArray

from auditkit.verify.meaning_words import words as known_words

#: Encoders that the coefficients were fitted for.
ENCODERS = ("minilm",)
#: Names of the columns of `features`. The first three come from the detector (tables.CLOSE).
FEATURES = (
    "cosine", "lead", "item_lead",
    "numbers_of_item", "numbers_of_row", "names_of_item", "names_of_row", "words_most", "words_least",
    "negation", "direction", "length",
)  # fmt: skip

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+(?:[.,]\d+)*")
_ENDS_A_SENTENCE = re.compile(r"(?:^|[.?!:\n\"“(])\s*$")
_CODE_LINE = re.compile(
    r"^\s*(?:def |class |import |from \w+ import|return\b|#include|public |private |function |elif |else\b.*[:{]|"
    r"for .*[:{]|if .*[:{]|while .*[:{]|>>> |\w[\w.\[\]]* [-+*/]?= |[{}]\s*$|.*;\s*$)"
)
_DECLARES = re.compile(
    r"^\s*(?:def \w+\(|class \w+[:(]|import \w|from [\w.]+ import |#include\b|function \w+\()", re.MULTILINE
)
#: A text is a program where a line declares something, or where this share of its lines, and two of them, are code.
CODE_SHARE = 0.25
_ENDINGS = ("ingly", "edly", "ing", "ies", "ed", "es", "ly", "s")
#: Words that begin with these many equal letters, endings taken off, count as one.
STEM = 6


@dataclass(frozen=True)
class Reading:
    """What one text says, as far as it can be counted.

    Attributes:
        numbers: decimal digits, or what a word for a number stands for -> how often.
        words: stems of content words.
        names: words with a capital that begin no sentence, in lower case.
        directions: words of the list `directions`.
        is_negative: whether a word of `negations` is in it.
        n_words: words and numbers.
        is_program: whether it is one.
    """

    numbers: Counter[str]
    words: frozenset[str]
    names: frozenset[str]
    directions: frozenset[str]
    is_negative: bool
    n_words: int
    is_program: bool

    @property
    def n_facts(self) -> int:
        """Different content words and numbers: how much there is to agree on."""
        return len(self.words) + len(self.numbers)

    @staticmethod
    def of(text: str) -> Reading:
        """Return the reading of a text as it was read (capitals count)."""
        found, known = list(_WORD.finditer(text)), known_words()
        lower = [match.group().lower().replace("’", "'") for match in found]
        plain = [word.removesuffix("n't").split("'")[0] for word in lower]
        numbers = [_number(word) for word in plain]
        is_content = [n is None and word not in known.function_words for n, word in zip(numbers, plain, strict=True)]
        names = [match.group()[0].isupper() and not _begins_sentence(text, match.start()) for match in found]
        return Reading(
            numbers=Counter(n for n in numbers if n is not None),
            words=frozenset(map(stem, compress(plain, is_content))),
            names=frozenset(compress(plain, map(and_, names, is_content))),
            directions=known.directions.intersection(plain),
            is_negative=any(word in known.negations or word.endswith("n't") for word in lower),
            n_words=len(found),
            is_program=is_program(text),
        )


def stem(word: str) -> str:
    """Return a word without its ending, at most STEM letters: crude, and the same for "bake" and "baking"."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:STEM].rstrip("e")


def is_program(text: str) -> bool:
    """Return whether a text is a program rather than prose."""
    if _DECLARES.search(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    n_code = sum(_CODE_LINE.match(line) is not None for line in lines)
    return n_code >= 2 and n_code >= CODE_SHARE * len(lines)


def _begins_sentence(text: str, at: int) -> bool:
    return _ENDS_A_SENTENCE.search(text[max(0, at - 8) : at]) is not None


def _number(word: str) -> str | None:
    """Return the number that a word is, as digits without separators of thousands and trailing zeros, or None."""
    if not word[0].isdigit():
        return known_words().numbers.get(word)
    digits = word.replace(",", "")
    return digits.rstrip("0").rstrip(".") if digits.count(".") == 1 else digits


def opposes(row: Reading, item: Reading) -> bool:
    """Return whether the two differ in direction: one negates, prevents, or says what should be, the other does not."""
    return row.is_negative != item.is_negative or row.directions != item.directions


def features(rows: Sequence[Reading], items: Sequence[Reading], measured: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the features of n pairs: float64 of shape [n, len(FEATURES)].

    Args:
        rows, items: readings of each pair's row and item, n each.
        measured: cosine, lead and item_lead of the pairs, shape [n, 3].
    """
    told = [_compare(row, item) for row, item in zip(rows, items, strict=True)]
    return np.hstack([measured, np.array(told, np.float64).reshape(len(told), len(FEATURES) - 3)])


def _compare(row: Reading, item: Reading) -> tuple[float, ...]:
    shared = len(row.words & item.words)
    of_row, of_item = shared / max(1, len(row.words)), shared / max(1, len(item.words))
    return (
        _share_kept(item.numbers.keys(), row.numbers.keys()),
        _share_kept(row.numbers.keys(), item.numbers.keys()),
        _share_kept({stem(name) for name in item.names}, row.words),
        _share_kept({stem(name) for name in row.names}, item.words),
        max(of_row, of_item),
        min(of_row, of_item),
        float(row.is_negative != item.is_negative),
        float(len(row.directions ^ item.directions)),
        abs(math.log((1 + row.n_words) / (1 + item.n_words))),
    )


def _share_kept(mine: Collection[str], theirs: Collection[str]) -> float:
    """Return the share of `mine` that is in `theirs`; 1 where there is nothing to keep."""
    return sum(one in theirs for one in mine) / len(mine) if mine else 1.0


@dataclass(frozen=True)
class Model:
    """Coefficients of one kind of text: a weight for each of FEATURES, and the intercept."""

    weights: tuple[float, ...]
    intercept: float

    def scores(self, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores in [0, 1], rounded to four decimals as cosines are. Shape [n]."""
        logit = pairs @ np.array(self.weights) + self.intercept
        result: NDArray[np.float64] = np.round(1 / (1 + np.exp(-logit)), 4)
        return result


@functools.cache
def given() -> dict[str, dict[str, float]]:
    """Return meaning.toml: the coefficients by kind of text, and `measured`.

    `measured` counts the pairs, held apart from the fitting, that the default rules of `condemns` raise: `right` and
    `wrong` ones, and `twins`.
    """
    return tomllib.loads(resources.files("auditkit.verify").joinpath("meaning.toml").read_text(encoding="utf-8"))


@functools.cache
def models() -> dict[str, Model]:
    """Return the models for "prose" and "program"."""
    return {
        kind: Model(tuple(float(given()[kind][name]) for name in FEATURES), float(given()[kind]["intercept"]))
        for kind in ("prose", "program")
    }


def scores(rows: Sequence[Reading], items: Sequence[Reading], measured: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how sure it is that each pair asks for the same, in [0, 1]: float64 [n]. Arguments as of `features`.

    A pair is judged as a program where both sides are one.
    """
    pairs = features(rows, items, measured)
    are_programs = np.array([a.is_program and b.is_program for a, b in zip(rows, items, strict=True)], np.bool_)
    return np.where(are_programs, models()["program"].scores(pairs), models()["prose"].scores(pairs))
