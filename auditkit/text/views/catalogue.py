"""The views by name, and what they make of a shard's texts, one view after another where disguises are nested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from auditkit.text.normalise import Tokens, tokenise
from auditkit.text.views import encoded, escapes, leet, letters, signs, spaced, wrappers
from auditkit.text.views.programs import PROGRAM
from auditkit.text.views.reading import Reading
from auditkit.text.views.vocabulary import Vocabulary


@dataclass(frozen=True)
class View:
    """One way of reading a text.

    Attributes:
        sign: the sign (text/views/signs.py) without which a text is not read so.
        undo: readings and the vocabulary -> the new readings of each.
        is_encoding: whether the same view may be needed again on what it gives (base64 of base64, escaped HTML).
        is_last: whether no view may follow: with its guesses at words an encoding would be another one.
        is_step: whether the canonical text has it already: nothing to match, only a step to other views.
    """

    sign: str
    undo: Callable[[Sequence[Reading], Vocabulary], list[list[Reading]]]
    is_encoding: bool = False
    is_last: bool = False
    is_step: bool = False


#: What the canonical text undoes, before any of VIEWS is asked.
FORMS = View("forms", letters.forms, is_step=True)
#: In this order: of two views that find the same, the earlier one is named.
VIEWS: dict[str, View] = {
    "lookalike": View("lookalike", letters.lookalike),
    "marks": View("marks", letters.marks),
    "leet": View("leet", leet.leet, is_last=True),
    "spaced": View("spaced", spaced.spaced),
    "markdown": View("emphasis", wrappers.markdown),
    "wrapper": View("wrapped", wrappers.wrapper),
    "html": View("escaped", escapes.html_, is_encoding=True),
    "url": View("escaped", escapes.url),
    "backslash": View("escaped", escapes.backslash),
    "base64": View("encoded", encoded.base64_, is_encoding=True),
    "hex": View("hex", encoded.hexadecimal, is_encoding=True),
    "rot13": View("rot13", encoded.rot13, is_encoding=True),
}
#: What --views may name, in this order: `program` reads no text, but compares functions (text/views/programs.py).
NAMES: tuple[str, ...] = (*VIEWS, PROGRAM)
#: Views applied one after another, at most: base64 of base64 of rot13 has three.
MAX_DEPTH = 3
#: Readings of one text, at most; how many there were beyond is counted.
MAX_READINGS = 16


@dataclass(frozen=True)
class Level:
    """Readings of the same depth.

    Attributes:
        units: index of the text in its shard, of each reading.
        readings: what it says.
        texts, tokens: the same as String series and its tokens.
        is_step: per reading, whether it is no more than the canonical text.
    """

    units: list[int]
    readings: list[Reading]
    texts: pl.Series
    tokens: Tokens
    is_step: list[bool]


@dataclass
class Counts:
    """What was read: name of the view -> readings; and what was left out."""

    readings: Counter[str] = field(default_factory=Counter)
    n_beyond: int = 0
    n_deeper: int = 0


def levels(
    texts: pl.Series, tokens: Tokens, vocabulary: Vocabulary, names: Sequence[str], counts: Counts
) -> Iterator[Level]:
    """Yield the readings of a shard's texts, by depth; `counts` is added to.

    Args:
        texts: String series [n].
        tokens: their tokens.
        vocabulary: of the benchmarks.
        names: views that run.
        counts: what was read and left out.
    """
    if not names:
        return
    seen: dict[int, set[str]] = {}
    units, here = None, Level([], [], texts, tokens, [])
    for depth in range(MAX_DEPTH + 1):
        found = list(_next(here, units, vocabulary, names))
        if depth == MAX_DEPTH:
            counts.n_deeper += len(found)
            return
        here = _level(found, seen, counts)
        if not here.units:
            return
        units = here.units
        yield here


def _next(
    here: Level, units: list[int] | None, vocabulary: Vocabulary, names: Sequence[str]
) -> Iterator[tuple[int, Reading, bool]]:
    """Yield unit, reading and whether it is a step, for all that the views make of a level's texts."""
    suspects = signs.suspects(here.texts, here.tokens, vocabulary)
    for name, view in [("", FORMS), *((name, VIEWS[name]) for name in VIEWS if name in names)]:
        at = [
            i
            for i in np.flatnonzero(suspects[view.sign]).tolist()
            if not units or _may_follow(name, view, here.readings[i])
        ]
        if not at:
            continue
        before = [here.readings[i] if units else Reading.of(here.texts[i]) for i in at]
        for i, old, new in zip(at, before, view.undo(before, vocabulary), strict=True):
            yield from ((units[i] if units else i, one, view.is_step) for one in new if one.text != old.text)


def _may_follow(name: str, view: View, reading: Reading) -> bool:
    """Return whether a view may come after those of a reading: an encoding also after itself, no view after a last."""
    last = reading.views[-1] if reading.views else ""
    return not (last in VIEWS and VIEWS[last].is_last) and (view.is_encoding or last != name)


def _level(found: Sequence[tuple[int, Reading, bool]], seen: dict[int, set[str]], counts: Counts) -> Level:
    """Return the readings that say something new, at most MAX_READINGS of a text over all levels."""
    kept = list[tuple[int, Reading, bool]]()
    for unit, reading, is_step in found:
        known = seen.setdefault(unit, set())
        if reading.text in known:
            continue
        if len(known) >= MAX_READINGS:
            counts.n_beyond += 1
            continue
        known.add(reading.text)
        counts.readings[reading.name] += not is_step
        kept.append((unit, reading, is_step))
    texts = pl.Series([reading.text for _, reading, _ in kept], dtype=pl.String)
    return Level(
        [unit for unit, _, _ in kept], [r for _, r, _ in kept], texts, tokenise(texts), [step for *_, step in kept]
    )
