"""Letters set apart by spaces, dots, dashes or the like: joined again, and cut into words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from auditkit.text.views.reading import Piece, Reading
from auditkit.text.views.vocabulary import Vocabulary

#: A run of single letters and digits, six or more, with up to four other characters between two.
_RUN = re.compile(r"(?<![^\W_])[^\W_](?:[\W_]{1,4}[^\W_](?![^\W_])){5,}")
_GAP = re.compile(r"[\W_]+")
#: Letters of the longest word that is looked for where nothing shows where words end.
_MAX_WORD = 24
#: What a word costs where words are cut: one of one letter more, and a letter that belongs to none more than any word.
_WORD_COST, _LETTER_COST, _STRAY_COST = 2, 3, 7
#: Of so many letters of a run this share must be in words of two letters or more: sequences of proteins have fewer.
_PROBE, _MIN_SHARE = 48, 0.75
#: Letters that are cut at a time, which bounds memory; a word that lies across two such stretches is cut in two.
_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class _Run:
    """Letters set apart: words as the wider gaps cut them, and where all gaps are."""

    words: list[str]
    gaps: list[tuple[int, int]]


def spaced(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings with the letters of each run joined to words.

    Where gaps are of two kinds, the wider ones stand between words. What so is no word of the benchmarks, because all
    gaps are alike, is cut into the fewest words that they have, where these make up most of it.
    """
    runs = [[_run_at(match) for match in _RUN.finditer(reading.text)] for reading in readings]
    words = [word for some in runs for run in some for word in run.words]
    known = vocabulary.known(part for word in words for part in (word, *_parts(word[:_PROBE])))
    results = []
    for reading, some in zip(readings, runs, strict=True):
        pieces = [piece for run in some for piece in _pieces(run, known, vocabulary)]
        results.append([reading.replaced(pieces, "spaced")] if pieces else [])
    return results


def _run_at(match: re.Match[str]) -> _Run:
    text, base = match.group(), match.start()
    gaps = list(_GAP.finditer(text))
    inner = Counter(gap.group() for gap in gaps).most_common(1)[0][0]
    words = [""]
    for letter, gap in zip(_GAP.split(text.lower()), ["", *(gap.group() for gap in gaps)], strict=True):
        words += [""] if _is_wider(gap, inner) else []
        words[-1] += letter
    return _Run(words, [(base + gap.start(), base + gap.end()) for gap in gaps])


def _is_wider(gap: str, inner: str) -> bool:
    """Return whether a gap stands between words, where `inner` is the most frequent one."""
    has_space = any(map(str.isspace, gap)) and not any(map(str.isspace, inner))
    return has_space or len(gap) > len(inner) or ("\n" in gap and "\n" not in inner)


def _pieces(run: _Run, known: frozenset[str], vocabulary: Vocabulary) -> list[Piece]:
    """Return what stands in place of the gaps: a space between words, else nothing."""
    sizes = [size for word in run.words for size in _sizes(word, known, vocabulary)]
    ends = frozenset(end - 1 for end in accumulate(sizes))
    return [(start, end, " " if i in ends else "") for i, (start, end) in enumerate(run.gaps)]


def _parts(letters: str) -> Iterator[str]:
    """Yield every stretch of letters that may be a word."""
    for start in range(len(letters)):
        yield from (letters[start:end] for end in range(start + 1, min(start + _MAX_WORD, len(letters)) + 1))


def _sizes(letters: str, known: frozenset[str], vocabulary: Vocabulary) -> list[int]:
    """Return the letters of each word that `letters` are cut into; of one where their beginning makes no words.

    Args:
        letters: of a run, between two wider gaps.
        known: words of the benchmarks among `letters` and the parts of their first _PROBE.
        vocabulary: of the benchmarks.
    """
    if letters in known:
        return [len(letters)]
    sizes = _cheapest(letters[:_PROBE], known)
    if sum(size for size in sizes if size > 1) < _MIN_SHARE * min(len(letters), _PROBE):
        return [len(letters)]
    if len(letters) <= _PROBE:
        return sizes
    chunks = (letters[at : at + _CHUNK] for at in range(0, len(letters), _CHUNK))
    return [size for chunk in chunks for size in _cheapest(chunk, vocabulary.known(_parts(chunk)))]


def _cheapest(letters: str, known: frozenset[str]) -> list[int]:
    """Return the letters of each word that `letters` are cut into at the least cost."""
    costs, sizes = [0], [0]
    for end in range(1, len(letters) + 1):
        options = [
            (costs[end - size] + cost, size)
            for size in range(1, min(_MAX_WORD, end) + 1)
            if (cost := _cost(letters[end - size : end], known)) is not None
        ]
        cost, size = min(options)
        costs.append(cost)
        sizes.append(size)
    words, end = list[int](), len(letters)
    while end:
        words.append(sizes[end])
        end -= sizes[end]
    return words[::-1]


def _cost(part: str, known: frozenset[str]) -> int | None:
    """Return what it costs to take `part` for a word, None where it is none."""
    if len(part) > 1:
        return _WORD_COST if part in known else None
    return _LETTER_COST if part in known else _STRAY_COST
