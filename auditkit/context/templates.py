"""Wrappers that recur in a pool: beginnings and ends that many of its different texts share, found in a sample.

A beginning is a node of the prefix tree of the texts where at least `least` different texts meet and no single next
token is shared by half of them: behind it stands what differs, the payload. An end is the same from the other side.
A template is a beginning and an end of the same texts, or one of them where it is long enough by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.context.sample import LONGEST, SAMPLED, unpacked
from auditkit.findings import PoolTemplate, PoolTemplates
from auditkit.tables import check

#: Tokens of a beginning or end that counts beside another one, and of a template.
MIN_END, MIN_TEMPLATE = 3, 8
_TOKEN_BITS = 16

_ADDRESS = ["pool", "row", "field", "turn"]


@dataclass(frozen=True)
class _Edges:
    """For each text the beginning (or end) that it shares: tokens, 0 for none, and a number for each one. Int64 [n]."""

    length: NDArray[np.int64]
    number: NDArray[np.int64]


def find_templates(sampled: pl.DataFrame, halvings: int, least: int) -> PoolTemplates:
    """Return the templates of a pool, those of most rows first.

    Args:
        sampled: frame SAMPLED of all shards, in the order of the pool, with `pool`, the source.
        halvings: as in `observe`.
        least: different texts of the sample that a template needs.
    """
    check(sampled, SAMPLED, "find_templates")
    different = sampled.unique("sequence", keep="first", maintain_order=True)
    owners = [*_wrappers(different, least), *_wholes(sampled, least)]
    found = [_described(kind, texts, sampled) for kind, texts in owners]
    found.sort(key=lambda one: (-one.n_rows, one.pool, one.row, one.field, one.turn or 0))
    return PoolTemplates(
        one_in=2**halvings,
        n_looked_at=len(sampled),
        least=least,
        n_sure=_n_sure(2**halvings, least),
        longest=LONGEST,
        found=tuple(found),
    )


def _wrappers(different: pl.DataFrame, least: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each kind of template with its texts: sequence, n_first, n_last."""
    first, last = (_edges(unpacked(different, end), least) for end in ("first", "last"))
    texts = different.select("sequence", "n_tokens").with_columns(
        pl.Series("n_first", first.length), pl.Series("first", first.number),
        pl.Series("n_last", last.length), pl.Series("last", last.number),
    )  # fmt: skip
    n_first, n_last = pl.col("n_first"), pl.col("n_last")
    has_both = (
        (n_first > 0) & (n_last > 0) & (n_first + n_last >= MIN_TEMPLATE) & (n_first + n_last < pl.col("n_tokens"))
    )
    for kind, keys, where in (
        ("around", ["first", "last"], has_both),
        ("before", ["first"], (n_first >= MIN_TEMPLATE) & (n_first < pl.col("n_tokens"))),
        ("after", ["last"], (n_last >= MIN_TEMPLATE) & (n_last < pl.col("n_tokens"))),
    ):
        shared = texts.filter(where).filter(pl.len().over(keys) >= least)
        texts = texts.join(shared, on="sequence", how="anti")
        absent = {"before": ["n_last"], "after": ["n_first"]}.get(kind, [])
        for group in shared.partition_by(keys, maintain_order=True):
            yield kind, group.with_columns(pl.lit(0, pl.Int64).alias(name) for name in absent)


def _wholes(sampled: pl.DataFrame, least: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield texts that stand beside others of their records, the same in many records: system prompts, instructions."""
    beside = sampled.filter(pl.col("is_beside") & (pl.col("n_tokens") >= MIN_TEMPLATE))
    recurring = beside.filter(pl.len().over("sequence") >= least).unique("sequence", keep="first", maintain_order=True)
    texts = recurring.select("sequence", pl.col("n_tokens").alias("n_first"), pl.lit(0, pl.Int64).alias("n_last"))
    yield from (("whole", text) for text in texts.partition_by("sequence", maintain_order=True))


def _described(kind: str, texts: pl.DataFrame, sampled: pl.DataFrame) -> PoolTemplate:
    rows = sampled.join(texts.select("sequence"), on="sequence", how="semi", maintain_order="left")
    pool, row, field, turn = rows.select(_ADDRESS).row(0)
    n_first, n_last = texts.select("n_first", "n_last").row(0)
    return PoolTemplate(kind, n_first, n_last, len(texts), len(rows), len(rows) / len(sampled), pool, row, field, turn)


def _edges(tokens: NDArray[np.uint16], least: int) -> _Edges:
    """Return the shared beginning of each text: of those on its path the one with most tokens times texts.

    That is about what writing it once would save: a short one that many share gives way to a longer one that nearly as
    many do, and a long one does not take in the payload's first words.

    Args:
        tokens: uint16 of shape [n, LONGEST], zeros behind the end of a text.
        least: texts that share one.
    """
    n = len(tokens)
    best, length, number = np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, -1, np.int64)
    group, alive, first_number = np.zeros(n, np.int64), np.arange(n), 0
    for depth in range(LONGEST + 1):
        here = group[alive]
        size = np.bincount(here)
        token = tokens[alive, depth].astype(np.int64) if depth < LONGEST else np.zeros(len(alive), np.int64)
        child, alike = _counted(here << _TOKEN_BITS | token)
        if depth >= MIN_END:
            is_end = _is_split(here, size, alike[child]) | (depth == LONGEST)
            at = alive[is_end & (depth * size[here] >= best[alive])]
            best[at], length[at], number[at] = depth * size[group[at]], depth, first_number + group[at]
        first_number += len(size)
        stays = (alike[child] >= least) & (token > 0)
        alive = alive[stays]
        group[alive] = child[stays]
    return _Edges(length, number)


def _counted(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each key its number among the different ones, and how often each of these stands there."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return inverse, counts


def _is_split(group: NDArray[np.int64], size: NDArray[np.int64], n_alike: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether no token goes on from a text's group in half of its texts: bool [n].

    Args:
        group: of each text; `size` of each group.
        n_alike: texts of the group that go on as this one does.
    """
    largest = np.zeros(len(size), np.int64)
    np.maximum.at(largest, group, n_alike)
    is_split: NDArray[np.bool_] = 2 * largest < size
    return is_split[group]


def _n_sure(one_in: int, least: int) -> int:
    """Return of how many texts at least `least` are taken with probability 0.99, one in `one_in` being taken.

    By the Poisson distribution, whose lower tail is the heavier one.
    """
    if one_in == 1:
        return least
    mean = float(least)
    while _poisson_below(least, mean) > 0.01:
        mean += 0.5
    return math.ceil(mean * one_in)


def _poisson_below(k: int, mean: float) -> float:
    """Return P(X < k) of a Poisson variable."""
    return math.fsum(math.exp(i * math.log(mean) - mean - math.lgamma(i + 1)) for i in range(k))
