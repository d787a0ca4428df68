"""The gate of a pipeline: does an audit pass, given shares, an earlier audit, and waivers?

Shares count `contaminated` items only, `fail_on="review"` adds items in review. With a baseline only items count that
it had not found. Waived items do not count, and are named. Counts are compared as integers, never as floats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path

import polars as pl

from auditkit.errors import UsageError, nearest
from auditkit.records import AuditReport
from auditkit.report import as_json, phrases
from auditkit.report.safe import shown
from auditkit.report.waivers import Waiver
from auditkit.report.waivers import load as load_waivers

FAIL_ON = ("contaminated", "review")
_SHARE = re.compile(r"(\d{1,20}\.?\d{0,20}|\.\d{1,20})(e[+-]?\d{1,2})?", re.IGNORECASE | re.ASCII)
_IDENTITY = ["benchmark", "digest"]
_ITEM = ["benchmark", "item", "item_id", "digest"]


@dataclass(frozen=True)
class Baseline:
    """An earlier audit. `items` has benchmark, digest, was_found, was_reported, one row per distinct item."""

    location: str
    items: pl.DataFrame = field(repr=False, compare=False)
    rules_version: str = ""
    folder: Path | None = None


@dataclass(frozen=True)
class GateSettings:
    """Checked arguments of a gate. `shares` maps a benchmark (or None: every other one) to the share it may reach."""

    shares: Mapping[str | None, Fraction]
    fail_on: str = "contaminated"
    baseline: Baseline | None = None
    waivers: tuple[Waiver, ...] = ()


@dataclass(frozen=True)
class GateResult:
    """What the gate says.

    Attributes:
        tripped: whether to exit with 1.
        reasons: one line for each benchmark that tripped it.
        n_counted: items that counted, over all benchmarks; waived ones and those of the baseline are not among them.
        n_waived: items that would have counted, but are waived.
        waived: those items, each with its waiver's reason and expiry date.
        expired: waivers past their date, which no longer count.
        unused: waivers in force that match nothing in this audit.
        notes: what a reader must know of the comparison.
    """

    tripped: bool
    reasons: tuple[str, ...] = ()
    n_counted: int = 0
    n_waived: int = 0
    waived: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def evaluate(
    report: AuditReport,
    *,
    fail_over: Sequence[str] = (),
    fail_on: str = "contaminated",
    baseline: AuditReport | Baseline | Path | str | None = None,
    waivers: Path | str | None = None,
    today: date,
) -> GateResult:
    """Return whether an audit trips the gate, and why. The arguments are those of `prepare`.

    A waiver counts up to and on the day it expires; `today` is the day to compare with.

    Raises:
        UsageError: a share, benchmark name or waiver file that cannot be used.
        InputError: the baseline cannot be read.
    """
    settings = prepare(fail_over=fail_over, fail_on=fail_on, baseline=baseline, waivers=waivers)
    folder = settings.baseline.folder if settings.baseline and isinstance(baseline, Path | str) else None
    if folder and report.folder and folder.resolve() == report.folder.resolve():  # it would never trip
        raise UsageError(f"--baseline {shown(str(folder))} is this audit itself; name the folder of an earlier one")
    return decide(report, settings, today)


def prepare(
    *,
    fail_over: Sequence[str] = (),
    fail_on: str = "contaminated",
    baseline: AuditReport | Baseline | Path | str | None = None,
    waivers: Path | str | None = None,
) -> GateSettings:
    """Return the checked arguments of a gate; call it before a long audit, so that a slip ends at once.

    Args:
        fail_over: "SHARE" for every benchmark, "BENCHMARK=SHARE" for one, which goes before the former. Trips when
            more than that share of the items is found; "0" trips on any.
        fail_on: "contaminated", or "review" to count items in review too. "review" with neither a share nor a
            baseline trips on any.
        baseline: an earlier audit (its folder or report.json). Without a share, any new item trips.
        waivers: a TOML file, see waivers.py.

    Raises:
        UsageError, InputError: as `evaluate`.
    """
    if fail_on not in FAIL_ON:
        raise UsageError(f"--fail-on {shown(fail_on)!r}: expected {' or '.join(FAIL_ON)}{nearest(fail_on, FAIL_ON)}")
    shares = _shares(fail_over)
    if not shares and (baseline is not None or fail_on == "review"):
        shares = {None: Fraction(0)}
    entries = load_waivers(Path(waivers)) if waivers is not None else ()
    return GateSettings(shares, fail_on, _baseline(baseline), entries)


def decide(report: AuditReport, settings: GateSettings, today: date) -> GateResult:
    """Return whether an audit trips a gate of checked arguments.

    Raises:
        UsageError: a benchmark that the report does not have, or a baseline that is this very audit.
    """
    check_names([result.name for result in report.benchmarks], settings)
    live = [waiver for waiver in settings.waivers if waiver.expires >= today]
    expired = [waiver for waiver in settings.waivers if waiver.expires < today]
    items = _counted(report, settings)
    covers = _covers(report, items, live, settings.fail_on)
    waiver_of, used = _waived(covers, live)
    is_waived = pl.Series(
        [key in waiver_of for key in zip(items["benchmark"], items["item"], strict=True)], dtype=pl.Boolean
    )
    is_new = items["is_new"]
    counted, waived = items.filter(is_new & ~is_waived), items.filter(is_new & is_waived)
    reasons = _reasons(report, settings, counted)
    return GateResult(
        tripped=bool(reasons),
        reasons=tuple(reasons),
        n_counted=counted.height,
        n_waived=waived.height,
        waived=tuple(_waived_line(row, waiver_of) for row in waived.iter_rows(named=True)),
        expired=tuple(f"{waiver.described()}: expired, no longer counts" for waiver in expired),
        unused=tuple(waiver.described() for waiver in live if waiver.place not in used),
        notes=tuple(_notes(report, settings)),
    )


# ---------------------------------------------------------------- arguments


def _shares(fail_over: Sequence[str]) -> dict[str | None, Fraction]:
    shares: dict[str | None, Fraction] = {}
    for argument in fail_over:
        name, equals, text = argument.rpartition("=")
        key = name if equals else None
        if equals and not name:
            raise UsageError(
                f"--fail-over {shown(argument)!r}: no benchmark before '='; write BENCHMARK=SHARE or SHARE"
            )
        if key in shares:
            raise UsageError(
                f"--fail-over {shown(argument)!r}: a second share for {shown(name) or 'every benchmark'}; give one"
            )
        shares[key] = _share(text, argument)
    return shares


def _share(text: str, argument: str) -> Fraction:
    share = Fraction(text.strip()) if _SHARE.fullmatch(text.strip()) else None
    if share is None or not 0 <= share <= 1:
        raise UsageError(
            f"--fail-over {shown(argument)!r}: the share is {shown(text)!r}, expected a number in [0, 1] such as 0.01"
        )
    return share


def _baseline(given: AuditReport | Baseline | Path | str | None) -> Baseline | None:
    if given is None or isinstance(given, Baseline):
        return given
    if isinstance(given, AuditReport):
        return Baseline(str(given.folder or "memory"), _known(given.items), given.rules_version, given.folder)
    path = Path(given)
    folder = path.parent if path.name == as_json.REPORT else path
    items, raw = as_json.load_items(folder)
    return Baseline(str(folder), _known(items), str(raw.get("rules_version", "")), folder)


def _known(items: pl.DataFrame) -> pl.DataFrame:
    """Return what an audit knew of each distinct item; items without a digest cannot be known again."""
    known = items.filter(pl.col("digest").is_not_null() & (pl.col("digest") != ""))
    return known.group_by(_IDENTITY, maintain_order=True).agg(
        was_found=pl.col("is_found").any(), was_reported=pl.col("is_reported").any()
    )


def check_names(names: Sequence[str], settings: GateSettings) -> None:
    """Check that every benchmark with a share of its own is among those audited.

    Raises:
        UsageError: one is not.
    """
    for name in settings.shares:
        if name is not None and name not in names:
            raise UsageError(
                f"--fail-over {shown(name)}=...: no such benchmark in this audit{shown(nearest(name, names))} "
                f"(audited: {', '.join(map(shown, names)) or 'none'})"
            )


# ---------------------------------------------------------------- counting


def _counted(report: AuditReport, settings: GateSettings) -> pl.DataFrame:
    """Return the items that the gate looks at, with `is_new`: not in the baseline at this verdict or a stronger."""
    is_counted = pl.col("is_reported") if settings.fail_on == "review" else pl.col("is_found")
    items = report.items.filter(is_counted).select(*_ITEM, "is_found")
    if settings.baseline is None:
        return items.with_columns(is_new=pl.lit(True))
    joined = items.join(settings.baseline.items, on=_IDENTITY, how="left", maintain_order="left")
    was_known = pl.when("is_found").then("was_found").otherwise("was_reported").fill_null(False)
    return joined.with_columns(is_new=~was_known)


def _covers(report: AuditReport, items: pl.DataFrame, waivers: Iterable[Waiver], fail_on: str) -> pl.DataFrame:
    """Return benchmark, item and a column w<place> per waiver: whether it covers this match of the item."""
    verdicts = FAIL_ON if fail_on == "review" else FAIL_ON[:1]
    matches = (
        report.matches.filter(pl.col("verdict").is_in(verdicts)).select("benchmark", "item", "pool", "row").unique()
    )
    pairs = items.select(_ITEM).join(matches, on=["benchmark", "item"], how="left", maintain_order="left")
    return pairs.select("benchmark", "item", *[w.covers().alias(f"w{w.place}") for w in waivers])


def _waived(covers: pl.DataFrame, waivers: Sequence[Waiver]) -> tuple[dict[tuple[str, int], Waiver], set[int]]:
    """Return the items of which every match is waived -> a waiver that does, and the places of waivers with any use."""
    if not waivers:
        return {}, set()
    columns = [f"w{waiver.place}" for waiver in waivers]
    used = {waiver.place for waiver, column in zip(waivers, columns, strict=True) if covers[column].any()}
    every = covers.with_columns(is_waived=pl.any_horizontal(columns)).group_by("benchmark", "item", maintain_order=True)
    fully = every.agg(pl.col("is_waived").all(), pl.col(columns).any()).filter("is_waived")
    return {
        (row["benchmark"], row["item"]): next(w for w in waivers if row[f"w{w.place}"])
        for row in fully.iter_rows(named=True)
    }, used


def _reasons(report: AuditReport, settings: GateSettings, counted: pl.DataFrame) -> list[str]:
    n_by_name = dict(counted.group_by("benchmark").len().iter_rows())
    kind = "contaminated or in review" if settings.fail_on == "review" else "contaminated"
    new = " and new since the baseline" if settings.baseline else ""
    reasons = []
    for result in report.benchmarks:
        share = settings.shares.get(result.name, settings.shares.get(None))
        n = n_by_name.get(result.name, 0)
        if share is not None and n > share * result.n_items:
            reasons.append(
                f"{shown(result.name)}: {phrases.count(n)} of {phrases.counted(result.n_items, 'item')} {kind}{new} "
                f"({phrases.percent(n / result.n_items) if result.n_items else 'undefined'}), "
                + ("none is allowed" if share == 0 else f"over {float(share):g}")
            )
    return reasons


def _waived_line(row: Mapping[str, object], waiver_of: Mapping[tuple[str, int], Waiver]) -> str:
    waiver = waiver_of[str(row["benchmark"]), int(str(row["item"]))]
    return f"{shown(str(row['benchmark']))} item {row['item']}: {waiver.described()}"


def _notes(report: AuditReport, settings: GateSettings) -> Iterable[str]:
    baseline = settings.baseline
    if baseline is None:
        return
    where = f"baseline {shown(baseline.location)}"
    known = set(baseline.items["benchmark"])
    for result in report.benchmarks:
        if result.name not in known:
            yield f"{where} has no benchmark {shown(result.name)}: each of its items found counts as new"
    if baseline.rules_version != report.rules_version:
        yield f"{where} was made with {shown(baseline.rules_version)}, this audit with {shown(report.rules_version)}"
