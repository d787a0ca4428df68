"""Whole families to sides, by size and by stratum: a pure function, seeded, blind to the order of rows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from auditkit.errors import UsageError


def parse_shares(shares: Mapping[str, Any]) -> dict[str, Fraction]:
    """Return side -> exact share. Shares are numbers or texts ("0.8", "4/5"), each above 0, together exactly 1.

    Raises:
        UsageError: another number of sides than two or more, a share that is none, or another sum.
    """
    exact: dict[str, Fraction] = {}
    for side, share in shares.items():
        try:
            exact[side] = Fraction(str(share))
        except (ValueError, ZeroDivisionError):
            raise UsageError(f"share {side} is {share!r}, expected a number above 0 such as 0.8") from None
        if exact[side] <= 0:
            raise UsageError(f"share {side} is {share}, expected a number above 0; leave no side empty")
    total = sum(exact.values())
    if total != 1:
        parts = " + ".join(str(share) for share in shares.values())
        raise UsageError(f"shares {parts} make {float(total):g}, expected exactly 1")
    if len(exact) < 2:
        raise UsageError(f"{len(exact)} side given, expected two or more")
    return exact


def assign(families: Sequence[str], strata: Sequence[str], shares: Mapping[str, Any], seed: int) -> list[str]:
    """Return the side of each row. Rows of one family get one side.

    Families go largest first, those of one size in an order drawn by `seed` and their name, so that the order of rows
    changes nothing. Each goes to that side among those it still fits into where its strata lack the most rows; where
    it fits nowhere, to the side that lacks the most rows. So each side's rows are within the largest family's size of
    its share (within twice that where a side would be left empty and the smallest family of another is given to it).
    Large families therefore stand in the largest side, and the small sides hold mostly single rows.

    Args:
        families: family of each row.
        strata: stratum of each row (a label cell and source, for example).
        shares: side -> share, see `parse_shares`.
        seed: any whole number.

    Raises:
        UsageError: bad shares, or fewer families than sides.
    """
    exact = parse_shares(shares)
    members: dict[str, Counter[str]] = {}
    for family, stratum in zip(families, strata, strict=True):
        members.setdefault(family, Counter())[stratum] += 1
    if len(members) < len(exact):
        largest = max((counts.total() for counts in members.values()), default=0)
        raise UsageError(
            f"{len(families):,} rows are {len(members):,} near-duplicate families (the largest has {largest:,} rows), "
            f"fewer than the {len(exact)} sides; a family cannot be divided"
        )
    order = sorted(members, key=lambda family: (-members[family].total(), _draw(seed, family)))
    sides = [_Side(name, share, len(families), Counter(strata)) for name, share in exact.items()]
    for family in order:
        _choose(sides, members[family]).take(family, members[family])
    for side in sides:
        if not side.families:
            _fill(side, sides, members)
    side_of = {family: side.name for side in sides for family in side.families}
    return [side_of[family] for family in families]


@dataclass
class _Side:
    """A side while it fills. What it lacks is counted in rows times the share's denominator: whole numbers."""

    name: str
    share: Fraction
    n_rows: int
    wanted: Counter[str]
    n_taken: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    families: list[str] = field(default_factory=list)

    @property
    def lacks(self) -> Fraction:
        """Rows still wanted; negative where there are too many."""
        return self.share * self.n_rows - self.n_taken

    def lacks_of(self, strata: Mapping[str, int]) -> Fraction:
        """Rows still wanted of these strata, each weighed by how many rows of it are on offer."""
        zero = Fraction(0)
        return sum((n * (self.share * self.wanted[s] - self.taken[s]) for s, n in strata.items()), zero)

    def take(self, family: str, strata: Counter[str]) -> None:
        self.families.append(family)
        self.n_taken += strata.total()
        self.taken.update(strata)


def _choose(sides: Sequence[_Side], strata: Counter[str]) -> _Side:
    fitting = [side for side in sides if strata.total() <= side.lacks]
    if fitting:
        return max(fitting, key=lambda side: (side.lacks_of(strata), side.lacks))
    return max(sides, key=lambda side: side.lacks)


def _fill(empty: _Side, sides: Sequence[_Side], members: Mapping[str, Counter[str]]) -> None:
    """Give an empty side the smallest family of the side that can spare it best."""
    donor = min((side for side in sides if len(side.families) > 1), key=lambda side: (side.lacks, side.name))
    family = donor.families.pop()
    donor.n_taken -= members[family].total()
    donor.taken.subtract(members[family])
    empty.take(family, members[family])


def _draw(seed: int, family: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{family}".encode("utf-8", "surrogatepass")).digest()
