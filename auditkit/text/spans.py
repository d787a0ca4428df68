"""Tokens and the characters that they come from: stretches of canonical text, and places in the text as read."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels import tokens as kernels
from auditkit.kernels.letters import count_letters
from auditkit.text.folding import fold
from auditkit.text.normalise import Tokens
from auditkit.text.unicode import classes

#: Class of a character that has to be folded together with its neighbours, or that gives tokens of several classes.
_MIXED = 255


@dataclass(frozen=True)
class Placed:
    """One token and the characters [start, end) of the text as read that it comes from."""

    token: str
    start: int
    end: int


# ---------------------------------------------------------------- canonical text


def stretch_bounds(
    tokens: Tokens, index: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return where tokens [first, last) of the texts `index` start and end in `tokens.text`; every stretch has a token.

    int64 of shape [n, 2].
    """
    base, token = tokens.text_offsets[index], tokens.offsets[index]
    return np.stack([base + tokens.starts[token + first], base + tokens.ends[token + last - 1]], axis=1)


def whole_bounds(tokens: Tokens, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the canonical texts `index` start and end in `tokens.text`: int64 of shape [n, 2]."""
    return np.stack([tokens.text_offsets[index], tokens.text_offsets[index + 1]], axis=1)


def stretches(tokens: Tokens, index: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]) -> list[str]:
    """Return the canonical text of tokens [first, last) of the texts `index`; every stretch has a token. Length [n]."""
    return _texts(tokens, stretch_bounds(tokens, index, first, last))


def wholes(tokens: Tokens, index: NDArray[np.int64]) -> list[str]:
    """Return the canonical texts `index`. Length [n]."""
    return _texts(tokens, whole_bounds(tokens, index))


def _texts(tokens: Tokens, bounds: NDArray[np.int64]) -> list[str]:
    data = tokens.text.data
    return [str(data[a:b], "utf-8") for a, b in bounds.tolist()]


def letters_of_tokens(tokens: Tokens, index: int, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the tokens [first, last) start and end in the canonical text of that stretch, in characters.

    Two arrays of shape [last - first].
    """
    base, token = int(tokens.text_offsets[index]), int(tokens.offsets[index])
    starts = tokens.starts[token + first : token + last].astype(np.int64)
    ends = tokens.ends[token + first : token + last].astype(np.int64)
    data = tokens.text[base + starts[0] : base + ends[-1]]
    letters = np.concatenate([np.zeros(1, np.int64), np.cumsum(_begins_character(data))])
    return letters[starts - starts[0]], letters[ends - starts[0]]


def n_characters(tokens: Tokens) -> NDArray[np.int64]:
    """Return the characters of each canonical text: int64 [n]."""
    return count_letters(tokens.text, whole_bounds(tokens, np.arange(len(tokens))))


def n_spaces(tokens: Tokens) -> NDArray[np.int64]:
    """Return the spaces in each canonical text: int64 [n]."""
    return _per_text(tokens, tokens.text == ord(" "))


def _per_text(tokens: Tokens, is_counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many bytes of each canonical text are counted: int64 [n]."""
    # reduceat gives a text without bytes the byte at its offset, which may lie behind the last.
    counts = np.add.reduceat(np.append(is_counted, False), tokens.text_offsets[:-1], dtype=np.int64)
    return np.where(np.diff(tokens.text_offsets) > 0, counts, 0)


def _begins_character(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which bytes of UTF-8 are the first of their character (RFC 3629: the others are 10xxxxxx)."""
    result: NDArray[np.bool_] = (data & 0xC0) != 0x80
    return result


# ---------------------------------------------------------------- the text as read


def characters(
    texts: Sequence[str], index: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the characters [start, end) of the texts `index`, as read, that their tokens [first, last) come from.

    Normalisation is not letter by letter (e + combining acute is one letter). Where it is, in nearly all texts, tokens
    are found by the classes of characters, many texts at a time; the others are cut and folded piece by piece.

    Returns:
        Two arrays of shape [n]; 0 and 0 where a text has no token.
    """
    begins = np.cumsum([0, *(len(text) + 1 for text in texts)])
    kinds = _kinds("\n".join(texts))
    is_mixed = (
        np.logical_or.reduceat(np.append(kinds == _MIXED, False), begins[:-1]) if texts else np.zeros(0, np.bool_)
    )
    starts, ends = _token_bounds(kinds)
    token = np.searchsorted(starts, begins)
    start, end = np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
    simple = np.flatnonzero(~is_mixed[index] & (token[index] < token[index + 1]))
    text = index[simple]
    start[simple] = starts[token[text] + first[simple]] - begins[text]
    end[simple] = ends[token[text] + last[simple] - 1] - begins[text]
    placed = {int(i): place(texts[i]) for i in np.unique(index[is_mixed[index]])}
    for i in np.flatnonzero(is_mixed[index]).tolist():
        if tokens := placed[int(index[i])]:
            start[i], end[i] = tokens[first[i]].start, tokens[last[i] - 1].end
    return start, end


def place(text: str) -> list[Placed]:
    """Return the tokens of `text` in order, each with its characters in the text as read: slow, for any text.

    The text is cut where it is safe to cut: before a character that cannot join what stands before it. Each piece is
    folded alone and its place kept.
    """
    table, result, in_word = classes(), list[Placed](), False
    for piece, start, end in _pieces(text):
        for char in fold(piece):
            kind = int(table[ord(char)])
            if in_word and kind in (kernels.WORD, kernels.MARK):
                last = result[-1]
                result[-1] = Placed(last.token + char, last.start, end)
            elif kind in (kernels.WORD, kernels.SYMBOL, kernels.NO_SPACE):
                result.append(Placed(char, start, end))
                in_word = kind == kernels.WORD
            elif kind == kernels.SEPARATOR:
                in_word = False
    return result


def _kinds(text: str) -> NDArray[np.uint8]:
    """Return the class of each character of `text`, folded by itself: uint8 [n_characters]."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    kinds = classes()[points]
    beyond = np.flatnonzero(points >= 0x80)
    distinct, inverse = np.unique(points[beyond], return_inverse=True)
    kinds[beyond] = np.array([_kind_alone(point) for point in distinct.tolist()], np.uint8)[inverse]
    return kinds


def _token_bounds(kinds: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where tokens start and end among characters of these classes. Two arrays of shape [n_tokens]."""
    is_word = kinds == kernels.WORD
    is_single = (kinds == kernels.SYMBOL) | (kinds == kernels.NO_SPACE)
    starts, ends = is_word.copy(), is_word.copy()
    starts[1:] &= ~is_word[:-1]
    ends[:-1] &= ~is_word[1:]
    return np.flatnonzero(starts | is_single), np.flatnonzero(ends | is_single) + 1


@functools.cache
def _kind_alone(point: int) -> int:
    """Return the class of a character that can be folded without its neighbours and is of one class, else _MIXED."""
    char = chr(point)
    if not _starts_piece(char):
        return _MIXED
    folded = fold(char)
    kinds = {int(classes()[ord(c)]) for c in folded}
    is_one = len(kinds) == 1 and (len(folded) == 1 or kinds <= {kernels.WORD, kernels.SEPARATOR})
    return kinds.pop() if is_one and kernels.MARK not in kinds else _MIXED


def _pieces(text: str) -> list[tuple[str, int, int]]:
    """Return (piece, start, end) for the safe cuts of `text`."""
    starts = [i for i, char in enumerate(text) if i == 0 or _starts_piece(char)]
    ends = [*starts, len(text)][1:]
    return [(text[a:b], a, b) for a, b in zip(starts, ends, strict=True)]


def _starts_piece(char: str) -> bool:
    """Return whether a character cannot join what stands before it."""
    joining = _joining()
    if unicodedata.combining(char) or char in joining or classes()[ord(char)] == kernels.IGNORED:
        return False
    # A compatibility character can decompose to a mark or a jamo that joins.
    first = unicodedata.normalize("NFKD", char)[0]
    return first not in joining and not unicodedata.combining(first)


@functools.lru_cache(maxsize=1)
def _joining() -> frozenset[str]:
    """Return the starters that compose with what stands before them (Hangul vowels and finals, some Indic signs)."""
    seconds = {chr(point) for point in range(0x1161, 0x1200)}
    for point in range(0x32400):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            seconds.add(chr(int(parts[1], 16)))
    return frozenset(seconds)
