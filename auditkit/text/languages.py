"""Texts -> the languages they are likely in, by py3langid (a fork of langid.py, Lui and Baldwin 2012), offline.

A guess, not a fact: related languages are confused, short texts most of all (docs/pool.md says how often). Text whose
language the model is not sure of, and text of few letters, is UNKNOWN.
"""

from __future__ import annotations

import functools
from typing import Any

import polars as pl

UNKNOWN = "unknown"
#: Fewer letters are not looked at.
MIN_LETTERS = 4
#: Least probability that the model gives to a language, normalised over its languages.
MIN_CONFIDENCE = 0.5


@functools.lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def languages_of(texts: pl.Series, n_letters: pl.Series) -> pl.Series:
    """Return the language of each text, an ISO 639 code or UNKNOWN: String series [n].

    Args:
        texts: String series without nulls.
        n_letters: letters of each text: Int64 [n].
    """
    codes = [
        _language(text) if n >= MIN_LETTERS else UNKNOWN for text, n in zip(texts, n_letters.to_list(), strict=True)
    ]
    return pl.Series("language", codes, dtype=pl.String)


def _language(text: str) -> str:
    code, confidence = _identifier().classify(text)
    return str(code) if confidence >= MIN_CONFIDENCE else UNKNOWN
