"""Story 1: read a pool and benchmarks, find what leaked, decide, report."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import read
from auditkit.errors import OutputError
from auditkit.records import AuditReport, Benchmark, Pool, Source, SourceResult
from auditkit.report.write import write_all
from auditkit.run.plan import PLAN, claim_folder
from auditkit.run.versions import versions
from auditkit.stories.scan import Progress, Scanner, Shard
from auditkit.stories.settings import AuditSettings, as_plain, changed, named_folders
from auditkit.text.normalise import describe
from auditkit.verify.summary import benchmark_results, item_results, row_counts, source_results
from auditkit.verify.verdicts import conclude

#: Embedding speed of MiniLM on two cores (docs/tiers.md): what a tier that did not run would cost.
TEXTS_PER_SECOND = 200


def audit(
    pool: Any,
    benchmarks: Any,
    settings: AuditSettings | None = None,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> AuditReport:
    """Return which benchmark items are in a pool, where, and what condemns them.

    Args:
        pool: paths, folders, globs, "hf:..." names; polars, pandas or Arrow frames; `datasets`; lists.
        benchmarks: registered names, paths, "name=path", "hf:..." names, frames, lists; one or several.
        settings: what to do; the defaults are those of the command line.
        out: folder for matches.parquet, items.parquet, report.json, report.md and report.html; None writes nothing.
        overwrite: replace an audit of other inputs or settings in `out`.
        on_progress: called with the numbers of rows and bytes done since the last call.

    Raises:
        AuditkitError: one of its kinds (see errors.py); nothing is written then.
    """
    settings = settings or AuditSettings()
    rules = settings.all_rules()
    opened = read.open_benchmarks(benchmarks)
    sources = read.open_pool(pool, settings.read)
    plan = as_plain(settings, pool, benchmarks)
    claim = b""
    if out is not None:
        _refuse_inside(Path(out), pool)
        claim = claim_folder(Path(out), _inputs(sources, opened), plan | {"rules": rules.as_dict()}, overwrite)
    scanner = Scanner.make(opened, settings, rules)
    shards = [
        scanner.scan(batch, on_progress)
        for source in sources.sources
        for batch in read.read_texts(source, settings.read, may_lack_fields=len(sources.sources) > 1)
    ]
    report = _report(sources, opened, scanner, shards, settings, plan)
    if out is None:
        return report
    write_all(report, Path(out), {PLAN: claim})
    return replace(report, folder=Path(out))


# ---------------------------------------------------------------- the report


def _report(
    pool: Pool,
    benchmarks: Sequence[Benchmark],
    scanner: Scanner,
    shards: Sequence[Shard],
    settings: AuditSettings,
    plan: Mapping[str, Any],
) -> AuditReport:
    started = time.perf_counter()
    rules = scanner.prepared.rules
    labels = pl.concat([shard.labels for shard in shards], how="diagonal")
    pairs = pl.concat([shard.pairs for shard in shards])
    matches = conclude(pairs, scanner.prepared, labels)
    items = item_results(
        scanner.items, matches, scanner.texts, {benchmark.name: benchmark.n_items for benchmark in benchmarks}
    )
    n_rows, (n_condemned, n_review) = sum(shard.n_rows for shard in shards), row_counts(matches)
    not_run = dict(scanner.not_run)
    if "paraphrase" in not_run:
        not_run["paraphrase"] += f"; it would take {_cost(sum(shard.n_texts for shard in shards))}"
    return AuditReport(
        sources=source_results(_sources(pool, shards), matches),
        benchmarks=benchmark_results(benchmarks, items, matches),
        n_rows=n_rows,
        n_texts=sum(shard.n_texts for shard in shards),
        n_rows_contaminated=n_condemned,
        n_rows_review=n_review,
        pool_hit_rate=n_condemned / n_rows if n_rows else None,
        pool_digest=_pool_digest(pool),
        settings=plan,
        changed=changed(settings, plan) | rules.changed(),
        rules=rules.as_dict(),
        rules_version=rules.version,
        not_examined=_not_examined(pool, benchmarks, scanner, shards),
        bad_rows=tuple(bad for shard in shards for bad in shard.bad_rows),
        tiers_run=scanner.tiers,
        tiers_not_run=not_run,
        detectors=scanner.describe(sum(shard.n_template_only for shard in shards)),
        by_label=_by_label(shards, matches),
        normalisation=describe(),
        versions=versions(has_encoder=bool(scanner.paraphrase)),
        seconds={"report": time.perf_counter() - started},
        matches=matches,
        items=items,
    )


def _sources(pool: Pool, shards: Sequence[Shard]) -> list[SourceResult]:
    def result(source: Source) -> SourceResult:
        mine = [shard for shard in shards if shard.source == source.name]
        return SourceResult(
            source.name, source.location, source.relative, source.format, source.compression, source.digest,
            source.n_bytes, sum(s.n_rows for s in mine), sum(s.n_texts for s in mine), 0, 0,
        )  # fmt: skip

    return [result(source) for source in pool.sources]


def _not_examined(
    pool: Pool, benchmarks: Sequence[Benchmark], scanner: Scanner, shards: Sequence[Shard]
) -> dict[str, int]:
    """Return reason -> count of what no tier looked at, over pool and benchmarks."""
    counts: Counter[str] = Counter()
    for shard in shards:
        counts.update(shard.not_examined)
    counts["file of a named folder that is not data"] += len(pool.skipped_files)
    parts = scanner.items[scanner.texts.unmatchable]
    counts["benchmark answer too short to be matched alone"] += int((parts["kind"] == "answer").sum())
    counts["benchmark text without a letter, digit or symbol"] += int((parts["kind"] != "answer").sum())
    for name, index in scanner.paraphrase.items():
        counts[f"text cut at the maximum length of encoder {name}"] += index.describe()["n_truncated"]
    return {reason: n for reason, n in sorted(counts.items()) if n}


def _by_label(shards: Sequence[Shard], matches: pl.DataFrame) -> dict[str, dict[str, dict[str, int]]]:
    """Return policy -> label -> rows and condemned rows."""
    condemned = matches.filter(pl.col("verdict") == "contaminated").unique(["pool", "row"])
    policies = dict.fromkeys(policy for shard in shards for policy in shard.label_counts)
    result: dict[str, dict[str, dict[str, int]]] = {}
    for policy in policies:
        rows: Counter[str] = Counter()
        for shard in shards:
            rows.update(shard.label_counts.get(policy, {}))
        hit = Counter(condemned["pool_labels"].struct.field(policy).cast(pl.String).fill_null("null").to_list())
        result[policy] = {
            label: {"n_rows": n, "n_rows_contaminated": hit.get(label, 0)} for label, n in sorted(rows.items())
        }
    return result


def _cost(n_texts: int) -> str:
    seconds = n_texts / TEXTS_PER_SECOND
    shown = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
    return f"about {shown} on two cores ({n_texts:,} texts at {TEXTS_PER_SECOND} a second)"


# ---------------------------------------------------------------- identity


def _refuse_inside(out: Path, pool: Any) -> None:
    """Check that `out` does not lie in a folder of the pool, where the next audit would read it as data."""
    for folder in named_folders(pool):
        if folder.resolve() in (out.resolve(), *out.resolve().parents):
            raise OutputError(f"{out} lies inside the pool's folder {folder}; choose another folder with --out")


def _inputs(pool: Pool, benchmarks: Sequence[Benchmark]) -> list[str]:
    """Return name and digest of everything that was read."""
    return [f"{source.name} {source.digest}" for source in pool.sources] + [
        f"{benchmark.name} {benchmark.source.digest}" for benchmark in benchmarks
    ]


def _pool_digest(pool: Pool) -> str:
    """Return the digest of one source, or of the names and digests of several."""
    if len(pool.sources) == 1:
        return pool.sources[0].digest
    lines = "".join(f"{source.name}\0{source.digest}\n" for source in pool.sources)
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
