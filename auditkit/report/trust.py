"""What a report says of itself: how often its matches are wrong, and what share of copies would have been found."""

from __future__ import annotations

from collections.abc import Iterator

from auditkit.estimates import ErrorRates, KindPower, Power, Setting, Share, TierErrors
from auditkit.records import AuditReport
from auditkit.report.grids import Grid
from auditkit.report.phrases import count, counted, percent
from auditkit.report.safe import shown

#: An estimate that cannot be smaller than this is called coarse.
COARSE = 0.01
#: The kinds of copy that the power sentence names, where they were planted.
NAMED_KINDS = ("verbatim", "words_2")
NO_DECOYS = "not estimated: the audit had no decoys (--decoys 0), or its benchmarks no item to make one of"


# ---------------------------------------------------------------- error rates


def errors_grid(errors: ErrorRates | None) -> Grid:
    """Return a row for each tier: matches, those of decoys, and the estimated share that is wrong."""
    headers = ("tier", "condemned", "decoys condemned", "estimated false share", "reported", "decoys reported",
               "estimated false share", "possible twins", "siblings")  # fmt: skip
    return Grid(headers, tuple(_errors_row(tier) for tier in errors.tiers) if errors else ())


def _errors_row(tier: TierErrors) -> tuple[str, ...]:
    condemned = (count(tier.n_contaminated), count(tier.n_decoy_contaminated), _at_most(tier.fdr))
    reported = (count(tier.n_matches), count(tier.n_decoy_matches), _at_most(tier.fdr_reported))
    return (_name(tier), *condemned, *reported, count(tier.n_twins), count(tier.n_siblings))


def _at_most(share: float | None) -> str:
    return "no match" if share is None else f"at most {percent(share)}"


def _name(tier: TierErrors) -> str:
    return f"{tier.tier} ({shown(tier.encoder)})" if tier.encoder else tier.tier


def error_lines(report: AuditReport) -> list[str]:
    """Return what is known of the matches that are wrong, for the terminal: a line a tier, and what it rests on."""
    errors = report.errors
    if errors is None:
        return [NO_DECOYS]
    tiers = [
        f"{_name(tier)}: of {counted(tier.n_contaminated, 'condemned match', 'condemned matches')} "
        f"{_at_most(tier.fdr)} wrong (decoys: {count(tier.n_decoy_contaminated)} condemned)"
        for tier in errors.tiers
        if tier.fdr is not None
    ]
    return [*(tiers or ["no condemned match"]), *error_notes(errors)]


def error_notes(errors: ErrorRates) -> list[str]:
    """Return what the estimates rest on, how coarse they are, what they leave out, and what they changed."""
    sets = f" in {counted(errors.n_sets, 'set')}" if errors.n_sets > 1 else ""
    return [
        f"estimated from {counted(errors.n_decoys, 'decoy')}{sets} of {counted(errors.n_items, 'item')}, made of their "
        "words and found in no pool but by accident",
        *_coarse(errors),
        *_twins(errors),
        *_siblings(errors),
        *_left_out(errors),
        *_held(errors),
    ]


def _coarse(errors: ErrorRates) -> Iterator[str]:
    for tier in errors.tiers:
        if tier.least is not None and tier.least > COARSE:
            yield (
                f"{_name(tier)}: coarse, {counted(tier.n_contaminated, 'match', 'matches')} cannot show a share below "
                f"{percent(tier.least)}"
            )


def _twins(errors: ErrorRates) -> Iterator[str]:
    n_twins = sum(tier.n_twins for tier in errors.tiers)
    known = (
        f"{counted(n_twins, 'match', 'matches')} with another label or other numbers than the item" if n_twins else ""
    )
    yield f"twins are outside the estimate{f': {known} counted apart' if known else ' (none was told by its label)'}"


def _siblings(errors: ErrorRates) -> Iterator[str]:
    if n_siblings := sum(tier.n_siblings for tier in errors.tiers):
        yield (
            f"{counted(n_siblings, 'weaker match', 'weaker matches')} of rows that are condemned for another item of "
            "the benchmark counted apart too"
        )


def _left_out(errors: ErrorRates) -> Iterator[str]:
    if errors.n_left_out:
        yield f"{counted(errors.n_left_out, 'item')} had too few words for a decoy"


def _held(errors: ErrorRates) -> Iterator[str]:
    if errors.fdr is not None:
        yield (
            f"--fdr {errors.fdr:g}: {counted(errors.n_weakened, 'match', 'matches')} with a larger q-value turned from "
            "contaminated to review (rule fdr)"
        )


# ---------------------------------------------------------------- power


def interval(share: Share) -> str:
    """Return "99.2 % [98.1, 99.7]", or "none planted"."""
    if share.share is None or share.low is None or share.high is None:
        return "none planted"
    return f"{percent(share.share)} [{share.low * 100:.1f}, {share.high * 100:.1f}]"


def power_sentence(report: AuditReport) -> str:
    """Return what was found, and what share of copies would have been; "" where the power was not measured."""
    power = report.power
    if power is None:
        return ""
    kinds = {kind.kind: kind for kind in power.kinds}
    named = [kinds[name] for name in NAMED_KINDS if name in kinds] or list(power.kinds[:1])
    would = [f"{kind.what} would have been found {interval(kind.contaminated)} of the time" for kind in named]
    n_found, n_items = (sum(getattr(one, name) for one in report.benchmarks) for name in ("n_found", "n_items"))
    found = f"{count(n_found)} of {counted(n_items, 'item')} found" if n_found else "Nothing found"
    return f"{found}, and {', '.join(would)}" if would else found


def power_grid(power: Power | None) -> Grid:
    """Return a row for each kind of copy: share condemned and reported, tiers, and the length that is missed most."""
    headers = ("copy", "planted", "condemned", "reported", "by tier", "least by length (tokens)")
    return Grid(headers, tuple(_power_row(kind) for kind in power.kinds) if power else ())


def _power_row(kind: KindPower) -> tuple[str, ...]:
    tiers = ", ".join(f"{tier} {count(n)}" for tier, n in kind.n_by_tier.items())
    return (
        shown(kind.what),
        count(kind.contaminated.n),
        interval(kind.contaminated),
        interval(kind.reported),
        tiers or "none",
        _weakest(kind),
    )


def _weakest(kind: KindPower) -> str:
    bands = [(share.share, name) for name, share in kind.by_length.items() if share.share is not None]
    return f"{min(bands)[1]}: {percent(min(bands)[0])}" if bands else ""


def power_notes(power: Power) -> list[str]:
    """Return what the shares rest on, and which settings would reach the power wanted."""
    rows = f"{counted(power.n_sample_rows, 'row')} drawn from the pool's {count(power.n_rows)}"
    not_made = [f"{kind.kind} {count(kind.n_not_made)}" for kind in power.kinds if kind.n_not_made]
    return [
        f"up to {counted(power.n_plants, 'item')} planted as each kind among {rows} (seed {power.seed}); tiers "
        f"{', '.join(power.tiers)}; modified Wilson intervals at 95 %",
        *([f"items without such a copy, pairs of no item: {', '.join(not_made)}"] if not_made else []),
        *map(_setting, power.settings),
        *_missed(power),
    ]


def _setting(setting: Setting) -> str:
    return (
        f"{setting.kind}: {setting.rule} = {setting.value:g} (now {setting.default:g}) would report "
        f"{interval(setting.power)}, and {counted(setting.n_review_rows, 'row')} of the sample that no copy was put in"
    )


def _missed(power: Power) -> Iterator[str]:
    if power.wanted is None:
        return
    reached = {setting.kind for setting in power.settings}
    missed = [
        kind.kind for kind in power.kinds if (kind.reported.share or 0) < power.wanted and kind.kind not in reached
    ]
    if missed:
        yield f"no value tried reaches {percent(power.wanted)} for {', '.join(missed)}"
