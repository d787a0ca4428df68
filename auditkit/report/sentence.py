"""The sentence a paper needs: what leaked, out of how much, under which rules, and what was not looked at."""

from __future__ import annotations

from auditkit.errors import UsageError, nearest
from auditkit.records import AuditReport, BenchmarkResult
from auditkit.report import phrases
from auditkit.report.context import public_clause
from auditkit.report.safe import shown


def paper_sentence(report: AuditReport, benchmark: str) -> str:
    """Return one sentence on one benchmark, as plain text without control characters.

    It names the counts before the share, the revision and digests, the rules, every default that was changed, the
    share in review where there is any, unmatchable items, the tiers that did not run, and what was not examined.

    Raises:
        UsageError: the report has no benchmark of that name.
    """
    result = find(report, benchmark)
    clauses = [_found(report, result), *_aside(result), phrases.tiers_not_run(report)]
    return "; ".join(clauses) + f"; not examined: {_not_examined(report)}."


def find(report: AuditReport, benchmark: str) -> BenchmarkResult:
    """Return the result for the benchmark of that name.

    Raises:
        UsageError: the report has none; the message names the nearest.
    """
    for result in report.benchmarks:
        if result.name == benchmark:
            return result
    known = [result.name for result in report.benchmarks]
    raise UsageError(
        f"no benchmark {shown(benchmark)!r} in this report{shown(nearest(benchmark, known))} "
        f"(it has {phrases.listed([shown(name) for name in known], 'report.json', sep=', ') or 'none'})"
    )


def _found(report: AuditReport, result: BenchmarkResult) -> str:
    identity = [phrases.percent(result.leak_rate)]
    revision = f"revision {shown(result.revision)}, " if result.revision else ""
    identity.append(f"{revision}{phrases.digest(result.digest)}")
    verb = "is" if result.n_found == 1 else "are"
    return (
        f"{phrases.count(result.n_found)} of {phrases.count(result.n_items)} {shown(result.name)} "
        f"{'item' if result.n_items == 1 else 'items'} ({'; '.join(identity)}) {verb} in condemned rows of "
        f"{phrases.pool_name(report)} ({phrases.digest(report.pool_digest)}), {phrases.rules_name(report)}, "
        f"{phrases.changed(report)}"
    )


def _aside(result: BenchmarkResult) -> list[str]:
    clauses = []
    if result.n_review:
        share = phrases.percent(result.n_review / result.n_items) if result.n_items else "undefined"
        clauses.append(f"{phrases.counted(result.n_review, 'further item')} ({share}) only in rows marked for review")
    if result.n_unmatchable:
        clauses.append(f"{phrases.counted(result.n_unmatchable, 'item')} unmatchable by any tier that ran")
    if result.n_public:
        clauses.append(public_clause(result))
    return clauses


def _not_examined(report: AuditReport) -> str:
    parts = phrases.not_examined(report, with_metadata=False)
    if report.bad_rows:
        parts.append(f"{phrases.counted(len(report.bad_rows), 'broken row')} set aside")
    return ", ".join(parts) or "nothing"
