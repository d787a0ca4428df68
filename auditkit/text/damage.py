"""Texts -> whether decoding went wrong somewhere before they were read."""

from __future__ import annotations

import polars as pl

#: What a decoder leaves in place of bytes that are no text.
REPLACEMENT = "\ufffd"


def damage_of(texts: pl.Series) -> pl.DataFrame:
    """Return `has_mojibake` and `has_replacement` of a String series without nulls: Boolean [n].

    Mojibake is UTF-8 that was decoded as something else ("Ã©" for "é"), found by the heuristic of ftfy.badness:
    sequences of characters that writers hardly use and such decoding makes. Replacement characters are what it lost.
    """
    from ftfy.badness import is_bad

    # The heuristic's sequences all hold a character beyond ASCII.
    is_ascii = texts.str.len_bytes() == texts.str.len_chars()
    bad = [not plain and is_bad(text) for plain, text in zip(is_ascii, texts, strict=True)]
    return pl.DataFrame(
        {
            "has_mojibake": pl.Series(bad, dtype=pl.Boolean),
            "has_replacement": texts.str.contains(REPLACEMENT, literal=True),
        }
    )
