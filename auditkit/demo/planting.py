"""Which items are planted, as what kind of copy, and the pool rows around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, cycle
from random import Random

from auditkit.demo.copies import LEXICAL_KINDS, REPHRASED
from auditkit.demo.parts import Family, Frames, Item

N_ROWS = 2_000
#: Rows by (harm, block), planted ones included: the policies disagree on 400 of 2,000 rows, 240 of them blocked by
#: house rules only, and 160 that ask for a small harm which the house lets pass.
QUADRANTS: Mapping[tuple[int, int], int] = {(0, 0): 1_100, (0, 1): 240, (1, 0): 160, (1, 1): 500}
ORIGINS = ("crowd", "forum", "helpdesk", "synthetic")
#: Copies come mostly from the two origins nobody has cleaned.
PLANTED_ORIGIN_WEIGHTS = (1, 6, 1, 4)


@dataclass(frozen=True)
class BenchmarkPlan:
    """One invented benchmark, and how much of it is planted.

    Attributes:
        name: file stem.
        parts: stem of its text file.
        label: of all its items; 1 asks for harm.
        suffix: of its file, and so its format.
        n_lexical: items planted as a lexical kind of copy.
        n_rephrased: further items planted in other words.
        n_second: lexical items that get a second copy of another kind.
    """

    name: str
    parts: str
    label: int
    suffix: str
    n_lexical: int = 0
    n_rephrased: int = 0
    n_second: int = 0


#: 88 %, 82 %, 25 % and none leak.
BENCHMARKS: tuple[BenchmarkPlan, ...] = (
    BenchmarkPlan("invented-benign", "benign", 0, ".jsonl", n_lexical=44, n_rephrased=4, n_second=8),
    BenchmarkPlan("invented-harmful", "harmful", 1, ".csv", n_lexical=41, n_rephrased=5, n_second=8),
    BenchmarkPlan("invented-maths", "maths", 0, ".jsonl", n_lexical=10, n_rephrased=6, n_second=4),
    BenchmarkPlan("invented-untouched", "untouched", 0, ".tsv"),
)


@dataclass(frozen=True)
class Plant:
    """A copy: of which item, and of what kind."""

    benchmark: str
    item: int
    kind: str


@dataclass(frozen=True)
class Row:
    """One pool row; `plant` is None for the pool's own prompts."""

    prompt: str
    harm: int
    block: int
    origin: str
    plant: Plant | None = None


def planted_rows(plan: BenchmarkPlan, items: tuple[Item, ...], frames: Frames, rng: Random) -> list[Row]:
    """Return the copies of one benchmark's items. The house lets every other copy of a harmful item pass."""
    rows = []
    for n, (item, kind) in enumerate(_choose(plan, items, rng)):
        part = items[item]
        prompt = part.rephrased if kind == REPHRASED else LEXICAL_KINDS[kind](part.prompt, rng, frames)
        origin = rng.choices(ORIGINS, PLANTED_ORIGIN_WEIGHTS)[0]
        rows.append(Row(prompt, plan.label, plan.label * (n % 2), origin, Plant(plan.name, item, kind)))
    return rows


def _choose(plan: BenchmarkPlan, items: tuple[Item, ...], rng: Random) -> list[tuple[int, str]]:
    """Return (item, kind) pairs: no item both rephrased and copied, no kind twice for one item."""
    with_words = [i for i, item in enumerate(items) if item.rephrased]
    rephrased = rng.sample(with_words, plan.n_rephrased)
    lexical = rng.sample([i for i in range(len(items)) if i not in set(rephrased)], plan.n_lexical)
    kinds = cycle(rng.sample(list(LEXICAL_KINDS), len(LEXICAL_KINDS)))
    first = list(zip(lexical, kinds, strict=False))
    kind_of = dict(first)
    second = []
    for item in lexical[: plan.n_second]:
        second.append((item, next(kind for kind in kinds if kind != kind_of[item])))
    return [*first, *second, *((item, REPHRASED) for item in rephrased)]


def own_rows(families: tuple[Family, ...], n_planted: Mapping[tuple[int, int], int], rng: Random) -> Iterator[Row]:
    """Yield the pool's own prompts, so many that each quadrant of labels gets its stated number of rows."""
    for quadrant, n_rows in QUADRANTS.items():
        members = [family for family in families if (family.harm, family.block) == quadrant]
        missing = n_rows - n_planted.get(quadrant, 0)
        for i, family in enumerate(members):
            n = missing // len(members) + (i < missing % len(members))
            for prompt in family.prompts(n, rng):
                yield Row(prompt, *quadrant, rng.choice(ORIGINS))


def make_rows(
    items: Mapping[str, tuple[Item, ...]], families: tuple[Family, ...], frames: Frames, seed: int
) -> list[Row]:
    """Return the whole pool in its final order; `items` is by benchmark name."""
    rng = Random(f"auditkit demo {seed}")
    planted = list(chain.from_iterable(planted_rows(plan, items[plan.name], frames, rng) for plan in BENCHMARKS))
    n_planted = Counter((row.harm, row.block) for row in planted)
    rows = [*planted, *own_rows(families, n_planted, rng)]
    rng.shuffle(rows)
    return rows
