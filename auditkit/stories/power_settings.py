"""The smallest settings that reach a wanted power, and what they cost: rules tried one at a time over a stated grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from auditkit.estimates import Power, Setting
from auditkit.stories.planted import Found, Planted, find, share
from auditkit.stories.scan import Scanner
from auditkit.verify.items import prepare
from auditkit.verify.rules import rules_of

#: What is tried where a kind misses the power wanted: values beside the default, the nearest first.
GRID: Mapping[str, Sequence[float]] = {
    "near.review_ratio": (0.78, 0.74, 0.7, 0.66, 0.62),
    "contained.review_ratio": (0.82, 0.78, 0.74, 0.7),
    "contained.review_part_tokens": (0.35, 0.3, 0.25, 0.2),
    "near.short_ratio": (0.85, 0.8, 0.75),
}
#: Tried as well where the paraphrase tier ran.
CLOSE_GRID: Mapping[str, Sequence[float]] = {
    "paraphrase.minilm": (0.75, 0.7, 0.65),
    "paraphrase.multilingual": (0.91, 0.89, 0.87),
    "paraphrase.other": (0.75, 0.7, 0.65),
}


def smallest(
    planted: Planted, found: Found, result: Power, scanner: Scanner, audited: pl.DataFrame, fdr: float | None
) -> tuple[Setting, ...]:
    """Return, for each kind reported less than is wanted, the smallest change of each rule that reaches it.

    Args:
        planted: copies and the sample they stand among.
        found: what the rules in force find of them; `result` the shares.
        scanner: with the rules in force; its indexes serve every rule that is tried.
        audited: the matches of the audit, and `fdr` of its settings: see planted.find.
    """
    wanted = result.wanted
    if wanted is None:
        return ()
    missed = {kind.kind for kind in result.kinds if (kind.reported.share or 0.0) < wanted}
    tried = (
        one for rule in _grid(scanner) for one in _tried(*rule, missed, wanted, planted, found, scanner, audited, fdr)
    )
    return tuple(sorted(tried, key=lambda setting: (setting.kind, setting.n_review_rows, setting.rule)))


def _tried(
    rule: str,
    default: float,
    values: Sequence[float],
    missed: set[str],
    wanted: float,
    planted: Planted,
    found: Found,
    scanner: Scanner,
    audited: pl.DataFrame,
    fdr: float | None,
) -> Iterator[Setting]:
    """Yield the first value of one rule that reaches the power wanted, for each kind that some value helps."""
    left = set(missed)
    for value in values if left else ():
        now = find(planted, _with_rule(scanner, rule, value), audited, fdr)
        n_more = now.n_sample_rows - found.n_sample_rows
        for kind in sorted(left):
            reached = share(now.plants.filter(pl.col("kind") == kind)["is_reported"])
            if (reached.share or 0.0) >= wanted:
                left.discard(kind)
                yield Setting(rule, value, default, kind, reached, n_more)
        if not left:
            return


def _grid(scanner: Scanner) -> Iterator[tuple[str, float, list[float]]]:
    """Yield rule, value in force, and the values below it to try, of the tiers that ran."""
    rules = scanner.prepared.rules.as_dict()
    for rule, values in {**GRID, **CLOSE_GRID}.items():
        section, name = rule.split(".")
        has_run = name in scanner.paraphrase if section == "paraphrase" else section in scanner.tiers
        if has_run:
            now = rules[section][name]
            yield rule, now, [value for value in values if value < now]


def _with_rule(scanner: Scanner, rule: str, value: float) -> Scanner:
    """Return the scanner with another value of one rule of verification; the indexes stay."""
    section, name = rule.split(".")
    values = scanner.prepared.rules.as_dict()
    rules = rules_of(values | {section: values[section] | {name: value}}, rule)
    close = {
        encoder: replace(index, threshold=rules.paraphrase.threshold(encoder))
        for encoder, index in scanner.paraphrase.items()
    }
    return replace(scanner, prepared=prepare(scanner.texts, rules), paraphrase=close)
