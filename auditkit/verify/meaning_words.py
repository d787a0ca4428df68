"""The words of meaning_words.toml."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Words:
    """Words in lower case. `obligations` are among `directions`; `numbers` gives the digits that a word stands for."""

    negations: frozenset[str]
    obligations: frozenset[str]
    directions: frozenset[str]
    function_words: frozenset[str]
    numbers: dict[str, str]


@functools.cache
def words() -> Words:
    """Return the words that the verifier looks for."""
    given = tomllib.loads(resources.files("auditkit.verify").joinpath("meaning_words.toml").read_text(encoding="utf-8"))
    lists = {
        name: frozenset(given[name].split()) for name in ("negations", "obligations", "directions", "function_words")
    }
    lists["directions"] |= lists["obligations"]
    return Words(
        **lists, numbers={word: digits for digits, named in given["numbers"].items() for word in named.split()}
    )
