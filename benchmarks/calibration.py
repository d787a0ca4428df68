"""Do the intervals of `power` hold the true share, and is the estimated false discovery rate honest? Known truth says.

    python benchmarks/calibration.py [--pools 1000] [--data FOLDER] [--round 1] [--out FILE]

Simulated pools: items and rows are drawn from one small language of frames and slots, so that rows meet items by
accident far more often than in real pools; a known number of copies, verbatim and edited, is planted. Real
pools (with --data, the folder of published benchmarks): items of one set, rows of another that does not hold them.

Power: an interval from few planted items is compared with the share over all items, the mean of several draws of their
edits (DRAWS): the noise of one draw would count against the interval. Error rates: for each tier with a match, the
estimate of the audit is compared with the share of its matches that are no copies: not planted, and without the whole
item in the row, which is a copy whoever wrote it. Twins (other numbers or label) and siblings (a weaker match of a row
that is condemned for another item) are left out of both.

Seeds are fixed: the same figures again. Each round has its own. Round 0 was looked at while decoys, the language and
the intervals were designed; the stored figures are of a later one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from machine import machine

from auditkit import AuditReport, AuditSettings, audit, open_benchmarks
from auditkit.evaluate.scoring import wilson
from auditkit.plant.copies import Kind, Material, kinds
from auditkit.run.versions import versions
from auditkit.stories.planted import draw_items, find, plant, share
from auditkit.stories.scan import Scanner
from auditkit.text.normalise import canonical
from auditkit.verify.error_rates import are_siblings, is_twin
from auditkit.verify.rules import default_rules

RESULT = Path(__file__).parent / "results" / "calibration.json"
WHAT = (
    "Power: how often the stated interval holds the share over all items. Errors: how often the estimated false "
    "discovery rate of a tier is at least the true one less 0.02. Per pool and kind, and per pool and tier with a match"
)
#: Kinds of copy that are found neither always nor never.
KINDS = ("words_1", "words_2", "words_20%", "typos_2")
TOLERANCE = 0.02
#: How often every item is edited anew for the true share.
DRAWS = {"simulated": 1, "real": 10}
#: Seeds of a round, and of one draw.
ROUND, DRAW = 1_000_000, 10_000
SMALL_WORDS = (
    "the",
    "a",
    "of",
    "to",
    "in",
    "on",
    "at",
    "for",
    "with",
    "by",
    "how",
    "what",
    "who",
    "is",
    "do",
    "my",
    "and",
)


@dataclass(frozen=True)
class Case:
    """Items, rows, and which row holds a copy of which item."""

    name: str
    items: list[str]
    rows: list[str]
    planted: frozenset[tuple[int, int]]

    def holds(self, row: int, item: int) -> bool:
        """Return whether a row is a copy: planted, or with the whole item in it, whoever wrote it."""
        return (row, item) in self.planted or f" {canonical(self.items[item])} " in f" {canonical(self.rows[row])} "


# ---------------------------------------------------------------- cases


def simulated(seed: int) -> Case:
    """Return a case of a small language; how small, and how much is planted, differs from seed to seed."""
    rng = Random(f"calibration {seed}")
    language = Language.of(rng)
    n_items, n_rows = rng.randrange(80, 240), rng.randrange(300, 1200)
    items = list(dict.fromkeys(language.sentence(rng) for _ in range(n_items)))
    return _with_copies(f"simulated {seed}", items, [language.sentence(rng) for _ in range(n_rows)], rng)


@dataclass(frozen=True)
class Language:
    """Frames of small words with slots, and the words of each kind of slot, frequent ones first."""

    frames: list[list[str]]
    words: dict[str, list[str]]

    @staticmethod
    def of(rng: Random) -> Language:
        """Return a language of 10 to 60 frames of 6 to 14 words, three slots at least, and 20 to 1,280 words a slot."""
        words = {slot: [_syllables(rng) for _ in range(rng.choice([20, 80, 320, 1280]))] for slot in "NVA"}
        frames = [
            rng.sample(["N", "V", "A", *(rng.choice([*"NVA", *SMALL_WORDS[:8]]) for _ in range(n - 3))], n)
            for n in (rng.randrange(6, 14) for _ in range(rng.randrange(10, 60)))
        ]
        return Language(frames, words)

    def sentence(self, rng: Random) -> str:
        """Return a sentence; of a slot's words the nth is drawn as 1 / n is to the others (Zipf)."""
        frame = rng.choice(self.frames)
        return " ".join(self._word(token, rng) for token in frame)

    def _word(self, token: str, rng: Random) -> str:
        words = self.words.get(token)
        if words is None:
            return token
        return rng.choices(words, [1 / (n + 1) for n in range(len(words))])[0]


def _syllables(rng: Random) -> str:
    return "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(rng.randrange(2, 5)))


def _with_copies(name: str, items: list[str], rows: list[str], rng: Random) -> Case:
    """Return the case with up to half of the items planted, verbatim or with a word changed, at the end of the pool."""
    chosen = rng.sample(range(len(items)), rng.randrange(0, len(items) // 2))
    by_name = {kind.name: kind for kind in kinds()}
    words = Material(sorted({word for item in items for word in item.split()}))
    copies = [by_name[rng.choice(["verbatim", "words_1"])].make(items[i], rng, words) or items[i] for i in chosen]
    planted = frozenset((len(rows) + at, item) for at, item in enumerate(chosen))
    return Case(name, items, [*rows, *copies], planted)


def real(data: Path, turn: int) -> Iterator[Case]:
    """Yield the 20 cases of a round of published prompts: items of one set among rows of another."""
    texts = {name: list(dict.fromkeys(_column(data / path, column))) for name, (path, column) in SETS.items()}
    for number, (bench, pool) in enumerate(PAIRS):
        for seed in (2 * turn + 1, 2 * turn + 2):
            rng = Random(f"calibration {number} {seed}")
            items = rng.sample(texts[bench], min(300, len(texts[bench])))
            rows = rng.sample(texts[pool], min(2_000, len(texts[pool])))
            yield _with_copies(f"{bench} in {pool} {seed}", items, rows, rng)


SETS = {
    "gsm8k-test": ("gsm8k/test.jsonl", "question"),
    "gsm8k-train": ("gsm8k/train.jsonl", "question"),
    "hatecheck": ("hatecheck/test_suite_cases.csv", "test_case"),
    "hatemoji": ("hatemoji/HatemojiBuild_train.csv", "text"),
    "xstest": ("xstest/xstest_prompts.csv", "prompt"),
    "harmbench": ("harmbench/harmbench_behaviors_text_all.csv", "Behavior"),
    "jailbreakbench": ("jailbreakbench/benign-behaviors.goals-only.csv", "Goal"),
    "strongreject": ("strongreject/strongreject_dataset.csv", "forbidden_prompt"),
}
PAIRS = (
    ("gsm8k-test", "gsm8k-train"),
    ("hatecheck", "hatemoji"),
    ("hatemoji", "hatecheck"),
    ("xstest", "hatecheck"),
    ("xstest", "gsm8k-train"),
    ("harmbench", "gsm8k-train"),
    ("harmbench", "hatemoji"),
    ("jailbreakbench", "hatemoji"),
    ("strongreject", "hatecheck"),
    ("strongreject", "gsm8k-train"),
)


def _column(path: Path, column: str) -> list[str]:
    frame = pl.read_csv(path, infer_schema_length=None) if path.suffix == ".csv" else pl.read_ndjson(path)
    return frame[column].cast(pl.String).drop_nulls().to_list()


# ---------------------------------------------------------------- measured


def measure(case: Case, seed: int, n_draws: int) -> dict[str, Any]:
    """Return what an audit of the case says of its errors and its power, and the truth of both, from `n_draws`."""
    items, rows = ([{"text": text} for text in texts] for texts in (case.items, case.rows))
    report = audit(rows, {"bench": items}, AuditSettings())
    return {"case": case.name, "errors": list(_errors(report, case)), "power": list(_power(items, case, seed, n_draws))}


def measure_simulated(seed: int) -> dict[str, Any]:
    """Return what `measure` does of the simulated case of this seed."""
    return measure(simulated(seed), seed, DRAWS["simulated"])


def measure_real(data: Path, turn: int) -> list[dict[str, Any]]:
    """Return what `measure` does of the real cases of a round."""
    cases = enumerate(real(data, turn))
    return [measure(case, ROUND * turn + number, DRAWS["real"]) for number, case in cases]


def _errors(report: AuditReport, case: Case) -> Iterator[dict[str, Any]]:
    """Yield estimate and truth of each tier with a match, of condemned and of all matches."""
    assert report.errors is not None
    is_copy = [case.holds(row, item) for row, item in report.matches.select("row", "item").iter_rows()]
    known = report.matches.with_columns(pl.Series("is_copy", is_copy, dtype=pl.Boolean)).filter(
        ~is_twin() & ~are_siblings(report.matches)
    )
    for tier in report.errors.tiers:
        mine = known.filter(pl.col("tier") == tier.tier)
        for what, matches, estimate in (
            ("contaminated", mine.filter(pl.col("verdict") == "contaminated"), tier.fdr),
            ("reported", mine, tier.fdr_reported),
        ):
            if estimate is not None:
                true = float((~matches["is_copy"]).mean())  # type: ignore[arg-type]
                yield {"tier": tier.tier, "of": what, "n": len(matches), "estimate": estimate, "true": true}


def _power(items: list[dict[str, str]], case: Case, seed: int, n_draws: int) -> Iterator[dict[str, Any]]:
    """Yield interval and true share of each kind of copy: 40 items drawn, against all items, edited anew each draw."""
    scanner = Scanner.make(open_benchmarks({"bench": items}), AuditSettings(decoys=0), default_rules(), 0)
    chosen = [kind for kind in kinds() if kind.name in KINDS]
    stated = _shares(scanner, chosen, 40, [seed], case)
    true = _shares(scanner, chosen, len(items), [DRAW * (draw + 1) + seed for draw in range(n_draws)], case)
    for name, column in ((kind.name, column) for kind in chosen for column in ("is_found", "is_reported")):
        mine, truth = (share(plants.filter(pl.col("kind") == name)[column]) for plants in (stated, true))
        if mine.n and truth.n:
            yield {
                "kind": name,
                "of": column,
                "low": mine.low,
                "high": mine.high,
                "n_found": mine.n_found,
                "n": mine.n,
                "share": mine.share,
                "true": truth.share,
            }


def _shares(scanner: Scanner, chosen: Sequence[Kind], n: int, seeds: Sequence[int], case: Case) -> pl.DataFrame:
    sample = pl.Series(Random(seeds[0]).sample(case.rows, min(200, len(case.rows))))
    found = [
        find(plant(chosen, draw_items(scanner.texts, n, seed), sample, {}, seed), scanner, pl.DataFrame(), None).plants
        for seed in seeds
    ]
    return pl.concat(found)


# ---------------------------------------------------------------- summed up


def summary(cases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the shares of intervals that hold the truth and of estimates that are honest, with their own intervals."""
    power = [one for case in cases for one in case["power"]]
    errors = [one for case in cases for one in case["errors"]]
    between = [one for one in power if 0.02 <= one["true"] <= 0.98]
    wrong = [one for one in errors if one["true"] > 0]
    return {
        "n_pools": len(cases),
        "power_intervals_that_hold": _rate([_holds(one) for one in power]),
        "with_plain_wilson_intervals": _rate([_holds(_plain(one)) for one in power]),
        "of_those_with_a_true_share_of_2_to_98_percent": _rate([_holds(one) for one in between]),
        "error_estimates_within_0.02_or_above": _rate([_is_honest(one) for one in errors]),
        **{
            f"of_the_{what}_matches": _rate([_is_honest(one) for one in errors if one["of"] == what])
            for what in ("contaminated", "reported")
        },
        "of_those_with_a_false_match": _rate([_is_honest(one) for one in wrong]),
        "mean_true_rate_where_some_are_false": _mean([one["true"] for one in wrong]),
        "mean_estimate_where_some_are_false": _mean([one["estimate"] for one in wrong]),
    }


def _holds(one: dict[str, Any]) -> bool:
    return bool(one["low"] <= one["true"] <= one["high"])


def _plain(one: dict[str, Any]) -> dict[str, Any]:
    """Return the same with Wilson's own interval."""
    found = wilson(one["n_found"], one["n"])
    return {**one, "low": found.low, "high": found.high}


def _is_honest(one: dict[str, Any]) -> bool:
    return bool(one["estimate"] >= one["true"] - TOLERANCE)


def _rate(outcomes: Sequence[bool]) -> dict[str, Any]:
    found = wilson(sum(outcomes), len(outcomes))
    return {"share": found.value, "low": found.low, "high": found.high, "n": len(outcomes)}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def main() -> int:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pools", type=int, default=1_000)
    parser.add_argument("--data", type=Path, help="folder of published benchmarks; without it no real audits")
    parser.add_argument("--round", type=int, default=1, help="which seeds")
    parser.add_argument("--more", type=int, nargs="*", default=[], help="other rounds of real audits")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    content: dict[str, Any] = {"what": WHAT, "machine": machine(), "versions": versions(has_encoder=False)}
    content |= {"round": arguments.round, "draws": DRAWS}
    first = ROUND * arguments.round
    start = time.perf_counter()
    with ProcessPoolExecutor(arguments.workers, get_context("spawn")) as workers:
        seeds = range(first, first + arguments.pools)
        content["simulated"] = summary(list(workers.map(measure_simulated, seeds, chunksize=20)))
    if arguments.data is not None:
        cases = measure_real(arguments.data, arguments.round)
        content["real"] = {**summary(cases), "cases": cases}
        content["real_of_other_rounds"] = {
            str(turn): summary(measure_real(arguments.data, turn)) for turn in arguments.more
        }
    content["seconds"] = round(time.perf_counter() - start, 1)
    arguments.out.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    content["real"] = {name: value for name, value in content.get("real", {}).items() if name != "cases"}
    print(json.dumps(content, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
