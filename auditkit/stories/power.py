"""Detection power: copies of the user's own items planted in a sample of their own pool, and what the audit finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import read
from auditkit.errors import MissingExtraError, StaleAuditError, UsageError
from auditkit.estimates import KindPower, Power
from auditkit.plant.copies import RATES, kinds
from auditkit.records import TIERS, AuditReport, Benchmark, Pool
from auditkit.report.as_json import PLANT_FILE, POWER, json_bytes, parquet, plain
from auditkit.report.as_json import load as load_report
from auditkit.report.files import publish
from auditkit.report.write import write_all
from auditkit.stories.decontaminate import again
from auditkit.stories.planted import Found, Planted, draw_items, find, plant, sample_rows, share
from auditkit.stories.power_settings import smallest
from auditkit.stories.scan import Scanner
from auditkit.stories.settings import from_plain

#: Tokens of an item: bands of which the least and the most are in.
BANDS = ((1, 4), (5, 9), (10, 19), (20, 49), (50, None))


@dataclass(frozen=True)
class PowerSettings:
    """How the power is measured.

    Attributes:
        rates: of words substituted: a number of words from 1 on, a share of an item's words below.
        n_plants: items planted in each kind, drawn from all benchmarks.
        n_rows: rows of the pool, drawn from all sources, that the copies are planted among.
        wanted: a power; where a kind of copy misses it, other values of the rules are tried.
        seed: of all that is drawn.
    """

    rates: tuple[float, ...] = RATES
    n_plants: int = 200
    n_rows: int = 2_000
    wanted: float | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        for rate in self.rates:
            if not (0 < rate < 1 or (rate >= 1 and float(rate).is_integer())):  # NaN fails too
                raise UsageError(f"rate is {rate:g}, expected a whole number of words, or a share of them such as 10%")
        for name in ("n_plants", "n_rows"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}, expected a whole number from 1")
        if self.wanted is not None and not 0 < self.wanted <= 1:
            raise UsageError(f"wanted is {self.wanted}, expected a share above 0 and up to 1, for example 0.95")


def power(
    report: AuditReport | str | Path,
    settings: PowerSettings | None = None,
    *,
    pairs: Iterable[tuple[str, str]] = (),
    pool: Any = None,
    benchmarks: Any = None,
) -> Power:
    """Return what share of planted copies the audit finds, and write it beside the audit.

    Copies of each kind (auditkit/plant/copies.py) are planted in a sample of the pool and audited with the audit's own
    settings and rules. Where the report has a folder, power.parquet (a row for each copy), power.json and the report
    with its power are written there.

    Args:
        report: an audit, or the folder it was written to.
        settings: how it is measured.
        pairs: an item's text and the same in other words: planted as the kind `rephrased`.
        pool, benchmarks: the same as were audited; needed only where they were given in memory.

    Raises:
        StaleAuditError: pool or benchmarks have changed since.
        MissingExtraError: the extra `power` is not installed.
        UsageError: the benchmarks have no item that can be planted, or the pairs no text of an item.
    """
    _check_extra()
    report = report if isinstance(report, AuditReport) else load_report(Path(report))
    how, audited = settings or PowerSettings(), from_plain(report.settings, report.rules)
    opened = read.open_benchmarks(again(report, "benchmarks", benchmarks))
    sources = read.open_pool(again(report, "pool", pool), audited.read)
    _check_same(report, sources, opened)
    # The size of the whole pool decides whether paraphrase sieves its rows: copies go through the audit's own sieve.
    scanner = Scanner.make(opened, replace(audited, decoys=0, fdr=None), audited.all_rules(), sources.n_bytes)
    n_rows = {source.name: source.n_rows for source in report.sources}
    sample = sample_rows(sources, n_rows, audited.read, how.n_rows, how.seed)
    planted = _planted(scanner, sample, dict(pairs), how)
    found = find(planted, scanner, report.matches, audited.fdr)
    result = _result(report, planted, found, scanner, how)
    result = replace(result, settings=smallest(planted, found, result, scanner, report.matches, audited.fdr))
    if report.folder is not None:
        _write(report, result, found.plants)
    return result


def _check_extra() -> None:
    try:
        import statsmodels  # noqa: F401
    except ImportError:
        raise MissingExtraError("power, for its intervals,", "power") from None


def _check_same(report: AuditReport, pool: Pool, benchmarks: Sequence[Benchmark]) -> None:
    now = {source.name: source.digest for source in pool.sources}
    now |= {f"benchmark {one.name}": one.source.digest for one in benchmarks}
    then = {source.name: source.digest for source in report.sources}
    then |= {f"benchmark {one.name}": one.digest for one in report.benchmarks}
    for name in sorted(now.keys() | then.keys()):
        if now.get(name) != then.get(name):
            raise StaleAuditError(f"{name} has changed since it was audited; audit it again")


def _planted(scanner: Scanner, sample: pl.Series, rephrased: Mapping[str, str], how: PowerSettings) -> Planted:
    items = draw_items(scanner.texts, how.n_plants, how.seed)
    if not len(items):
        raise UsageError("the benchmarks have no item that any tier can examine, so nothing can be planted")
    planted = plant(kinds(how.rates), items, sample, {}, how.seed)
    return _with_pairs(planted, scanner, rephrased, how) if rephrased else planted


def _with_pairs(planted: Planted, scanner: Scanner, rephrased: Mapping[str, str], how: PowerSettings) -> Planted:
    """Return the copies and, of a few pairs, all of them, whatever items were drawn; pairs of no item are counted."""
    paired = draw_items(scanner.texts, len(scanner.texts), how.seed).filter(pl.col("text").is_in(list(rephrased)))
    if not len(paired):
        raise UsageError("no pair's original is the text of an item; give the items' texts as they are, or no pairs")
    n_unknown = len(rephrased) - paired["text"].n_unique()
    more = plant(kinds((), has_pairs=True)[-1:], paired[: how.n_plants], planted.sample, rephrased, how.seed)
    later = more.plants.with_columns(pl.col("row") + len(planted.plants))
    return Planted(
        pl.concat([planted.plants, later]),
        pl.concat([planted.copies, more.copies]),
        planted.sample,
        {**planted.n_not_made, **dict.fromkeys(more.n_not_made, n_unknown)},
    )


# ---------------------------------------------------------------- shares


def _result(report: AuditReport, planted: Planted, found: Found, scanner: Scanner, how: PowerSettings) -> Power:
    names = {kind.name: kind.what for kind in kinds(how.rates, has_pairs=True)}
    return Power(
        kinds=tuple(
            _kind(name, names[name], found.plants.filter(pl.col("kind") == name), n)
            for name, n in planted.n_not_made.items()
        ),
        n_sample_rows=min(how.n_rows, report.n_rows),
        n_rows=report.n_rows,
        n_plants=how.n_plants,
        seed=how.seed,
        tiers=scanner.tiers,
        wanted=how.wanted,
        settings=(),
    )


def _kind(name: str, what: str, plants: pl.DataFrame, n_not_made: int) -> KindPower:
    tiers = plants.filter("is_found")["tier"]
    return KindPower(
        kind=name,
        what=what,
        contaminated=share(plants["is_found"]),
        reported=share(plants["is_reported"]),
        n_by_tier={tier: int((tiers == tier).sum()) for tier in TIERS if (tiers == tier).any()},
        by_length={
            band: share(plants.filter(is_in)["is_found"]) for band, is_in in _bands() if len(plants.filter(is_in))
        },
        n_not_made=n_not_made,
    )


def _bands() -> list[tuple[str, pl.Expr]]:
    n_tokens = pl.col("n_tokens")
    return [
        (f"{least}+", n_tokens >= least) if most is None else (f"{least}-{most}", n_tokens.is_between(least, most))
        for least, most in BANDS
    ]


# ---------------------------------------------------------------- files


def _write(report: AuditReport, result: Power, plants: pl.DataFrame) -> None:
    """Write power.parquet and power.json, then the report with its power, each whole or not at all."""
    assert report.folder is not None
    body = {"format": "auditkit-power", "format_version": 1, **plain(result)}
    publish(report.folder, {PLANT_FILE: parquet(plants), POWER: json_bytes(body)}, last=POWER)
    write_all(replace(report, power=result), report.folder)
