"""Wrappers of short texts: the markers of chat formats and instruction templates, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from auditkit.text.views.reading import Piece, Reading
from auditkit.text.views.vocabulary import Vocabulary

_ROLES = (
    "human|user|assistant|system|bot|ai|model|gpt|prompter|instruction|instructions|input|response|output|question|"
    "answer|prompt|query|request|task|q|a"
)
#: What is taken out, and what stands in its place; most markers end what stands before them.
_MARKERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"<\|(?:im_start|start_header_id)\|>\s*\w+"), "\n"),
    (re.compile(r"<\|[^|<>\n]{1,40}\|>|<(?:start|end)_of_turn>(?:\s*(?:user|model)\b)?|</?s>|<[be]os>"), "\n"),
    (re.compile(r"\[/?INST\]|<</?SYS>>|\[/?(?:USER|SYSTEM|ASSISTANT)[^\]\n]{0,12}\]"), "\n"),
    (re.compile(rf"^[ \t]*#{{1,6}}[ \t]*(?:{_ROLES})[ \t]*:?", re.IGNORECASE | re.MULTILINE), "\n"),
    (re.compile(rf"^[ \t>*_]*(?:{_ROLES})[ \t*_]*:[*_]*", re.IGNORECASE | re.MULTILINE), "\n"),
    (re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|(?:>[ \t]?)+|```[\w+-]*[ \t]*$|[*+-][ \t]+)", re.MULTILINE), ""),
    (re.compile(r"!?\[([^\]\[\n]+)\]\([^()\s]*\)"), r"\1"),
    (re.compile(r"`+|~~"), " "),
)
#: Emphasis of a part of a word.
_IN_WORD = re.compile(r"(?<=\w)(?:\*{1,3}|~~|`)(?=\w)")
#: Of that a text must have so many: one star between letters is a product.
_LEAST = 2


def markdown(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings without Markdown's emphasis within words; between words the canonical text has none."""
    found = [[(*match.span(), "") for match in _IN_WORD.finditer(reading.text)] for reading in readings]
    pairs = zip(readings, found, strict=True)
    return [[reading.replaced(pieces, "markdown")] if len(pieces) >= _LEAST else [] for reading, pieces in pairs]


def wrapper(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings without the markers of chats and instruction templates and Markdown's between words."""
    return [_without(reading) for reading in readings]


def _without(reading: Reading) -> list[Reading]:
    bare = reading
    for pattern, instead in _MARKERS:
        pieces = [(*match.span(), match.expand(instead)) for match in pattern.finditer(bare.text)]
        if pieces:
            bare = _replaced(bare, pieces)
    return [bare] if bare is not reading and any(map(str.isalnum, bare.text)) else []


def _replaced(reading: Reading, pieces: Sequence[Piece]) -> Reading:
    """Return the reading with pieces put in; the name of the view stands once, however many markers there are."""
    names = reading.views if reading.views[-1:] == ("wrapper",) else (*reading.views, "wrapper")
    replaced = reading.replaced(pieces, "wrapper")
    return Reading(replaced.text, replaced.starts, replaced.ends, names)
