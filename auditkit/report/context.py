"""What a report says beside its matches: pools that came before, items that are public text, wrappers of the pool."""

from __future__ import annotations

from collections.abc import Iterator

from auditkit.findings import PoolTemplate, PoolTemplates
from auditkit.records import AuditReport, BenchmarkResult
from auditkit.report.grids import Grid
from auditkit.report.phrases import count, counted, listed, percent
from auditkit.report.safe import shown

#: What the names of tables.ITEM_RESULTS `public_text` mean.
_PUBLIC = {
    "declared": "declared by --public",
    "column": "by the column is_public",
    "registry": "by the registry",
    "context": "with a passage to read",
    "quotation": "quotations",
    "encyclopaedia": "encyclopaedia text",
    "statute": "statutes",
}
_KINDS = {
    "around": "beginning and end of a text",
    "before": "beginning of a text",
    "after": "end of a text",
    "whole": "a text beside others",
}
WHOLE_CHAIN = "whole chain"


# ---------------------------------------------------------------- provenance chains


def chain_grid(report: AuditReport) -> Grid:
    """Return a row for each pool of the chain and benchmark, and for the whole chain."""
    headers = ("leaked through", "benchmark", "items", "found", "leak rate", "through it alone")
    return Grid(headers, tuple(_chain_rows(report)), 2)


def _chain_rows(report: AuditReport) -> Iterator[tuple[str, ...]]:
    if report.chain is None:
        return
    sizes = {one.name: count(one.n_items) for one in report.benchmarks}
    for link in report.chain.links:
        for name, n in link.n_found.items():
            rate, alone = percent(link.leak_rates[name]), count(link.n_alone[name])
            yield (link.name, name, sizes[name], count(n), rate, alone)
    for name, n in report.chain.n_found.items():
        yield (WHOLE_CHAIN, name, sizes[name], count(n), percent(report.chain.leak_rates[name]), "")


def chain_notes(report: AuditReport) -> list[str]:
    """Return what each pool of the chain is; "pool" is the audited one."""
    if report.chain is None:
        return []
    return [
        f"{shown(link.name)}: {counted(link.n_rows, 'row')}, {count(link.n_rows_contaminated)} condemned "
        f"({shown(link.pool_digest)})"
        for link in report.chain.links
    ]


def chain_lines(report: AuditReport) -> list[str]:
    """Return a line for each pool of the chain, and for the whole chain, for the terminal."""
    if report.chain is None:
        return []
    lines = []
    for link in report.chain.links:
        parts = [
            f"{shown(name)} {count(n)} ({percent(link.leak_rates[name])}; {count(link.n_alone[name])} through it alone)"
            for name, n in link.n_found.items()
        ]
        lines.append(f"{shown(link.name)}, {counted(link.n_rows, 'row')}: {', '.join(parts)}")
    whole = [f"{shown(name)} {count(n)} ({percent(report.chain.leak_rates[name])})" for name, n in
             report.chain.n_found.items()]  # fmt: skip
    return [*lines, f"{WHOLE_CHAIN}: {', '.join(whole)}"]


# ---------------------------------------------------------------- public text


def public_grid(report: AuditReport) -> Grid:
    """Return a row for each benchmark and what makes items of it public text."""
    headers = ("benchmark", "public text", "items", "found", "review")
    rows = [
        (result.name, _PUBLIC.get(name, name), *[count(counts[key]) for key in ("n_items", "n_found", "n_review")])
        for result in report.benchmarks
        for name, counts in sorted(result.by_public.items())
    ]
    return Grid(headers, tuple(rows), 2)


def public_lines(report: AuditReport) -> list[str]:
    """Return a sentence for each benchmark with public text: what it is, and the leak rate with it and without."""
    return [f"{shown(result.name)}: {public_clause(result)}" for result in report.benchmarks if result.n_public]


def public_clause(result: BenchmarkResult) -> str:
    """Return "12 of 100 items are public text (quotations: 12); leak rate 5.0 % with them, 2.0 % without"."""
    kinds = [
        f"{_PUBLIC.get(name, name)}: {count(counts['n_items'])}" for name, counts in sorted(result.by_public.items())
    ]
    return (
        f"{count(result.n_public)} of {counted(result.n_items, 'item')} are public text ({', '.join(kinds)}), which "
        f"any pool of the web may hold; leak rate {percent(result.leak_rate)} with them, "
        f"{percent(result.leak_rate_without_public)} without"
    )


# ---------------------------------------------------------------- templates


def templates_grid(report: AuditReport) -> Grid:
    """Return a row for each template: where one text that has it stands, and how many have it."""
    headers = ("template", "seen in", "first tokens", "last tokens", "different texts", "rows", "share")
    rows = [
        (
            _KINDS[one.kind],
            template_place(one),
            *map(count, (one.n_first, one.n_last, one.n_texts, one.n_rows)),
            percent(one.share),
        )
        for one in (report.templates.found if report.templates else ())
    ]
    return Grid(headers, tuple(rows), 2)


def template_place(one: PoolTemplate) -> str:
    """Return "train row 12, messages, turn 0"."""
    turn = "" if one.turn is None else f", turn {one.turn}"
    return f"{shown(one.pool)} row {count(one.row)}, {shown(one.field)}{turn}"


def template_title(one: PoolTemplate) -> str:
    """Return "beginning of a text (9 + 0 tokens) in 12 rows, 3.0 %, such as train row 12, text"."""
    return (
        f"{_KINDS[one.kind]} ({count(one.n_first)} + {count(one.n_last)} tokens) in {counted(one.n_rows, 'row')}, "
        f"{percent(one.share)}, such as {template_place(one)}"
    )


def template_notes(templates: PoolTemplates) -> list[str]:
    """Return what was looked at, and what was too rare or too long to be told."""
    which = "all" if templates.one_in == 1 else f"one text in {count(templates.one_in)}"
    return [
        f"looked at {which} ({counted(templates.n_looked_at, 'text')}); a template is common to "
        f"{count(templates.least)} different texts of these, and one of {count(templates.n_sure)} different texts of "
        "the pool is found with probability 0.99 or more",
        f"at most {count(templates.longest)} tokens at either end are compared; auditkit show --templates fetches "
        "their words",
    ]


def template_lines(report: AuditReport) -> list[str]:
    """Return how many templates the pool has, and the most frequent, for the terminal."""
    if report.templates is None:
        return []
    if not report.templates.found:
        return ["none found"]
    lines = [template_title(one) for one in report.templates.found]
    return [f"{count(len(lines))} found: {listed(lines, 'report.md')}"]
