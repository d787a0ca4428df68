"""Which rows look disguised, and how: a few counts a row, in one pass over its bytes and one over its tokens.

The limits are low: a sign only makes a row be read again, and what it then says has to match an item. A row without a
sign costs about a nanosecond a byte.
"""

from __future__ import annotations

import functools
from string import ascii_letters, digits

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.kernels import signs as kernels
from auditkit.text.normalise import Tokens
from auditkit.text.strings import string_buffers
from auditkit.text.views.alphabet import point_kinds
from auditkit.text.views.vocabulary import Vocabulary

#: Characters that leet writes letters with; digits beside these.
LEET_SIGNS = "@$!|"
#: Characters that begin an escape or a tag; those of markup and of a chat's markers.
ESCAPE_SIGNS = "%&\\<"
WRAPPER_SIGNS = "*`~#<>[:"
EMPHASIS_SIGNS = "*`~"

#: Leet signs beside letters: at least so many, and one in so many bytes or enough of them for an item.
MIN_LEET, LEET_BYTES, MANY_LEET = 2, 40, 6
#: Tokens of one letter in a row, hexadecimal bytes in a row, rot13 words beyond others.
MIN_LETTERS, MIN_PAIRS, MIN_FOREIGN = 6, 6, 3
#: Escapes and tags: one alone is an ampersand or a share, and no view reads it.
MIN_ESCAPES = 2
#: Marks of emphasis behind letters: two a word, where they stand within words.
MIN_EMPHASIS = 4
#: Words of mixed scripts; words of look-alikes only, and their share of a row's words of other scripts.
MIN_MIXED, MIN_WHOLE, WHOLE_SHARE = 1, 2, 0.5
#: Marks on ASCII letters; other forms of ASCII letters, and hidden characters behind them.
MIN_MARKS, MIN_FORMS = 3, 4
#: Longer rows are not looked at for wrappers: items inside them are found without.
MAX_WRAPPED_TOKENS = 48


@functools.lru_cache(maxsize=1)
def byte_kinds() -> NDArray[np.uint8]:
    """Return the bits of kernels/signs.py for every byte: uint8 [256]."""
    kinds = np.zeros(256, np.uint8)
    kinds[[ord(char) for char in ascii_letters]] |= kernels.LETTER
    kinds[[ord(char) for char in digits + LEET_SIGNS]] |= kernels.LEET
    kinds[[ord(char) for char in digits]] |= kernels.DIGIT
    kinds[[ord(char) for char in EMPHASIS_SIGNS]] |= kernels.EMPHASIS
    kinds[[ord(char) for char in ESCAPE_SIGNS]] |= kernels.ESCAPE
    kinds[[ord(char) for char in WRAPPER_SIGNS]] |= kernels.WRAPPER
    kinds[128:] |= kernels.HIGH
    kinds.setflags(write=False)
    return kinds


def suspects(texts: pl.Series, tokens: Tokens, vocabulary: Vocabulary) -> dict[str, NDArray[np.bool_]]:
    """Return sign -> which of n texts show it: bool [n].

    The signs are those that the views of text/views/catalogue.py name.
    """
    data, offsets = string_buffers(texts)
    of_bytes = kernels.count_bytes(data, offsets, byte_kinds())
    places = (tokens.text, tokens.text_offsets, tokens.starts, tokens.ends, tokens.offsets)
    of_tokens = kernels.count_tokens(*places, tokens.hashes, vocabulary.rot13)
    runs = np.zeros((len(tokens), 2), np.int64)
    at = np.flatnonzero((of_tokens[:, kernels.N_ONE] >= MIN_LETTERS) | (of_tokens[:, kernels.N_PAIRS] >= MIN_PAIRS))
    runs[at] = kernels.longest_runs(*places, at)
    leet = of_bytes[:, kernels.N_LEET]
    is_leet = (leet >= MIN_LEET) & ((leet >= MANY_LEET) | (leet * LEET_BYTES >= np.diff(offsets)))
    return {
        "leet": is_leet,
        "spaced": runs[:, kernels.LETTER_RUN] >= MIN_LETTERS,
        "encoded": of_tokens[:, kernels.LONGEST] > 0,
        "hex": (runs[:, kernels.PAIR_RUN] >= MIN_PAIRS) | (of_tokens[:, kernels.LONGEST] > 0),
        "rot13": of_tokens[:, kernels.FOREIGN_RUN] >= MIN_FOREIGN,
        "escaped": of_bytes[:, kernels.N_ESCAPES] >= MIN_ESCAPES,
        "emphasis": of_bytes[:, kernels.N_EMPHASIS] >= MIN_EMPHASIS,
        "wrapped": (tokens.lengths <= MAX_WRAPPED_TOKENS) & (of_bytes[:, kernels.SEEN] & kernels.WRAPPER != 0),
        **_beyond_ascii(data, offsets, np.flatnonzero(of_bytes[:, kernels.SEEN] & kernels.HIGH)),
    }


def _beyond_ascii(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], rows: NDArray[np.int64]
) -> dict[str, NDArray[np.bool_]]:
    """Return the signs of characters beyond ASCII, which only the texts `rows` have."""
    counts = np.zeros((len(offsets) - 1, 6), np.int32)
    counts[rows] = kernels.count_points(data, offsets, rows, point_kinds())
    whole = counts[:, kernels.N_WHOLE]
    is_whole = (whole >= MIN_WHOLE) & (whole >= WHOLE_SHARE * counts[:, kernels.N_FOREIGN])
    return {
        "lookalike": (counts[:, kernels.N_MIXED] >= MIN_MIXED) | is_whole,
        "marks": counts[:, kernels.N_MARKS] >= MIN_MARKS,
        "forms": (counts[:, kernels.N_COMPATIBLE] >= MIN_FORMS) | (counts[:, kernels.N_HIDDEN] > 0),
    }
