"""Encodings of whole stretches: base64, hexadecimal digits, rot13."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator, Sequence

from auditkit.text.views.reading import Reading
from auditkit.text.views.vocabulary import Vocabulary

#: Letters of base64 in one stretch, its further lines with it; the URL-safe letters too.
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}(?:\s{1,4}[A-Za-z0-9+/_-]{8,})*(?:\s{0,2}[A-Za-z0-9+/_-]{1,76})?={0,2}")
_LINE = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
#: Bytes in hexadecimal digits, eight or more, bare or with what usually stands before each. The first is one that a
#: text in UTF-8 can begin with, which the end of a word before it ("decode", "be") is not.
_HEX = re.compile(
    r"(?:(?=0x|\\x|&#x)|(?<![0-9A-Za-z])(?=[0-7]|[c-fC-F][0-9A-Fa-f][\s,;:-]{0,2}[89abAB]))"
    r"(?:(?:0x|\\x|&#x)?[0-9A-Fa-f]{2}[\s,;:-]{0,2}){8,}"
)
_HEX_BYTE = re.compile(r"(?:0x|\\x|&#x)?([0-9A-Fa-f]{2})")
_LETTERS = re.compile(r"[A-Za-z]+")
#: Share of a decoded text's characters that are letters, digits or spaces; noise that happens to be UTF-8 has fewer.
_MIN_TEXT_SHARE = 0.75
#: Characters of a decoded text.
_MIN_DECODED = 6
#: Words that rot13 turns into the benchmarks', beyond those that it turns away from them.
_MIN_TURNED = 3


def base64_(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings of the texts that stand in base64."""
    return [_payloads(reading, _base64_stretches(reading.text), _from_base64, "base64") for reading in readings]


def hexadecimal(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings of the texts that stand in hexadecimal digits."""
    return [_payloads(reading, _spans(_HEX, reading.text), _from_hex, "hex") for reading in readings]


def _payloads(
    reading: Reading, spans: Iterator[tuple[int, int]], decode: Callable[[str], str | None], view: str
) -> list[Reading]:
    """Return the reading of each encoded stretch alone, and the text with all of them decoded in their places."""
    found = [(start, end, text) for start, end in spans if (text := decode(reading.text[start:end])) is not None]
    alone = [reading.stretch(start, end).replaced([(0, end - start, text)], view) for start, end, text in found]
    has_more = len(found) > 1 or (found and found[0][1] - found[0][0] < len(reading.text))
    return [*alone, reading.replaced(found, view)] if has_more else alone


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in pattern.finditer(text))


def _base64_stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield stretches of base64; where several lines together are none (a word stands before them), each by itself."""
    for match in _BASE64.finditer(text):
        if _from_base64(match.group()) is not None:
            yield match.span()
        else:
            yield from ((match.start() + start, match.start() + end) for start, end in _spans(_LINE, match.group()))


def _from_base64(encoded: str) -> str | None:
    """Return the text that is written in base64 (RFC 4648, both alphabets, padded or not), None where it is none."""
    letters = re.sub(r"[\s=]", "", encoded).translate(str.maketrans("-_", "+/"))
    if len(letters) % 4 == 1:
        return None
    try:
        return _as_text(base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True))
    except binascii.Error:
        return None


def _from_hex(encoded: str) -> str | None:
    """Return the text whose bytes are written in hexadecimal digits, None where it is none."""
    return _as_text(bytes.fromhex("".join(_HEX_BYTE.findall(encoded))))


def _as_text(data: bytes) -> str | None:
    """Return bytes as UTF-8 text, or None where they are none, or hardly any."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    n_plain = sum(char.isalnum() or char in " \n" for char in text)
    return text if len(text) >= _MIN_DECODED and n_plain >= _MIN_TEXT_SHARE * len(text) else None


# ---------------------------------------------------------------- rot13


def rot13(readings: Sequence[Reading], vocabulary: Vocabulary) -> list[list[Reading]]:
    """Return readings of the stretches whose words rot13 turns into words of the benchmarks.

    A word counts for a stretch where rot13 makes it one of the benchmarks', against it where it is one as it stands.
    """
    words = [list(_LETTERS.finditer(reading.text)) for reading in readings]
    plain = {match.group() for some in words for match in some}
    known = vocabulary.known([*plain, *(_turned(word) for word in plain)])
    results = []
    for reading, some in zip(readings, words, strict=True):
        scores = [(_turned(m.group()) in known) - (m.group() in known) for m in some]
        stretches = [(some[first].start(), some[last - 1].end()) for first, last in _stretches(scores)]
        results.append([_turned_stretch(reading, start, end) for start, end in stretches])
    return results


def _turned(text: str) -> str:
    return codecs.encode(text, "rot13")


def _turned_stretch(reading: Reading, start: int, end: int) -> Reading:
    return reading.stretch(start, end).replaced([(0, end - start, _turned(reading.text[start:end]))], "rot13")


def _stretches(scores: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield [first, last) of the stretches whose scores sum to _MIN_TURNED at least, in order.

    A stretch begins where the sum leaves 0 and ends where it was highest, before it is back at 0 (Page's CUSUM, 1954).
    """
    total, best, first, last = 0, 0, 0, 0
    for i, score in enumerate((*scores, -sum(map(abs, scores)))):
        if total == 0:
            first = i
        total = max(total + score, 0)
        if total > best:
            best, last = total, i + 1
        if total == 0:
            if best >= _MIN_TURNED:
                yield first, last
            best = 0
