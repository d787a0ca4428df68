"""Rows and their prompts -> what is known of each row by itself: length, damage, script, language, digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from auditkit import tables
from auditkit.text.damage import damage_of
from auditkit.text.languages import languages_of
from auditkit.text.normalise import tokenise
from auditkit.text.scripts import scripts_of
from auditkit.text.spans import wholes

#: In the order in which a row's flags are listed.
FLAGS: tuple[str, ...] = ("empty", "long", "truncated", "mojibake", "replacement")
#: Between the prompts of a row where they are read as one text.
_BETWEEN = "\n"

#: Texts -> tokens that a model makes of each, special tokens included.
CountTokens = Callable[[Sequence[str]], Sequence[int]]


@dataclass(frozen=True)
class Limits:
    """What is too long.

    Attributes:
        long_tokens: rows of more tokens (auditkit's) are `long`.
        max_tokens: rows of more tokens are `truncated` by the model; None asks nothing.
        count_tokens: counts the model's tokens; None takes auditkit's own for them.
    """

    long_tokens: int
    max_tokens: int | None = None
    count_tokens: CountTokens | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """The FLAGS that are looked for."""
        return tuple(flag for flag in FLAGS if flag != "truncated" or self.max_tokens is not None)


def row_facts(rows: pl.DataFrame, texts: pl.DataFrame, limits: Limits) -> pl.DataFrame:
    """Return what each row of a shard tells by itself, in the order of `rows`.

    These are the columns of `rows` and those of tables.INSPECTED, but for the family and the length band.

    Args:
        rows: pool, row, source, `n_tokens` and labels of one source.
        texts: frame tables.TEXTS of their prompts.
        limits: what is too long.
    """
    known = rows.join(_of_prompts(texts), on="row", how="left", maintain_order="left").with_columns(
        pl.col("text").fill_null(""), pl.col("n_texts", "n_characters").fill_null(0)
    )
    text = known["text"]
    script = scripts_of(text)
    known = known.hstack(script).hstack(damage_of(text)).hstack([languages_of(text, script["n_letters"])])
    known = known.with_columns(_model_tokens(text, limits))
    return known.with_columns(_flags(limits)).drop("text", "n_letters", "has_mojibake", "has_replacement")


def _of_prompts(texts: pl.DataFrame) -> pl.DataFrame:
    """Return row, row_id, n_texts, n_characters, digest and `text`, all prompts of the row as one."""
    tables.check(texts, tables.TEXTS, "row_facts")
    tokens = tokenise(texts["text"])
    canonical = pl.Series("canonical", wholes(tokens, np.arange(len(texts))), dtype=pl.String)
    found = texts.with_columns(canonical).group_by("row", maintain_order=True).agg(
        pl.col("row_id").first(),
        pl.len().cast(pl.Int64).alias("n_texts"),
        pl.col("text").str.len_chars().sum().cast(pl.Int64).alias("n_characters"),
        pl.col("text").str.join(_BETWEEN),
        pl.col("canonical").str.join("\0"),
    )  # fmt: skip
    digests = [_digest(text) for text in found["canonical"]]
    return found.with_columns(pl.Series("digest", digests, dtype=pl.String)).drop("canonical")


def _digest(canonical: str) -> str | None:
    """Return the digest of canonical prompts; None where they have no token, for such rows are not equal."""
    is_empty = not canonical.strip("\0")
    return None if is_empty else hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _model_tokens(text: pl.Series, limits: Limits) -> pl.Series:
    counts = None if limits.count_tokens is None else list(limits.count_tokens(text.to_list()))
    return pl.Series("n_model_tokens", counts or [None] * len(text), dtype=pl.Int64)


def _flags(limits: Limits) -> pl.Expr:
    """Return `flags`, a list of the FLAGS that hold."""
    counted = pl.col("n_tokens" if limits.count_tokens is None else "n_model_tokens")
    holds = {
        "empty": pl.col("n_tokens") == 0,
        "long": pl.col("n_tokens") > limits.long_tokens,
        "truncated": pl.lit(False) if limits.max_tokens is None else counted > limits.max_tokens,
        "mojibake": pl.col("has_mojibake"),
        "replacement": pl.col("has_replacement"),
    }
    return pl.concat_list(pl.when(holds[flag]).then(pl.lit(flag)) for flag in FLAGS).list.drop_nulls().alias("flags")
