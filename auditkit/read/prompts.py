"""The texts of a row that a guardrail is asked about: its prompts, not the answers beside them."""

from __future__ import annotations

import polars as pl

from auditkit import tables
from auditkit.formats.fields import parse_path
from auditkit.read.columns import words_of
from auditkit.records import ReadSettings

#: Words of a column that holds what came back, or what was set up, rather than what was asked; singular.
_BESIDE = frozenset(
    """
    response completion output answer reply generation continuation target chosen rejected choice option solution
    rationale reasoning explanation thinking thought assistant system
    """.split()  # noqa: SIM905
)


def prompt_texts(texts: pl.DataFrame, settings: ReadSettings) -> pl.DataFrame:
    """Return the texts of frame tables.TEXTS that are prompts, in the same order.

    Of a chat the user's turns, of other columns those that hold no answer ("response", "chosen", "output", ...) and no
    system prompt; of a row that would be left without a text, all. Fields that were asked for are prompts whatever
    they are called, and roles that were asked for are prompts whoever they are.
    """
    tables.check(texts, tables.TEXTS, "prompt_texts")
    if settings.roles:
        return texts
    fields = [] if settings.fields else texts["field"].unique().to_list()
    beside = [field for field in fields if _is_beside(field)]
    is_prompt = (
        pl.when(pl.col("role").is_null()).then(~pl.col("field").is_in(beside)).otherwise(pl.col("role") == "user")
    )
    has_prompt = is_prompt.any().over("pool", "row")
    return texts.filter(is_prompt | ~has_prompt)


def _is_beside(field: str) -> bool:
    """Return whether the last key of a field says that it holds an answer or a system prompt."""
    keys = [part for part in parse_path(field) if isinstance(part, str)]
    words = words_of(keys[-1])
    return bool(words) and (words[-1] in _BESIDE or words[-1].removesuffix("s") in _BESIDE)
