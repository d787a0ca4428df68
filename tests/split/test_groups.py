"""assign never divides a family, keeps to the shares, is blind to the order of rows, and knows its seed."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.errors import UsageError
from auditkit.split.groups import assign, parse_shares

SHARES = {"train": "0.8", "dev": "0.1", "test": "0.1"}
shares = st.lists(st.integers(1, 9), min_size=2, max_size=4).map(
    lambda parts: {f"side{i}": Fraction(part, sum(parts)) for i, part in enumerate(parts)}
)
rows = st.lists(st.tuples(st.integers(0, 12).map(str), st.sampled_from("xyz")), max_size=60)


def counted(sides: list[str]) -> Counter[str]:
    return Counter(sides)


@given(rows, shares, st.integers())
def test_families_are_whole_and_sides_are_within_the_largest_of_their_share(
    rows: list[tuple[str, str]], shares: dict[str, Fraction], seed: int
) -> None:
    families, strata = [family for family, _ in rows], [stratum for _, stratum in rows]
    if len(set(families)) < len(shares):
        with pytest.raises(UsageError, match="fewer than the"):
            assign(families, strata, shares, seed)
        return
    sides = assign(families, strata, shares, seed)
    assert len({*zip(families, sides, strict=True)}) == len(set(families))
    n, largest = counted(sides), max(Counter(families).values())
    assert set(n) == set(shares)
    # A side that was given a family because it would be empty has just that one; another side lacks it then.
    is_rescued = any(len({f for f, s in zip(families, sides, strict=True) if s == side}) == 1 for side in shares)
    bound = 2 * largest if is_rescued else largest
    assert all(abs(n[side] - share * len(rows)) <= bound for side, share in shares.items())


@given(rows, st.integers(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(rows: list[tuple[str, str]], seed: int, rng: random.Random) -> None:
    if len({family for family, _ in rows}) < 3:
        return
    before = assign(*map(list, zip(*rows, strict=True)), SHARES, seed)
    at = list(range(len(rows)))
    rng.shuffle(at)
    after = assign([rows[i][0] for i in at], [rows[i][1] for i in at], SHARES, seed)
    assert after == [before[i] for i in at]
    assert assign(*map(list, zip(*rows, strict=True)), SHARES, seed) == before


def test_single_rows_keep_to_the_shares_in_every_stratum() -> None:
    families = [str(i) for i in range(1000)]
    strata = ["rare" if i % 50 == 0 else "usual" for i in range(1000)]
    sides = assign(families, strata, SHARES, 3)
    assert counted(sides) == {"train": 800, "dev": 100, "test": 100}
    assert counted([s for s, t in zip(sides, strata, strict=True) if t == "rare"]) == {"train": 16, "dev": 2, "test": 2}


def test_another_seed_draws_other_rows() -> None:
    families, strata = [str(i) for i in range(100)], ["x"] * 100
    assert assign(families, strata, SHARES, 1) != assign(families, strata, SHARES, 2)


def test_large_families_stand_in_the_largest_side() -> None:
    families = ["big"] * 50 + [str(i) for i in range(50)]
    assert set(assign(families, [""] * 100, SHARES, 0)[:50]) == {"train"}


def test_three_rows_give_each_of_three_sides_one() -> None:
    assert sorted(assign(["a", "b", "c"], ["", "", ""], SHARES, 0)) == ["dev", "test", "train"]


def test_a_giant_family_leaves_the_rest_to_the_other_sides() -> None:
    sides = assign(["giant"] * 98 + ["a", "b"], ["x"] * 100, SHARES, 0)
    assert (set(sides[:98]), set(sides[98:])) == ({"train"}, {"dev", "test"})


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"train": "0.8", "dev": "0.1", "test": "0.2"}, "0.8 + 0.1 + 0.2 make 1.1, expected exactly 1"),
        ({"train": 0.8, "dev": 0.1}, "make 0.9"),
        ({"train": "nan", "dev": "0.5"}, "share train is 'nan', expected a number above 0"),
        ({"train": float("nan"), "dev": 0.5}, "share train is nan"),
        ({"train": "inf", "dev": "0.5"}, "share train is 'inf'"),
        ({"train": "most", "dev": "0.5"}, "share train is 'most'"),
        ({"train": "1/0", "dev": "0.5"}, "share train is '1/0'"),
        ({"train": "1", "dev": "0"}, "share dev is 0, expected a number above 0"),
        ({"train": "1.2", "dev": "-0.2"}, "share dev is -0.2"),
        ({"train": 1}, "1 side given, expected two or more"),
        ({}, "make 0"),
    ],
)
def test_wrong_shares_are_named(bad: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_shares(bad)
    assert says in str(error.value)


def test_shares_add_up_in_whole_numbers() -> None:
    assert sum(parse_shares({"a": 0.7, "b": 0.2, "c": 0.1}).values()) == 1
    assert sum(parse_shares({"a": "1/3", "b": "1/3", "c": "1/3"}).values()) == 1


def test_no_row_is_fewer_families_than_sides() -> None:
    with pytest.raises(UsageError, match="0 rows are 0 near-duplicate families"):
        assign([], [], SHARES, 0)
