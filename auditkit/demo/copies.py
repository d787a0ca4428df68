"""The kinds of copy that are planted: how a benchmark item looks when it has got into a pool."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from auditkit.demo.parts import Frames

#: Small words that can be exchanged for another without changing what is asked.
EXCHANGED = {"the": "that", "a": "some", "and": "plus", "that": "which", "who": "which", "in": "inside", "of": "from",
             "for": "to", "is": "was", "each": "every", "many": "several", "my": "our"}  # fmt: skip
ZERO_WIDTH_SPACE = "\u200b"


def verbatim(text: str, rng: Random, frames: Frames) -> str:
    """Return the text itself."""
    return text


def case(text: str, rng: Random, frames: Frames) -> str:
    """Return the text in capitals, small letters, or with each word capitalised."""
    return rng.choice([text.upper(), text.lower(), text.title()])


def punctuation(text: str, rng: Random, frames: Frames) -> str:
    """Return the text with other spaces, quotes and end marks."""
    spaced = text.replace(",", " ,").replace("'", "\N{RIGHT SINGLE QUOTATION MARK}").rstrip(".?!")
    return "  " + spaced + rng.choice([" !!", "...", " ?", ""])


def rewrapped(text: str, rng: Random, frames: Frames) -> str:
    """Return the text broken into lines of three words."""
    words = text.split()
    return "\n".join(" ".join(words[i : i + 3]) for i in range(0, len(words), 3))


def wrapped(text: str, rng: Random, frames: Frames) -> str:
    """Return the text inside a chat or jailbreak-like frame."""
    return rng.choice(frames.frames).replace("{}", text, 1)


def embedded(text: str, rng: Random, frames: Frames) -> str:
    """Return the text in the middle of unrelated prose."""
    return rng.choice(frames.prose).replace("{}", text, 1)


def truncated(text: str, rng: Random, frames: Frames) -> str:
    """Return the first three quarters of the words."""
    words = text.split()
    return " ".join(words[: math.ceil(0.75 * len(words))])


def typo(text: str, rng: Random, frames: Frames) -> str:
    """Return the text with two neighbouring inner letters swapped in each of two words."""
    words = text.split()
    spots = {i: _swappable(word) for i, word in enumerate(words) if word.isalpha() and _swappable(word)}
    for i in rng.sample(list(spots), 2):
        at = rng.choice(spots[i])
        words[i] = words[i][:at] + words[i][at + 1] + words[i][at] + words[i][at + 2 :]
    return " ".join(words)


def _swappable(word: str) -> list[int]:
    """Return the places of inner letters that differ from the next inner letter."""
    return [i for i in range(1, len(word) - 2) if word[i] != word[i + 1]]


def exchanged(text: str, rng: Random, frames: Frames) -> str:
    """Return the text with one small word changed for another."""
    words = text.split()
    spots = [i for i, word in enumerate(words) if i and word in EXCHANGED]
    at = rng.choice(spots)
    words[at] = EXCHANGED[words[at]]
    return " ".join(words)


def full_width(text: str, rng: Random, frames: Frames) -> str:
    """Return the text in full-width letters, digits and punctuation."""
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def zero_width(text: str, rng: Random, frames: Frames) -> str:
    """Return the text with invisible zero-width spaces after about a third of its characters."""
    return "".join(char + ZERO_WIDTH_SPACE if rng.random() < 0.3 else char for char in text)


#: Kind -> how it is made. The lexical tiers find every one of them; `rephrased` is left to the paraphrase tier.
LEXICAL_KINDS: dict[str, Callable[[str, Random, Frames], str]] = {
    "verbatim": verbatim,
    "case": case,
    "punctuation": punctuation,
    "rewrapped": rewrapped,
    "wrapped": wrapped,
    "embedded": embedded,
    "truncated": truncated,
    "typo": typo,
    "exchanged": exchanged,
    "full_width": full_width,
    "zero_width": zero_width,
}
REPHRASED = "rephrased"
