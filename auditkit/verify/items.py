"""The benchmark's side of verification, prepared once: sizes, common words, templates, numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend_all
from auditkit.text.items import ItemTexts
from auditkit.text.normalise import Tokens
from auditkit.text.spans import n_characters, stretches
from auditkit.verify.rules import Rules

#: A word must be in this many texts to count as common, however few texts there are.
MIN_COMMON_TEXTS = 5


@dataclass(frozen=True)
class PreparedItems:
    """What every verification looks up; nothing of it changes, so threads share it.

    Attributes:
        items: the distinct texts.
        rules: the rules in force.
        common: hashes of tokens that are common in the benchmarks.
        in_template: per token of all texts, whether it belongs to text that many items share: bool [n_tokens].
        is_number: per token of all texts, whether it has a digit of any script: bool [n_tokens].
        has_template, has_number: per text, whether any of its tokens is such: bool [m].
        n_characters: characters of each canonical text: int64 [m].
    """

    items: ItemTexts
    rules: Rules
    common: frozenset[int]
    in_template: NDArray[np.bool_]
    is_number: NDArray[np.bool_]
    has_template: NDArray[np.bool_]
    has_number: NDArray[np.bool_]
    n_characters: NDArray[np.int64]

    def tokens(self, text: int) -> NDArray[np.uint64]:
        """Return the token hashes of one distinct text."""
        tokens = self.items.tokens
        return tokens.hashes[tokens.offsets[text] : tokens.offsets[text + 1]]

    def template_mask(self, text: int) -> NDArray[np.bool_]:
        """Return which tokens of one distinct text belong to a template."""
        tokens = self.items.tokens
        return self.in_template[tokens.offsets[text] : tokens.offsets[text + 1]]

    def number_mask(self, text: int) -> NDArray[np.bool_]:
        """Return which tokens of one distinct text have a digit."""
        tokens = self.items.tokens
        return self.is_number[tokens.offsets[text] : tokens.offsets[text + 1]]


def prepare(items: ItemTexts, rules: Rules) -> PreparedItems:
    """Return the items with all that verification needs of them."""
    in_template, is_number = template_tokens(items, rules), _numbers(items.tokens)
    return PreparedItems(
        items=items,
        rules=rules,
        common=_common(items, rules),
        in_template=in_template,
        is_number=is_number,
        has_template=_any_token(items.tokens, in_template),
        has_number=_any_token(items.tokens, is_number),
        n_characters=n_characters(items.tokens),
    )


@cache
def fraction(share: float) -> Fraction:
    """Return a share as it is written: 0.6 is 3 of 5."""
    return Fraction(str(share))


def at_least(count: int, share: float, size: int) -> bool:
    """Return whether count / size reaches `share`, by integers: 3 of 5 reaches 0.6."""
    exact = fraction(share)
    return count * exact.denominator >= exact.numerator * size


def _common(items: ItemTexts, rules: Rules) -> frozenset[int]:
    tokens, share = items.tokens, fraction(rules.near.common_share)
    least = max(MIN_COMMON_TEXTS, -(-share.numerator * items.n_own // share.denominator))
    places = pl.DataFrame({"token": tokens.hashes, "text": np.repeat(np.arange(len(items)), tokens.lengths)})
    places = places.filter(pl.col("text") < items.n_own)
    spread = _recurring(places, "token", least).unique().group_by("token").len()
    return frozenset(spread.filter(pl.col("len") >= least)["token"].to_list())


def _recurring(places: pl.DataFrame, what: str, least: int) -> pl.DataFrame:
    """Return the places of what stands in at least so many places, and so perhaps in as many texts: most does not."""
    return places.filter(pl.len().over(what) >= least)


def _any_token(tokens: Tokens, where: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return per text whether `where` holds for any of its tokens: bool [m]."""
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(where)])
    result: NDArray[np.bool_] = before[tokens.offsets[1:]] > before[tokens.offsets[:-1]]
    return result


def _numbers(tokens: Tokens) -> NDArray[np.bool_]:
    """Return which tokens have a digit: bool [n_tokens]."""
    starts = np.repeat(tokens.text_offsets[:-1], tokens.lengths) + tokens.starts
    if len(starts) == 0:
        return np.zeros(0, np.bool_)
    # From one token's start to the next there is at most a space besides the token.
    has_digit = np.logical_or.reduceat((tokens.text >= ord("0")) & (tokens.text <= ord("9")), starts)
    beyond_ascii = np.flatnonzero(np.logical_or.reduceat(tokens.text >= 0x80, starts))
    _, first, inverse = np.unique(tokens.hashes[beyond_ascii], return_index=True, return_inverse=True)
    token = beyond_ascii[first]
    text = np.searchsorted(tokens.offsets, token, side="right") - 1
    words = stretches(tokens, text, token - tokens.offsets[text], token - tokens.offsets[text] + 1)
    has_digit[beyond_ascii] = np.array([any(map(str.isdigit, word)) for word in words], np.bool_)[inverse]
    return has_digit


def template_tokens(items: ItemTexts, rules: Rules) -> NDArray[np.bool_]:
    """Return which tokens lie in a gram that many distinct texts of one benchmark share; decoys do not count.

    Bool of shape [n_tokens].
    """
    tokens, rule = items.tokens, rules.templates
    mask = np.zeros(len(tokens.hashes), np.bool_)
    text = np.repeat(np.arange(len(items)), tokens.lengths)
    start = np.flatnonzero(np.arange(len(mask)) + rule.gram <= tokens.offsets[text + 1])
    value = np.full(len(start), EMPTY_SEQUENCE, np.uint64)
    for i in range(rule.gram):
        value = extend_all(value, tokens.hashes[start + i])
    owners = items.parts.select("benchmark", pl.col("text_index").alias("text")).unique()
    is_own = pl.col("text") < items.n_own
    sizes = owners.filter(is_own).group_by("benchmark").agg(pl.len().alias("size"))
    share = fraction(rule.share)
    places = pl.DataFrame({"start": start, "gram": value, "text": text[start]})
    grams = _recurring(places, "gram", rule.min_texts).join(owners, on="text")
    shared = (
        grams.filter(is_own)
        .join(sizes, on="benchmark")
        .filter(
            (pl.col("text").n_unique().over("benchmark", "gram") >= rule.min_texts)
            & (
                pl.col("text").n_unique().over("benchmark", "gram").cast(pl.Int64) * share.denominator
                >= pl.col("size").cast(pl.Int64) * share.numerator
            )
        )
    )
    starts = grams.join(shared, on=["benchmark", "gram"], how="semi")["start"].unique().to_numpy()
    for i in range(rule.gram):
        mask[starts + i] = True
    return mask
