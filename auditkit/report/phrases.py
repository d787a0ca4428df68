"""The words and numbers that every view of a report shares: counts, percent, digests, lists; all plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from auditkit.records import TIERS, AuditReport, BadRow, BenchmarkResult
from auditkit.report.safe import shown

#: Long lists are cut to this many entries; how many are left out, and where they stand, is always said.
N_LISTED = 5


def count(n: int) -> str:
    """Return an integer with thousands separators: "1,082"."""
    return f"{n:,}"


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return "1 row", "1,082 rows"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(share: float | None) -> str:
    """Return a share in [0, 1] as "82.0 %"; "undefined" for None. What is not 0 or 1 is never rendered as 0 or 100."""
    if share is None:
        return "undefined"
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{share * 100:.1f} %"


def digest(value: str, n_digits: int = 8) -> str:
    """Return "sha256 1234abcd" for "sha256:1234abcd...": enough to tell two files apart; report.json has it whole."""
    kind, _, digits = shown(value).partition(":")
    return f"{kind} {digits[:n_digits]}" if digits else kind or "no digest"


def joined(parts: Sequence[str], last: str = "and") -> str:
    """Return "a", "a and b", "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}" if parts else ""


def listed(parts: Iterable[str], where: str, limit: int = N_LISTED, sep: str = "; ") -> str:
    """Return the first `limit` parts, and how many more stand where."""
    parts = list(parts)
    beyond = len(parts) - limit
    return sep.join(parts[:limit]) + (f"{sep}and {count(beyond)} more in {where}" if beyond > 0 else "")


def pool_name(report: AuditReport) -> str:
    """Return the pool's name: of its one source, or of the first ones and how many there are."""
    names = [shown(source.name) for source in report.sources]
    if len(names) <= 3:
        return joined(names) or "an empty pool"
    return f"{names[0]}, {names[1]} and {count(len(names) - 2)} more sources"


def rules_name(report: AuditReport) -> str:
    """Return "rules v1"."""
    version = shown(report.rules_version)
    return f"rules {version if version.startswith('v') else 'v' + version}"


def value(thing: Any) -> str:
    """Return a plain value as a person writes it: null, true, 0.84, text without quotes, [a, b]."""
    if thing is None:
        return "null"
    if isinstance(thing, bool):
        return str(thing).lower()
    if isinstance(thing, list | tuple):
        return f"[{', '.join(value(part) for part in thing)}]"
    if isinstance(thing, Mapping):
        return "{" + ", ".join(f"{shown(str(key))} = {value(part)}" for key, part in thing.items()) + "}"
    return shown(str(thing))


def flat(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted name, value) for every leaf of a nested mapping, in its order."""
    for key, thing in mapping.items():
        name = f"{prefix}{shown(str(key))}"
        if isinstance(thing, Mapping) and thing:
            yield from flat(thing, name + ".")
        elif isinstance(thing, list | tuple) and thing and all(isinstance(part, Mapping) for part in thing):
            for index, part in enumerate(thing):
                yield from flat(part, f"{name}[{index}].")
        else:
            yield name, value(thing)


def changed(report: AuditReport) -> str:
    """Return "defaults unchanged", or the settings and rules that differ from the defaults, by name and value."""
    pairs = [f"{name} = {text}" for name, text in sorted(flat(report.changed))]
    return f"changed from the defaults: {', '.join(pairs)}" if pairs else "defaults unchanged"


def tiers_not_run(report: AuditReport) -> str:
    """Return "paraphrase not run", or "all tiers run"."""
    missing = [tier for tier in TIERS if tier not in report.tiers_run]
    return f"{joined(missing)} not run" if missing else "all tiers run"


def reasons_not_run(report: AuditReport) -> list[tuple[str, str]]:
    """Return (tier, why and what it would cost) for the tiers that did not run, paraphrase last."""
    order = {tier: place for place, tier in enumerate(TIERS)}
    ordered = sorted(report.tiers_not_run.items(), key=lambda pair: (order.get(pair[0], -1), pair[0]))
    return [(shown(tier), shown(why)) for tier, why in ordered]


def not_examined(report: AuditReport, *, with_metadata: bool = True) -> list[str]:
    """Return "12 image", "3 null field text", most first: what of the pool no tier looked at.

    Ids, labels and the like (reasons that end in "(metadata)") are no text to examine: a paper's sentence
    leaves them out.
    """
    pairs = sorted(report.not_examined.items(), key=lambda pair: (-pair[1], pair[0]))
    shown_pairs = [(reason, n) for reason, n in pairs if with_metadata or not reason.endswith("(metadata)")]
    return [f"{count(n)} {shown(reason)}" for reason, n in shown_pairs if n]


def set_aside(bad: BadRow) -> str:
    """Return "train.jsonl, line 17: not JSON"."""
    return f"{shown(bad.location)}, line {count(bad.line)}: {shown(bad.reason)}"


def by_tier(result: BenchmarkResult) -> list[tuple[str, int]]:
    """Return (tier, items found by it), strongest first; `paraphrase` only where it found any."""
    tiers = [tier for tier in TIERS if tier != "paraphrase" or result.found_by_tier.get(tier, 0)]
    return [(tier, result.found_by_tier.get(tier, 0)) for tier in tiers]


def tiers_shown(report: AuditReport) -> list[str]:
    """Return the tiers that the tables have a column for: the lexical ones, and `paraphrase` where it condemned."""
    return [t for t in TIERS if t != "paraphrase" or any(b.found_by_tier.get(t, 0) for b in report.benchmarks)]


def curve(report: AuditReport) -> list[tuple[float, float]]:
    """Return the points (Jaccard, probability of being proposed) of the near tier's collision curve; [] without one."""
    near = report.detectors.get("minhash")
    points = near.get("curve", []) if isinstance(near, Mapping) else []
    pairs = [(float(p[0]), float(p[1])) for p in points if isinstance(p, list | tuple) and len(p) == 2]
    return [(min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)) for x, y in pairs if x == x and y == y]


def detectors(report: AuditReport) -> list[str]:
    """Return the names of the detectors that have something to say: lexical ones, encoders by name, templates."""
    order = {"exact": 0, "seeds": 1, "minhash": 2, "templates": 4}
    names = sorted(report.detectors, key=lambda name: (order.get(name, 3), name))
    return [name for name in names if report.detectors[name]]


def detector_facts(report: AuditReport, name: str) -> list[tuple[str, str]]:
    """Return (name, value) of what a detector's settings mean, its curve left out (see `curve`)."""
    facts = report.detectors[name]
    if not isinstance(facts, Mapping):
        return [("", value(facts))]
    return sorted(flat({key: thing for key, thing in facts.items() if key != "curve"}))


def label_lines(report: AuditReport) -> list[tuple[str, str]]:
    """Return (policy, "label 1: 12 of 900 rows condemned; ...") for every declared policy."""
    lines = []
    for policy, labels in sorted(report.by_label.items()):
        parts = [
            f"{label_name(label)}: {count(c.get('n_rows_contaminated', 0))} of {counted(c.get('n_rows', 0), 'row')}"
            for label, c in sorted(labels.items())
        ]
        lines.append((shown(policy), "; ".join(parts)))
    return lines


def label_name(label: str) -> str:
    """Return "label 1", "label 0", "no label"."""
    return "no label" if label in ("null", "None", "") else f"label {shown(label)}"


def notes(report: AuditReport) -> list[tuple[str, str]]:
    """Return (whose, note) for every note on a benchmark, equal ones once: "all benchmarks", or "a, b and c"."""
    names: dict[str, list[str]] = {}
    for result in report.benchmarks:
        for note in dict.fromkeys(result.notes):
            names.setdefault(shown(note), []).append(shown(result.name))
    n_all = len(report.benchmarks)
    return [("all benchmarks" if len(whose) == n_all > 1 else joined(whose), note) for note, whose in names.items()]


def splits(result: BenchmarkResult) -> list[tuple[str, Mapping[str, int]]]:
    """Return ("slice standard" or "label 1", counts of items) for the parts of a benchmark, where it has several."""
    slices = [(f"slice {shown(name)}", counts) for name, counts in sorted(result.by_slice.items())]
    labels = [(label_name(name), counts) for name, counts in sorted(result.by_label.items())]
    return (slices if len(slices) > 1 else []) + (labels if len(labels) > 1 else [])
