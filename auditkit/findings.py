"""What an audit found beside its matches: wrappers that recur in the pool, and the pools that came before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PoolTemplate:
    """Text that recurs in the pool around others: where one text that has it stands, and how many have it.

    Attributes:
        kind: "around" (the beginning and the end of a text), "before", "after", or "whole" (a text of its own that
            stands beside others in its record: a system prompt, an instruction).
        n_first, n_last: tokens of a text's beginning and of its end that belong to it.
        n_texts: different texts that have it; `n_rows` all texts that have it, equal ones counted each. Both of the
            texts that were looked at.
        share: n_rows of the texts looked at.
        pool, row, field, turn: the first of these texts.
    """

    kind: str
    n_first: int
    n_last: int
    n_texts: int
    n_rows: int
    share: float
    pool: str
    row: int
    field: str
    turn: int | None


@dataclass(frozen=True)
class PoolTemplates:
    """The templates of a pool, those of most rows first.

    Attributes:
        one_in: one text in so many was looked at (1: all), chosen by a hash of text and row number.
        n_looked_at: texts looked at.
        least: different texts that a template needs, of those looked at.
        n_sure: a template that so many different texts of the pool have is found with probability 0.99 or more.
        longest: tokens at either end of a text that are compared; longer wrappers are cut there.
    """

    one_in: int
    n_looked_at: int
    least: int
    n_sure: int
    longest: int
    found: tuple[PoolTemplate, ...]


@dataclass(frozen=True)
class Link:
    """One pool of a provenance chain, audited against the same benchmarks.

    Attributes:
        name: as the user calls it; "pool" for the audited pool itself.
        n_found: benchmark -> items that its rows are condemned for; `leak_rates` their shares, null for no items.
        n_alone: benchmark -> items that leaked through this pool and through no other of the chain.
    """

    name: str
    pool_digest: str
    n_rows: int
    n_rows_contaminated: int
    n_found: Mapping[str, int]
    leak_rates: Mapping[str, float | None]
    n_alone: Mapping[str, int]


@dataclass(frozen=True)
class Chain:
    """The pools that a model's training goes back to: those before the audited one, and that one last.

    Attributes:
        n_found, leak_rates: benchmark -> items that leaked through at least one link, and their share.
    """

    links: tuple[Link, ...]
    n_found: Mapping[str, int]
    leak_rates: Mapping[str, float | None]
