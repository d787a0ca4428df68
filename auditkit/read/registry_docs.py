"""docs/benchmarks.md, rendered from the registry: `python -m auditkit.read.registry_docs > docs/benchmarks.md`."""

from __future__ import annotations

from collections.abc import Iterator

from auditkit.read.registry import FACTS, Registered, registered

_HEAD = """\
# Registered benchmarks

<!-- Rendered from auditkit/read/registry.toml by `python -m auditkit.read.registry_docs`; edit that file instead. -->

Any of these names can be given to `--benchmark`. It is then read from the folder of pulled copies
(`auditkit benchmarks pull`; `$AUDITKIT_BENCHMARKS` moves it), or from the Hub at the registered revision.
`--benchmark NAME=PATH` reads a file of yours instead and checks its columns, and its count where the count is
verified. Case, `-`, `_` and `.` in names do not matter.

Each fact is **verified** (checked against the file itself, or a stored copy of the publisher's own page or paper),
**reported** (found only in other people's public code or notes), or **unverified** (written from memory of the
literature, or not known). Check the last two before you rely on them; audits name them in their notes.
"""
_COLUMNS = (
    "| name | items | class | unit graded | licence | gated | revision | verified | reported | unverified |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def render_benchmarks() -> str:
    """Return docs/benchmarks.md: a table of all benchmarks, then a section for each."""
    entries = list(registered().values())
    table = "\n".join((_COLUMNS, *(_row(entry) for entry in entries)))
    sections = "\n\n".join("\n".join(_section(entry)) for entry in entries)
    return f"{_HEAD}\n{table}\n\n{sections}\n"


def _row(entry: Registered) -> str:
    facts = [fact for fact in FACTS if fact in entry.verified]
    reported = [fact for fact in FACTS if fact in entry.reported and fact not in entry.verified]
    cells = (
        f"[{entry.name}](#{entry.name.replace('.', '')})", _count(entry), entry.klass, entry.unit,
        entry.licence or "not known", _gated(entry),
        f"`{entry.revision[:7]}`" if entry.revision else "not known",
        ", ".join(facts) or "-", ", ".join(reported) or "-", ", ".join(entry.unverified) or "-",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _gated(entry: Registered) -> str:
    return "not checked" if "gated" in entry.unverified else "yes" if entry.is_gated else "no"


def _count(entry: Registered) -> str:
    return "not known" if entry.n_items is None else f"{entry.n_items:,}"


def _section(entry: Registered) -> Iterator[str]:
    yield f"## {entry.name}\n"
    yield f"{entry.title}. {entry.policy} ({entry.policy_source}.)\n"
    if entry.aliases:
        yield f"- also called: {', '.join(entry.aliases)}"
    yield f"- read from: `{entry.location}`"
    columns = (f"`{' or '.join(c.names)}` ({c.kind}{', optional' if c.is_optional else ''})" for c in entry.columns)
    yield f"- columns: {', '.join(columns)}"
    if entry.where:
        conditions = (f"`{column}` {' or '.join(values)}" for column, values in entry.where.items())
        yield f"- items: records with {' and '.join(conditions)}"
    yield f"- labels: {_labels(entry)}"
    if entry.slices:
        yield f"- slices: by {' and '.join(f'`{part.column}`' for part in entry.slices)}"
    yield from (f"- {note}" for note in entry.notes)
    if entry.public:
        yield f"- public text: {entry.public}"
    yield from (f"- verified {fact}: {how}" for fact, how in entry.verified.items())
    yield from (f"- reported {fact}: {how}" for fact, how in entry.reported.items())


def _labels(entry: Registered) -> str:
    label = entry.label
    if label.constant is not None:
        return f"{label.constant} for every item"
    if not label.columns:
        return "unknown"
    if len(label.columns) > 1:
        return f"1 if any of {', '.join(label.columns)} is 1, 0 if all are 0, else unknown"
    values = ", ".join(f"{value} is {number}" for value, number in label.values.items())
    return f"`{label.columns[0]}`: {values}, else unknown"


if __name__ == "__main__":
    print(render_benchmarks(), end="")
