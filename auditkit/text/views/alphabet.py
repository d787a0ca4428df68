"""Characters that look like letters of the Latin alphabet, and which ones they look like.

The data is Unicode's (UTS 39, confusables.txt, in the package confusable-homoglyphs), the names of characters, and a
short list of letters that writers use for their rough likeness.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from importlib.resources import files
from string import ascii_letters

import numpy as np
import orjson
from numpy.typing import NDArray

from auditkit.kernels import signs
from auditkit.kernels.tokens import IGNORED, MARK, NO_SPACE, WORD
from auditkit.text.unicode import ASSIGNED_END, classes

#: Letters that resemble another one from afar ("faux Cyrillic", a q among small capitals); Unicode lists none of them.
_ROUGH = {
    "в": "b", "и": "n", "я": "r", "ш": "w", "щ": "w", "д": "a", "п": "n", "л": "n", "ч": "y", "ь": "b", "ъ": "b",
    "г": "r", "м": "m", "н": "h", "т": "t", "к": "k", "є": "e", "э": "e", "ж": "x", "ц": "u", "б": "b",
    "ω": "w", "ε": "e", "λ": "a", "χ": "x", "π": "n", "θ": "o", "σ": "o", "ξ": "e", "μ": "u", "η": "n", "β": "b",
    "κ": "k", "τ": "t", "ǫ": "q",
}  # fmt: skip
#: Characters that are a letter by their name, and are no other form of it to Unicode's normalisation.
_NAMED = re.compile(
    r"(?:LATIN LETTER SMALL CAPITAL|NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER"
    r"|REGIONAL INDICATOR SYMBOL LETTER) ([A-Z])"
)
#: The blocks that hold them, as half-open ranges of code points.
_NAMED_BLOCKS = (
    (0x0250, 0x02B0),
    (0x1D00, 0x1DC0),
    (0xA720, 0xA800),
    (0xAB30, 0xAB70),
    (0x1DF00, 0x1E000),
    (0x1F100, 0x1F200),
)
#: Letters of Latin orthographies (ø, ł, ı): they look like others, and are at home.
_AT_HOME = re.compile(r"LATIN (?:SMALL|CAPITAL) LETTER .*(?:WITH|DOTLESS|SHARP)")


@functools.lru_cache(maxsize=1)
def readings_of_letters() -> dict[str, str]:
    """Return character -> the lower-case ASCII letters that it may stand for, the likeliest first."""
    found: dict[str, str] = {}
    for char, letters in [*_listed(), *_named(), *_ROUGH.items()]:
        known = found.get(char, "")
        found[char] = known + "".join(letter for letter in letters if letter not in known)
    for char, letters in list(found.items()):
        upper = char.upper()
        if len(upper) == 1 and not upper.isascii():
            found.setdefault(upper, letters)
    return found


@functools.lru_cache(maxsize=1)
def letters_that_look_like() -> dict[str, dict[str, str]]:
    """Return script -> lower-case ASCII letter -> the letter of that script that it looks like.

    A Cyrillic word may be disguised by Latin letters in it; only Unicode's own pairs count here.
    """
    scripts: dict[str, dict[str, str]] = {"CYRILLIC": {}, "GREEK": {}}
    for char, letters in sorted(_listed()):
        script = unicodedata.name(char, "").split(" ")[0]
        if script in scripts and char == char.lower() and len(letters) == 1:
            scripts[script].setdefault(letters, char)
    return scripts


@functools.lru_cache(maxsize=1)
def point_kinds() -> NDArray[np.uint8]:
    """Return the bits of kernels/signs.py for every code point: uint8 of shape [0x110000]."""
    of = classes()
    kinds = np.zeros(0x110000, np.uint8)
    kinds[(of == WORD)] |= signs.WORD_PART
    kinds[(of == NO_SPACE)] = 0
    kinds[(of == MARK)] |= signs.MARK_POINT
    kinds[(of == IGNORED)] |= signs.HIDDEN
    kinds[[ord(char) for char in ascii_letters]] = signs.ASCII_LETTER
    strict = {char for char, _ in [*_listed(), *_named()]}
    for char in readings_of_letters():
        kinds[ord(char)] |= signs.READABLE | (signs.STRICT if char in strict else 0)
    kinds[_compatible()] |= signs.COMPATIBLE
    kinds.setflags(write=False)
    return kinds


@functools.lru_cache(maxsize=1)
def _listed() -> list[tuple[str, str]]:
    """Return (character, letters) of Unicode's confusables, beyond ASCII and what NFKC undoes."""
    # The package's own module brings urllib's HTTP client with it, which takes longer than all the rest.
    confusables = orjson.loads(files("confusable_homoglyphs").joinpath("confusables.json").read_bytes())
    pairs = []
    for char, targets in confusables.items():
        if len(char) != 1 or char.isascii() or len(targets) != 1 or _AT_HOME.match(unicodedata.name(char, "")):
            continue
        letters = _latin(targets[0]["c"])
        if letters and unicodedata.normalize("NFKC", char) == char and classes()[ord(char)] == WORD:
            # The data maps capital I and small l to one.
            is_capital = unicodedata.category(char) != "Ll" and letters == "l"
            pairs.append((char, "il" if is_capital else letters))
    return pairs


def _latin(target: str) -> str:
    """Return the ASCII letter that `target` is, is a small capital of, or is with marks; "" where it is none."""
    named = _NAMED.fullmatch(unicodedata.name(target, "")) if len(target) == 1 else None
    letter = named.group(1) if named else target[:1]
    is_letter = letter.isascii() and letter.isalpha() and all(map(unicodedata.combining, target[1:]))
    return letter.lower() if is_letter else ""


@functools.lru_cache(maxsize=1)
def _named() -> list[tuple[str, str]]:
    chars = (chr(point) for block in _NAMED_BLOCKS for point in range(*block))
    found = ((char, _NAMED.fullmatch(unicodedata.name(char, ""))) for char in chars)
    return [(char, match.group(1).lower()) for char, match in found if match]


def _compatible() -> list[int]:
    """Return the code points that NFKC makes ASCII letters or digits (full-width, mathematical, circled)."""
    changed = (point for point in range(0x80, ASSIGNED_END) if unicodedata.decomposition(chr(point)))
    forms = ((point, unicodedata.normalize("NFKC", chr(point))) for point in changed)
    return [point for point, form in forms if form.isascii() and form.isalnum()]
