"""Which tokens of two matched spans differ, for the eye only: verdicts come from the audit's own measures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from auditkit.report import phrases

#: Tokens of one span beyond which none are marked: difflib's time grows with the product.
MAX_TOKENS = 2_000
_N_NAMED = 8

#: Scripts without spaces by single characters (with the marks that follow), all else by runs without space.
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(f"[{_SPACELESS}][\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309a]*|[^\\s{_SPACELESS}]+")


@dataclass(frozen=True)
class Differences:
    """Offsets (start, end in the whole text) of differing tokens of either side, and lines that name them."""

    row: tuple[tuple[int, int], ...] = ()
    item: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()
    has_numbers: bool = False


@dataclass(frozen=True)
class _Token:
    start: int
    end: int
    text: str
    key: str


def between(row_text: str, row: tuple[int, int], item_text: str, item: tuple[int, int]) -> Differences:
    """Return the tokens that differ between two spans (start, end), case, width and punctuation apart."""
    left, right = _tokens(row_text, *row), _tokens(item_text, *item)
    if max(len(left), len(right)) > MAX_TOKENS:
        n = phrases.count(max(len(left), len(right)))
        return Differences(notes=(f"differing tokens are not marked: the span has {n} of them",))
    only_left, only_right = _different(left, right)
    return Differences(_places(only_left), _places(only_right), *_notes(only_left, only_right))


def _tokens(text: str, start: int, end: int) -> list[_Token]:
    found = [_Token(m.start(), m.end(), m.group(), _key(m.group())) for m in _TOKEN.finditer(text, start, end)]
    return [token for token in found if token.key]


def _key(token: str) -> str:
    """Return the token as it is compared: NFKC, casefolded, without punctuation and format characters."""
    folded = unicodedata.normalize("NFKC", token).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] not in "PCZ")


def _different(left: Sequence[_Token], right: Sequence[_Token]) -> tuple[list[_Token], list[_Token]]:
    matcher = SequenceMatcher(None, [t.key for t in left], [t.key for t in right], autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    only_left = [token for _, a, b, _, _ in changes for token in left[a:b]]
    only_right = [token for _, _, _, a, b in changes for token in right[a:b]]
    return only_left, only_right


def _places(tokens: Iterable[_Token]) -> tuple[tuple[int, int], ...]:
    return tuple((token.start, token.end) for token in tokens)


def _notes(row: Sequence[_Token], item: Sequence[_Token]) -> tuple[tuple[str, ...], bool]:
    numbers = [_with_digits(row), _with_digits(item)]
    words = [[t.text for t in side if t.text not in own] for side, own in zip((row, item), numbers, strict=True)]
    notes = []
    for what, (left, right) in (("numbers", numbers), ("tokens", words)):
        if left or right:
            notes.append(f"{what} differ: row {_named(left)} | item {_named(right)}")
    return tuple(notes), any(numbers)


def _with_digits(tokens: Iterable[_Token]) -> list[str]:
    return [token.text for token in tokens if any(char.isdigit() for char in token.key)]


def _named(tokens: Sequence[str]) -> str:
    beyond = len(tokens) - _N_NAMED
    return (" ".join(tokens[:_N_NAMED]) or "none") + (f" and {phrases.count(beyond)} more" if beyond > 0 else "")
