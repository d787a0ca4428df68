"""What was seen of a pool -> the record of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from auditkit.families import KINDS
from auditkit.inspection import Counts, Limits
from auditkit.records import TIERS, AuditReport, Pool
from auditkit.report.inspection import Cells, ConflictCount, FamilyCounts, InspectedSource, Inspection
from auditkit.report.phrases import counted, percent
from auditkit.run.versions import INSPECTION_PACKAGES, versions
from auditkit.stories.inspect_families import Kin
from auditkit.stories.inspect_rows import Seen
from auditkit.stories.inspect_settings import InspectSettings, as_plain
from auditkit.stories.labels import LENGTHS, agreement_of, agreements
from auditkit.stories.pool_rows import CELLS, unmapped
from auditkit.text.normalise import describe

#: How many of the largest families the report names.
_N_LARGEST = 10
#: A family above this share of the rows is noted.
_LARGE_SHARE = 0.1


def result_of(
    folder: Path,
    pool: Pool,
    settings: InspectSettings,
    limits: Limits,
    seen: Seen,
    kin: Kin | None,
    audited: AuditReport | None,
    pairs: pl.DataFrame,
) -> Inspection:
    """Return the record of an inspection; `pairs` is frame tables.CONFLICTS."""
    counts, rules = seen.counts, settings.near.all_rules()
    policies = [rule.policy for rule in settings.near.read.labels]
    return Inspection(
        folder=folder,
        sources=tuple(InspectedSource(s.name, s.location, s.digest, seen.n_rows[s.name]) for s in pool.sources),
        **counts.totals(),
        flags={flag: counts.n(counts.has(flag)) for flag in limits.flags},
        by_source=_by_source(counts, limits.flags),
        lengths=_lengths(counts, limits.max_tokens is not None),
        scripts=_scripts(counts),
        languages=_languages(counts),
        labels={policy: _labels(counts, policy) for policy in policies},
        families=None if kin is None else _families(kin),
        cells=_cells(counts, *policies) if len(policies) == 2 else None,
        conflicts=tuple(_conflicts(pairs, policies, kin, audited)),
        settings=as_plain(settings, limits),
        rules_version=rules.version,
        rules_changed=rules.changed(),
        normalisation=describe(),
        versions=versions(has_encoder=False, more=INSPECTION_PACKAGES),
        not_examined=dict(sorted((+seen.not_examined).items())),
        bad_rows=tuple(seen.bad_rows),
        notes=tuple(_notes(settings, seen, kin, policies)),
        pairs=pairs,
    )


# ---------------------------------------------------------------- rows by themselves


def _by_source(counts: Counts, flags: Sequence[str]) -> dict[str, dict[str, int]]:
    found = {str(source): {"": n} for source, n in counts.by("source")}
    for flag in flags:
        for source, n in counts.by("source", where=counts.has(flag)):
            found[str(source)][flag] = n
    return found


def _lengths(counts: Counts, has_limit: bool) -> dict[str, dict[str, int]]:
    rows, cut = dict(counts.by("length")), dict(counts.by("length", where=counts.has("truncated")))
    return {
        name: {"n_rows": rows[name]} | ({"n_truncated": cut.get(name, 0)} if has_limit else {})
        for name in LENGTHS
        if name in rows
    }


def _scripts(counts: Counts) -> dict[str, dict[str, int]]:
    mixed = dict(counts.by("script", where=pl.col("is_mixed")))
    found = {script or "": {"n_rows": n, "n_mixed": mixed.get(script, 0)} for script, n in counts.by("script")}
    return dict(sorted(found.items(), key=lambda pair: -pair[1]["n_rows"]))


def _languages(counts: Counts) -> dict[str, int]:
    return dict(sorted(counts.by("language"), key=lambda pair: -pair[1]))


def _labels(counts: Counts, policy: str) -> dict[str, int]:
    found = {"null" if label is None else str(label): n for label, n in counts.by(policy)}
    return {label: found.get(label, 0) for label in ("1", "0", "null")}


def _cells(counts: Counts, a: str, b: str) -> Cells:
    bands = agreements(counts.by("length", "cell"))
    return Cells(
        a,
        b,
        total=agreement_of(dict(counts.by("cell"))),
        by_source=agreements(counts.by("source", "cell")),
        by_length={name: bands[name] for name in LENGTHS if name in bands},
    )


# ---------------------------------------------------------------- families and conflicts


def _families(kin: Kin) -> FamilyCounts:
    each = kin.rows.unique("family", keep="first", maintain_order=True)
    by_kind = {kind: each.filter(pl.col("family_kind") == kind)["family_size"] for kind in KINDS}
    largest = kin.families.select("family", "family_kind", "size").head(_N_LARGEST).rows()
    return FamilyCounts(
        kinds={kind: {"n_families": len(sizes), "n_rows": int(sizes.sum())} for kind, sizes in by_kind.items()},
        n_repeated=len(kin.rows) - len(each),
        largest=tuple(largest),
        cells=_cells_held(kin.families),
        n_measured=kin.n_measured,
    )


def _cells_held(families: pl.DataFrame) -> dict[str, int]:
    """Return the cells that a family's rows have, as "C1 + D10" -> families; nothing without two policies."""
    if "cells" not in families.columns:
        return {}
    held = (" + ".join(cell for cell in CELLS if cells[cell]) for cells in families["cells"])
    return dict(sorted(Counter(held).items(), key=lambda pair: (-pair[1], pair[0])))


def _conflicts(
    pairs: pl.DataFrame, policies: Sequence[str], kin: Kin | None, audited: AuditReport | None
) -> list[ConflictCount]:
    others = [""] if kin is not None else []
    others += [] if audited is None else [benchmark.name for benchmark in audited.benchmarks]
    return [_conflict_count(pairs, policy, other, kin is not None) for policy in policies for other in others]


def _conflict_count(pairs: pl.DataFrame, policy: str, other: str, has_families: bool) -> ConflictCount:
    is_here = pl.col("kind") == "row" if not other else (pl.col("kind") == "item") & (pl.col("other") == other)
    mine = pairs.filter((pl.col("policy") == policy) & is_here)
    sure = mine.filter(pl.col("verdict") == "contaminated")
    by_tier: Mapping[str, int] = dict(sure.group_by("tier").len().iter_rows())
    return ConflictCount(
        policy=policy,
        other=other,
        by_tier={tier: by_tier[tier] for tier in TIERS if tier in by_tier},
        n_review=len(mine) - len(sure),
        n_families=sure["family"].n_unique() if has_families else None,
    )


# ---------------------------------------------------------------- notes


def _notes(settings: InspectSettings, seen: Seen, kin: Kin | None, policies: Sequence[str]) -> list[str]:
    notes = [_truncation(settings)]
    if kin is None:
        notes.append("near-duplicates and conflicting labels were not looked for (families are off)")
    elif len(kin.families) and kin.families["size"][0] > _LARGE_SHARE * len(kin.rows):
        name, size = kin.families["family"][0], kin.families["size"][0]
        notes.append(
            f"the largest family has {counted(size, 'row')}, {percent(size / len(kin.rows))} of the pool (first row "
            f"{name}); if a shared instruction is all that they share, name the prompt's column with --fields"
        )
    for policy in policies:
        if text := unmapped(policy, seen.not_examined):
            notes.append(f"policy {policy}: {text}; these rows count as unknown")
    if seen.bad_rows:
        notes.append(f"{counted(len(seen.bad_rows), 'broken record')} left out")
    return notes


def _truncation(settings: InspectSettings) -> str:
    if settings.tokenizer:
        return f"truncated: counted with the tokenizer '{settings.tokenizer}', special tokens included"
    if settings.max_tokens:
        return (
            f"truncated: rows of more than {settings.max_tokens:,} of auditkit's own tokens, words about; a model's "
            "tokenizer makes more of most texts: name it with --tokenizer"
        )
    return "truncated: not examined; name the model's tokenizer (--tokenizer) or a number of tokens (--max-tokens)"
