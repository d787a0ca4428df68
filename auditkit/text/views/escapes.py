"""Escapes of single characters: percent signs of addresses, HTML entities and tags, backslashes of program text."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from auditkit.text.views.reading import Piece, Reading
from auditkit.text.views.vocabulary import Vocabulary

#: Escapes that a text must have for a reading; one alone is an ampersand or a share.
_LEAST = 2
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
#: A plus sign is a space only in text that has percent escapes and no spaces.
_PLUS = re.compile(r"\+")
_ENTITY = re.compile(r"(?:&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")
#: Tags within words and sentences, and those that end what stands before them. Other names in angle brackets are none.
_INLINE = "a abbr b big code em font i ins kbd mark s small span strike strong sub sup tt u wbr"
_BLOCK = (
    "article aside blockquote body br center dd details div dl dt figure footer form h1 h2 h3 h4 h5 h6 head header hr "
    "html img input label li link main meta nav ol option p pre script section select style summary table tbody td "
    "textarea tfoot th thead title tr ul"
)
_TAG = re.compile(
    rf"</?(?:(?P<inline>{'|'.join(_INLINE.split())})|{'|'.join(_BLOCK.split())})(?:\s[^<>]*)?/?>|<!--.*?-->",
    re.DOTALL | re.IGNORECASE,
)
_BACKSLASH = re.compile(r"(?:\\u\{[0-9A-Fa-f]{1,6}\}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2})+")
_UNIT = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")


def url(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings with percent escapes undone, and plus signs where they stand for spaces."""
    return [_undone(reading, _url_pieces(reading.text), "url") for reading in readings]


def _url_pieces(text: str) -> list[Piece]:
    pieces = _pieces(_PERCENT, text, unquote)
    if pieces and " " not in text:
        pieces += _pieces(_PLUS, text, lambda _: " ")
    return sorted(pieces)


def html_(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings with HTML's entities undone and its tags taken out."""
    return [_undone(reading, _html_pieces(reading.text), "html") for reading in readings]


def _html_pieces(text: str) -> list[Piece]:
    tags = [(*match.span(), _tag_text(match)) for match in _TAG.finditer(text)]
    return sorted([*tags, *_pieces(_ENTITY, text, html.unescape)])


def _tag_text(match: re.Match[str]) -> str:
    return "" if match["inline"] else " "


def backslash(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    r"""Return readings with \\x41, \\u0041 and \\u{41} undone."""
    return [_undone(reading, _pieces(_BACKSLASH, reading.text, _unescaped), "backslash") for reading in readings]


def _unescaped(escapes: str) -> str:
    """Return the characters of escapes that follow each other; halves of a surrogate pair make one."""
    points = [int("".join(match.groups(default="")), 16) for match in _UNIT.finditer(escapes)]
    units = "".join(map(chr, (point for point in points if point < 0x110000)))
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _pieces(pattern: re.Pattern[str], text: str, undo: Callable[[str], str]) -> list[Piece]:
    """Return the escapes of a text that mean something else than they are."""
    found = ((*match.span(), undo(match.group())) for match in pattern.finditer(text))
    return [(start, end, new) for start, end, new in found if new != text[start:end]]


def _undone(reading: Reading, pieces: Sequence[Piece], view: str) -> list[Reading]:
    n_escapes = sum(max(len(new), 1) for _, _, new in pieces)
    return [reading.replaced(pieces, view)] if n_escapes >= _LEAST else []
