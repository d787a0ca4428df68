"""The benchmark's side of verification, prepared once: sorted words, common words, templates, shingles."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.kernels.hashing import EMPTY_SEQUENCE, extend_all
from auditkit.text.items import ItemTexts
from auditkit.verify.rules import Rules

#: A word must be in this many texts to count as common, however few texts there are.
MIN_COMMON_TEXTS = 5


@dataclass(frozen=True)
class PreparedItems:
    """What every verification looks up.

    Attributes:
        items: the distinct texts.
        rules: the rules in force.
        sorted_texts: per text its words in alphabetical order (rapidfuzz's token_sort of the canonical text).
        common: hashes of tokens that are common in the benchmarks.
        in_template: per token of all texts, whether it belongs to text that many items share: bool [n_tokens].
    """

    items: ItemTexts
    rules: Rules
    sorted_texts: list[str]
    common: frozenset[int]
    in_template: NDArray[np.bool_]

    def tokens(self, text: int) -> NDArray[np.uint64]:
        """Return the token hashes of one distinct text."""
        tokens = self.items.tokens
        return tokens.hashes[tokens.offsets[text] : tokens.offsets[text + 1]]

    def template_mask(self, text: int) -> NDArray[np.bool_]:
        """Return which tokens of one distinct text belong to a template."""
        tokens = self.items.tokens
        return self.in_template[tokens.offsets[text] : tokens.offsets[text + 1]]


def prepare(items: ItemTexts, rules: Rules) -> PreparedItems:
    """Return the items with all that verification needs of them."""
    sorted_texts = [" ".join(sorted(text.split())) for text in items.canonicals]
    return PreparedItems(items, rules, sorted_texts, _common(items, rules), _template_tokens(items, rules))


def at_least(count: int, share: float, size: int) -> bool:
    """Return whether count / size reaches `share`, by integers: 3 of 5 reaches 0.6."""
    exact = Fraction(str(share))
    return count * exact.denominator >= exact.numerator * size


def shingles(tokens: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Return the distinct hashes of `size` tokens in a row, sorted; of all tokens where there are fewer."""
    size = min(size, len(tokens))
    if size == 0:
        return np.empty(0, np.uint64)
    n = len(tokens) - size + 1
    value = np.full(n, EMPTY_SEQUENCE, np.uint64)
    for i in range(size):
        value = extend_all(value, tokens[i : i + n])
    return np.unique(value)


def shingle_size(n_tokens: int) -> int:
    """Return the shingle size in tokens for an item of `n_tokens`: 3, or 2 and 1 for short ones."""
    return 3 if n_tokens >= 8 else 2 if n_tokens >= 5 else 1


def _common(items: ItemTexts, rules: Rules) -> frozenset[int]:
    tokens = items.tokens
    text = np.repeat(np.arange(len(items)), tokens.lengths)
    spread = pl.DataFrame({"token": tokens.hashes, "text": text}).unique().group_by("token").len()
    share = Fraction(str(rules.near.common_share))
    least = max(MIN_COMMON_TEXTS, -(-share.numerator * len(items) // share.denominator))
    return frozenset(spread.filter(pl.col("len") >= least)["token"].to_list())


def _template_tokens(items: ItemTexts, rules: Rules) -> NDArray[np.bool_]:
    """Return which tokens lie in a gram that many distinct texts of one benchmark share."""
    tokens, rule = items.tokens, rules.templates
    mask = np.zeros(len(tokens.hashes), np.bool_)
    text = np.repeat(np.arange(len(items)), tokens.lengths)
    start = np.flatnonzero(np.arange(len(mask)) + rule.gram <= tokens.offsets[text + 1])
    value = np.full(len(start), EMPTY_SEQUENCE, np.uint64)
    for i in range(rule.gram):
        value = extend_all(value, tokens.hashes[start + i])
    owners = items.parts.select("benchmark", pl.col("text_index").alias("text")).unique()
    sizes = owners.group_by("benchmark").agg(pl.len().alias("size"))
    share = Fraction(str(rule.share))
    grams = pl.DataFrame({"start": start, "gram": value, "text": text[start]}).join(owners, on="text")
    shared = grams.join(sizes, on="benchmark").filter(
        (pl.col("text").n_unique().over("benchmark", "gram") >= rule.min_texts)
        & (
            pl.col("text").n_unique().over("benchmark", "gram").cast(pl.Int64) * share.denominator
            >= pl.col("size").cast(pl.Int64) * share.numerator
        )
    )
    places = shared["start"].unique().to_numpy()
    for i in range(rule.gram):
        mask[places + i] = True
    return mask
