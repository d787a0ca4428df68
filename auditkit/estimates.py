"""What an audit says of itself: how often its matches are wrong, and what share of copies it would have found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TierErrors:
    """The estimated false discovery rate of one tier (of one encoder, in the paraphrase tier).

    Attributes:
        n_matches, n_contaminated: matches, twins and siblings left out.
        n_twins: matches of a changed copy whose label or numbers are not the item's: outside the estimate.
        n_siblings: weaker matches of rows that are condemned for another item of the benchmark: outside it as well.
        n_decoy_matches, n_decoy_contaminated: the same of the decoys, over all sets.
        fdr: the estimate for all contaminated matches, null without any; `fdr_reported` for all matches.
        least: what `fdr` is where no decoy is condemned: the grain of the estimate.
    """

    tier: str
    encoder: str | None
    n_matches: int
    n_contaminated: int
    n_twins: int
    n_siblings: int
    n_decoy_matches: int
    n_decoy_contaminated: int
    fdr: float | None
    fdr_reported: float | None
    least: float | None


@dataclass(frozen=True)
class ErrorRates:
    """How often matches are wrong, measured on decoys.

    Attributes:
        n_items: items of the benchmarks that have a text to be matched.
        n_decoys, n_sets: decoys over all sets, and sets; `seed` of what is drawn for them.
        n_left_out: items chosen that gave no decoy.
        tiers: strongest first; tiers without a match of an item or a decoy are left out.
        fdr: the rate asked for, null where none was; `n_weakened` contaminated matches that it turned to review.
    """

    n_items: int
    n_decoys: int
    n_sets: int
    seed: int
    n_left_out: int
    tiers: tuple[TierErrors, ...]
    fdr: float | None
    n_weakened: int


@dataclass(frozen=True)
class Share:
    """A share of planted copies with its modified Wilson interval at 95 %; null where n is 0."""

    n_found: int
    n: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class KindPower:
    """What an audit finds of one kind of copy.

    Attributes:
        kind: name of the kind; `what` it is in words ("a copy with two words changed").
        contaminated, reported: share with a contaminated match of the item planted, and with any.
        n_by_tier: tier -> copies by the strongest tier that condemned them.
        by_length: tokens of the item ("5-9") -> share condemned.
        n_not_made: items drawn that have no such copy (too short for it); of `rephrased`, pairs of no item.
    """

    kind: str
    what: str
    contaminated: Share
    reported: Share
    n_by_tier: Mapping[str, int]
    by_length: Mapping[str, Share]
    n_not_made: int


@dataclass(frozen=True)
class Setting:
    """One value of a rule, and what it would bring and cost.

    Attributes:
        rule: dotted name; `value` the value tried, `default` that in force.
        kind: the kind of copy that is wanted; `power` its share reported or condemned.
        n_review_rows: rows of the sample that are no planted copies and would be reported.
    """

    rule: str
    value: float
    default: float
    kind: str
    power: Share
    n_review_rows: int


@dataclass(frozen=True)
class Power:
    """What share of planted copies an audit finds, by kind.

    Attributes:
        kinds: in the order they are planted.
        n_sample_rows, n_rows: rows of the pool that the copies were put among, of how many.
        n_plants, seed: copies wanted of each kind, and the seed of all that is drawn.
        tiers: that ran.
        wanted: the power asked for, null where none was.
        settings: of each kind that misses it, the smallest change of a rule that reaches it (or the best there is).
    """

    kinds: tuple[KindPower, ...]
    n_sample_rows: int
    n_rows: int
    n_plants: int
    seed: int
    tiers: tuple[str, ...]
    wanted: float | None
    settings: tuple[Setting, ...]
