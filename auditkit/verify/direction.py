"""Whether a near copy turns a text round: it negates, or says what should be, and the other does not.

"Why gamblers often take loans" and "why gamblers should take loans" are 94 % the same letters. A word of these kinds
that only one side has, and for which the other has no misspelling, makes another text of it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from rapidfuzz import fuzz, process

from auditkit.verify.meaning_words import words

#: Words this alike (rapidfuzz ratio) are one word, misspelt: "not" and "npt" have 66.7.
MISSPELT = 66.0


def direction_differs(row: Sequence[str], item: Sequence[str]) -> bool:
    """Return whether the tokens of one text have a word of a kind that turns it, and those of the other have none."""
    mine, theirs = set(row), set(item)
    return any(_has_alone(kind, mine, theirs) or _has_alone(kind, theirs, mine) for kind in _kinds())


@functools.cache
def _kinds() -> tuple[frozenset[str], ...]:
    return words().negations, words().obligations


def _has_alone(kind: frozenset[str], mine: set[str], theirs: set[str]) -> bool:
    turning = mine & kind
    if not turning or theirs & kind:
        return False
    others = list(theirs - mine)
    return not any(process.extractOne(word, others, scorer=fuzz.ratio, score_cutoff=MISSPELT) for word in turning)
