"""The kinds of copy that the demo plants: how a benchmark item looks when it has got into a pool."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from auditkit.demo.parts import Frames
from auditkit.plant import copies

#: Small words that can be exchanged for another without changing what is asked.
EXCHANGED = {"the": "that", "a": "some", "and": "plus", "that": "which", "who": "which", "in": "inside", "of": "from",
             "for": "to", "is": "was", "each": "every", "many": "several", "my": "our"}  # fmt: skip


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


def typo(text: str, rng: Random, frames: Frames) -> str:
    """Return the text with typos in two words; every item of the demo has two that can have one.

    Raises:
        ValueError: the text has not; this is a defect of the demo's items.
    """
    copy = copies.typos(text, rng)
    if copy is None:
        raise ValueError(f"the demo's item {text!r} has no two words for typos")
    return copy


def exchanged(text: str, rng: Random, frames: Frames) -> str:
    """Return the text with one small word changed for another."""
    words = text.split()
    spots = [i for i, word in enumerate(words) if i and word in EXCHANGED]
    at = rng.choice(spots)
    words[at] = EXCHANGED[words[at]]
    return " ".join(words)


#: Kind -> how it is made. The lexical tiers find every one of them; `rephrased` is left to the paraphrase tier.
LEXICAL_KINDS: dict[str, Callable[[str, Random, Frames], str]] = {
    "verbatim": lambda text, rng, frames: copies.verbatim(text),
    "case": case,
    "punctuation": punctuation,
    "rewrapped": rewrapped,
    "wrapped": lambda text, rng, frames: copies.in_frame(text, rng, frames.frames),
    "embedded": lambda text, rng, frames: copies.in_frame(text, rng, frames.prose),
    "truncated": lambda text, rng, frames: copies.truncated(text),
    "typo": typo,
    "exchanged": exchanged,
    "full_width": lambda text, rng, frames: copies.full_width(text),
    "zero_width": lambda text, rng, frames: copies.zero_width(text, rng),
}
REPHRASED = "rephrased"
