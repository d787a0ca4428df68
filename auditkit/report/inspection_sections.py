"""What an inspection's report says, in its order. Views only draw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditkit.records import TIERS
from auditkit.report import phrases
from auditkit.report.grids import Block, Grid, Section
from auditkit.report.inspection import CONFLICT_FILE, FAMILY_FILE, Inspection
from auditkit.report.labels import Agreement
from auditkit.report.phrases import count, counted, percent

_CELLS = ("C1", "C0", "D10", "D01", "unknown")
#: Pairs of rows that the report names; all are in the table.
_N_PAIRS = 50
_MEANINGS = {
    "empty": "no letter, digit or symbol in any prompt",
    "long": "more tokens than settings.long_tokens",
    "truncated": "more tokens than the model reads",
    "mojibake": "UTF-8 decoded as something else",
    "replacement": "holds U+FFFD, in place of bytes that were lost",
}


def sections(found: Inspection) -> tuple[Section, ...]:
    """Return the parts of the report; those that have nothing to say are left out."""
    made = (
        _rows(found), _families(found), _labels(found), _cells(found), _conflicts(found), _pairs(found),
        _lengths(found), _scripts(found), _languages(found), _limits(found),
    )  # fmt: skip
    return tuple(part for part in made if part.points or any(block.grid.rows for block in part.blocks) or part.notes)


def headline(found: Inspection) -> str:
    """Return the size of the pool in one sentence."""
    return (
        f"{counted(found.n_rows, 'row')} of {counted(len(found.sources), 'file')}, {counted(found.n_texts, 'prompt')}, "
        f"{counted(found.n_characters, 'character')}, {counted(found.n_tokens, 'token')}"
    )


def _rows(found: Inspection) -> Section:
    rows = [(flag, _MEANINGS[flag], count(n), _share(n, found.n_rows)) for flag, n in found.flags.items()]
    each = [
        (source, *[count(counts.get(flag, 0)) for flag in ("", *found.flags)])
        for source, counts in found.by_source.items()
    ]
    by_source = Grid(("source", "rows", *found.flags), tuple(each) if len(each) > 1 else ())
    flags = Grid(("flag", "means", "rows", "share"), tuple(rows), 2)
    return Section("Rows", blocks=(Block(flags), Block(by_source, "By source")))


def _families(found: Inspection) -> Section:
    families = found.families
    if families is None:
        return Section("Near-duplicate families")
    kinds = [(kind, *[count(n[key]) for key in ("n_families", "n_rows")]) for kind, n in families.kinds.items()]
    largest = [(name, kind, count(size)) for name, kind, size in families.largest]
    n = families.n_repeated
    repeated = f"{counted(n, 'row')} ({_share(n, found.n_rows)}) beyond the first of its family"
    return Section(
        "Near-duplicate families",
        points=(repeated,),
        blocks=(
            Block(Grid(("kind", "families", "rows"), tuple(kinds))),
            Block(Grid(("first row", "kind", "rows"), tuple(largest), 2), f"The largest (all in {FAMILY_FILE})"),
        ),
    )


def _labels(found: Inspection) -> Section:
    labels = [
        (policy, *[count(counts[label]) for label in ("1", "0", "null")]) for policy, counts in found.labels.items()
    ]
    return Section("Labels", blocks=(Block(Grid(("policy", "flagged", "passed", "unknown"), tuple(labels))),))


def _cells(found: Inspection) -> Section:
    """Return the four cells of two policies: of the pool, by source, by length, and of families."""
    cells = found.cells
    if cells is None:
        return Section("Policy cells")
    held = found.families.cells if found.families else {}
    families = Grid(("cells of its rows", "families"), tuple((name, count(n)) for name, n in held.items()))
    return Section(
        "Policy cells",
        points=(f"A is {cells.a}, B is {cells.b}. C1: both flag, C0: neither, D10: only A, D01: only B.",),
        blocks=(
            Block(_agreements("pool", {"all": cells.total})),
            Block(_agreements("source", cells.by_source), "Cells by source"),
            Block(_agreements("tokens", cells.by_length), "Cells by length"),
            Block(families, "Cells of families of several rows"),
        ),
    )


def _agreements(name: str, each: Mapping[str, Agreement]) -> Grid:
    rows = [
        (key, *[count(one.cells[cell]) for cell in _CELLS], percent(one.agreement),
         "undefined" if one.kappa is None else f"{one.kappa:.3f}")
        for key, one in each.items()
    ]  # fmt: skip
    return Grid((name, *_CELLS, "agreement", "kappa"), tuple(rows))


def _conflicts(found: Inspection) -> Section:
    if not found.conflicts:
        return Section("Conflicting labels")
    tiers = [tier for tier in TIERS if any(tier in one.by_tier for one in found.conflicts)]
    rows = [
        (one.policy, one.other or "other rows", count(sum(one.by_tier.values())),
         *[count(one.by_tier.get(tier, 0)) for tier in tiers], count(one.n_review),
         "" if one.n_families is None else count(one.n_families))
        for one in found.conflicts
    ]  # fmt: skip
    counts = Grid(("policy", "with", "pairs", *tiers, "for review", "families"), tuple(rows), 2)
    return Section("Conflicting labels", blocks=(Block(counts),))


def _pairs(found: Inspection) -> Section:
    """Return each pair in a line; where they lie, by digest and number, no text."""
    beyond = len(found.pairs) - _N_PAIRS
    return Section(
        "Pairs of conflicting labels",
        points=tuple(_pair(pair) for pair in found.pairs.head(_N_PAIRS).iter_rows(named=True)),
        notes=(f"And {counted(beyond, 'more pair')} in {CONFLICT_FILE}.",) if beyond > 0 else (),
    )


def _pair(pair: Mapping[str, Any]) -> str:
    sides = [
        f"{pair[name]}:{pair[number]} is {pair[label]}{_and_more(pair[n])} ({pair[digest]})"
        for name, number, label, n, digest in (
            ("pool", "row", "label", "n_rows", "digest"),
            ("other", "other_row", "other_label", "n_other_rows", "other_digest"),
        )
    ]
    return f"{pair['policy']}: {' and '.join(sides)}: {pair['tier']}, {pair['verdict']}, ratio {pair['ratio']:.3f}"


def _and_more(n: int) -> str:
    return f", with {counted(n - 1, 'equal row')}" if n > 1 else ""


def _lengths(found: Inspection) -> Section:
    rows = [
        (band, count(n["n_rows"]), _share(n["n_rows"], found.n_rows), *[count(n[key]) for key in n if key != "n_rows"])
        for band, n in found.lengths.items()
    ]
    headers = ("tokens", "rows", "share", *(["truncated"] if "truncated" in found.flags else []))
    return Section("Lengths", blocks=(Block(Grid(headers, tuple(rows))),))


def _scripts(found: Inspection) -> Section:
    rows = [
        (script or "(no letter)", count(n["n_rows"]), _share(n["n_rows"], found.n_rows), count(n["n_mixed"]))
        for script, n in found.scripts.items()
    ]
    grid = Grid(("script of most letters", "rows", "share", "with others"), tuple(rows))
    return Section("Scripts", blocks=(Block(grid),))


def _languages(found: Inspection) -> Section:
    rows = [(code, count(n), _share(n, found.n_rows)) for code, n in found.languages.items()]
    return Section(
        "Languages",
        points=("a guess by letters, least sure for short rows and related languages; unsure ones are unknown",),
        blocks=(Block(Grid(("language", "rows", "share"), tuple(rows))),),
    )


def _limits(found: Inspection) -> Section:
    reasons = sorted(found.not_examined.items(), key=lambda pair: (-pair[1], pair[0]))
    grid = Grid(("not examined", "count"), tuple((reason, count(n)) for reason, n in reasons if n))
    bad = [phrases.set_aside(one) for one in found.bad_rows]
    return Section("Limits", points=(*found.notes, *bad), blocks=(Block(grid),))


def _share(n: int, of: int) -> str:
    return percent(n / of if of else None)


def facts(found: Inspection) -> Sequence[tuple[str, str]]:
    """Return (name, value) of what the result depends on: inputs, settings, rules, versions."""
    inputs = [(source.name, f"{source.digest}, {counted(source.n_rows, 'row')}") for source in found.sources]
    rules = [
        ("rules", found.rules_version),
        *phrases.flat({"rules": found.rules_changed} if found.rules_changed else {}),
    ]
    return [*inputs, *phrases.flat(found.settings), *rules, ("normalisation", found.normalisation),
            *phrases.flat(found.versions)]  # fmt: skip
