"""What an audit says: matches concluded over the whole pool, results per item, benchmark, source and label."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from auditkit.context.templates import find_templates
from auditkit.records import AuditReport, Benchmark, Pool, Source, SourceResult
from auditkit.run.versions import versions
from auditkit.stories.error_rates import judge
from auditkit.stories.gather import Gathered
from auditkit.stories.scan import Scanner
from auditkit.stories.settings import changed
from auditkit.stories.views import LEFT_OUT, describe_views
from auditkit.text.normalise import describe
from auditkit.verify.cross import describe_cross_encoder
from auditkit.verify.meaning_rules import describe_verifier
from auditkit.verify.paraphrases import MAX_PAIRS, keep_best
from auditkit.verify.public import public_items
from auditkit.verify.summary import benchmark_results, item_results, row_counts, source_results

#: Embedding speed of MiniLM on two cores (docs/tiers.md): what a tier that did not run would cost.
TEXTS_PER_SECOND = 200


def make_report(
    pool: Pool, benchmarks: Sequence[Benchmark], scanner: Scanner, gathered: Gathered, plan: Mapping[str, Any]
) -> AuditReport:
    """Return the report of an audit.

    Args:
        pool: what was read.
        benchmarks: what it was compared with.
        scanner: the indexes of the benchmarks.
        gathered: what the shards gave.
        plan: the settings as plain values.
    """
    rules = scanner.prepared.rules
    best = keep_best(pl.concat(gathered.pairs), gathered.beyond)
    judged = judge(best.pairs, pl.concat(gathered.labels, how="diagonal"), scanner, plan["fdr"])
    is_own = pl.col("text") < scanner.texts.n_own
    matches, own, beyond = judged.matches, best.pairs.filter(is_own), best.beyond.filter(is_own)
    counts = {benchmark.name: benchmark.n_items for benchmark in benchmarks}
    public = public_items(benchmarks, plan["public"])
    items = item_results(scanner.items, matches, scanner.texts, counts, public)
    n_rows, (n_condemned, n_review) = gathered.n_rows, row_counts(matches)
    not_run = dict(scanner.not_run)
    if "paraphrase" in not_run:
        not_run["paraphrase"] += f"; it would take {_cost(gathered.n_texts)}"
    return AuditReport(
        sources=source_results([_source(source, gathered) for source in pool.sources], matches),
        benchmarks=benchmark_results(benchmarks, items, matches),
        n_rows=n_rows,
        n_texts=gathered.n_texts,
        n_rows_contaminated=n_condemned,
        n_rows_review=n_review,
        pool_hit_rate=n_condemned / n_rows if n_rows else None,
        pool_digest=_pool_digest(pool),
        settings=plan,
        changed=changed(plan) | rules.changed(),
        rules=rules.as_dict(),
        rules_version=rules.version,
        not_examined=_not_examined(
            pool, benchmarks, scanner, gathered, int(beyond["n_beyond"].sum()), int(own["is_cut"].sum())
        ),
        bad_rows=tuple(gathered.bad_rows),
        tiers_run=scanner.tiers,
        tiers_not_run=not_run,
        detectors=scanner.describe(gathered.n_template_only, gathered.paraphrase_counts)
        | ({"verifier": describe_verifier(rules.paraphrase, matches)} if scanner.paraphrase else {})
        | _cross_encoder(scanner, own)
        | {"views": describe_views(scanner.viewer, gathered.view_counts, matches)},
        by_label=_by_label(gathered.label_counts, matches),
        normalisation=describe(),
        versions=versions(has_encoder=bool(scanner.paraphrase)),
        seconds={},
        matches=matches,
        items=items,
        errors=judged.errors,
        templates=find_templates(pl.concat(gathered.sampled), scanner.halvings, rules.templates.pool_texts),
    )


def _cross_encoder(scanner: Scanner, pairs: pl.DataFrame) -> dict[str, Any]:
    if scanner.cross_encoder is None:
        return {}
    return {"cross-encoder": describe_cross_encoder(scanner.cross_encoder, scanner.prepared.rules.paraphrase, pairs)}


def _source(source: Source, gathered: Gathered) -> SourceResult:
    counts = gathered.sources[source.name]
    return SourceResult(
        source.name, source.location, source.relative, source.format, source.compression, source.digest,
        source.n_bytes, counts.n_rows, counts.n_texts, 0, 0,
    )  # fmt: skip


def _not_examined(
    pool: Pool, benchmarks: Sequence[Benchmark], scanner: Scanner, gathered: Gathered, n_beyond: int, n_cut: int
) -> dict[str, int]:
    """Return reason -> count of what no tier looked at, over pool and benchmarks."""
    counts = Counter(gathered.not_examined)
    counts["file of a named folder that is not data"] += len(pool.skipped_files)
    parts = scanner.items[scanner.texts.unmatchable]
    counts["benchmark answer too short to be matched alone"] += int((parts["kind"] == "answer").sum())
    counts["benchmark text without a letter, digit or symbol"] += int((parts["kind"] != "answer").sum())
    for name, n in gathered.view_counts.get("left_out", {}).items():
        counts[LEFT_OUT[name]] += n
    for name, found in gathered.paraphrase_counts.items():
        counts[f"text cut at the maximum length of encoder {name}"] += found["n_truncated"]
    counts["pair cut at the maximum length of the cross-encoder"] += n_cut
    counts[f"paraphrase pair beyond the closest {MAX_PAIRS} of an item text"] += n_beyond
    return {reason: n for reason, n in sorted(counts.items()) if n}


def _by_label(label_counts: Mapping[str, Counter[str]], matches: pl.DataFrame) -> dict[str, dict[str, dict[str, int]]]:
    """Return policy -> label -> rows and condemned rows."""
    condemned = matches.filter(pl.col("verdict") == "contaminated").unique(["pool", "row"])
    result: dict[str, dict[str, dict[str, int]]] = {}
    for policy, rows in label_counts.items():
        hit = Counter(condemned["pool_labels"].struct.field(policy).cast(pl.String).fill_null("null").to_list())
        result[policy] = {
            label: {"n_rows": n, "n_rows_contaminated": hit.get(label, 0)} for label, n in sorted(rows.items())
        }
    return result


def _cost(n_texts: int) -> str:
    seconds = n_texts / TEXTS_PER_SECOND
    shown = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
    return f"about {shown} on two cores ({n_texts:,} texts at {TEXTS_PER_SECOND} a second)"


def _pool_digest(pool: Pool) -> str:
    """Return the digest of one source, or of the names and digests of several."""
    if len(pool.sources) == 1:
        return pool.sources[0].digest
    lines = "".join(f"{source.name}\0{source.digest}\n" for source in pool.sources)
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
