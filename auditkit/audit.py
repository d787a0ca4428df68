"""Story 1: read a pool and benchmarks, find what leaked, decide, report; and hand the pool back without it."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import read, tables
from auditkit.detect.exact import ExactDetector
from auditkit.detect.minhash import MinHashDetector
from auditkit.detect.paraphrase import ParaphraseDetector
from auditkit.detect.protocol import Index, Rows
from auditkit.detect.seeds import SeedDetector
from auditkit.errors import MissingExtraError, UsageError, nearest
from auditkit.records import (
    LEXICAL_TIERS,
    TIERS,
    AuditReport,
    BadRow,
    Benchmark,
    Pool,
    ReadSettings,
    Source,
    SourceResult,
    TextBatch,
)
from auditkit.report.as_json import load as load_report
from auditkit.report.write import write_all
from auditkit.run.plan import claim_folder
from auditkit.run.versions import versions
from auditkit.text.encode import load_encoder
from auditkit.text.items import ItemTexts, distinct_texts
from auditkit.text.normalise import describe, tokenise
from auditkit.verify.items import PreparedItems, prepare
from auditkit.verify.matches import verify
from auditkit.verify.paraphrases import verify_paraphrases
from auditkit.verify.rules import Rules, default_rules, load_rules
from auditkit.verify.summary import benchmark_results, item_results, row_counts, source_results
from auditkit.verify.verdicts import conclude

__all__ = ["AuditSettings", "audit", "load_report"]

#: Embedding speed of MiniLM on two cores (docs/tiers.md): what a tier that did not run would cost.
TEXTS_PER_SECOND = 200

ADDRESS = ["pool", "row", "row_id", "field", "turn"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class AuditSettings:
    """What an audit does.

    Attributes:
        tiers: tiers that run. "all" is every tier; `paraphrase` then is left out, and said so, where the extra
            `embed` is not installed. A tier named by itself is an error there.
        encoders: encoders of the paraphrase tier: "minilm", "multilingual", a Hub name, or a folder.
        rules: a rules file, Rules, or None for the defaults.
        read: what of the pool is read.
    """

    tiers: tuple[str, ...] = LEXICAL_TIERS
    encoders: tuple[str, ...] = ("minilm",)
    rules: Rules | str | Path | None = None
    read: ReadSettings = field(default_factory=ReadSettings)

    def __post_init__(self) -> None:
        for tier in self.tiers:
            if tier not in (*TIERS, "all"):
                raise UsageError(f"unknown tier '{tier}'{nearest(tier, TIERS)}; tiers are {', '.join(TIERS)}, or all")
        if not self.tiers:
            raise UsageError(f"no tier given; tiers are {', '.join(TIERS)}, or all")
        if not self.encoders:
            raise UsageError("no encoder given; name minilm, multilingual, a Hub name or a folder")

    def all_rules(self) -> Rules:
        """Return the rules in force."""
        if self.rules is None:
            return default_rules()
        return self.rules if isinstance(self.rules, Rules) else load_rules(self.rules)

    def wanted(self) -> tuple[str, ...]:
        """Return the tiers asked for, strongest first."""
        return tuple(tier for tier in TIERS if tier in self.tiers or "all" in self.tiers)


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
    plan = _settings(settings, pool, benchmarks)
    if out is not None:
        claim_folder(Path(out), _inputs(sources, opened), plan | {"rules": rules.as_dict()}, overwrite)
    scanner = _Scanner.make(opened, settings, rules)
    shards = [
        scanner.scan(batch, on_progress)
        for source in sources.sources
        for batch in read.read_texts(source, settings.read)
    ]
    report = _report(sources, opened, scanner, shards, settings, plan)
    if out is None:
        return report
    write_all(report, Path(out))
    return replace(report, folder=Path(out))


# ---------------------------------------------------------------- scanning


@dataclass(frozen=True)
class _Shard:
    """What one shard of the pool gave."""

    source: str
    n_rows: int
    n_texts: int
    pairs: pl.DataFrame
    labels: pl.DataFrame
    label_counts: Mapping[str, Counter[str]]
    bad_rows: tuple[BadRow, ...]
    not_examined: Mapping[str, int]
    n_template_only: int


@dataclass(frozen=True)
class _Scanner:
    """Indexes of the benchmarks, and how a shard goes through them."""

    items: pl.DataFrame
    texts: ItemTexts
    prepared: PreparedItems
    tiers: tuple[str, ...]
    not_run: Mapping[str, str]
    lexical: Mapping[str, Index]
    paraphrase: Mapping[str, Index]

    @staticmethod
    def make(benchmarks: Sequence[Benchmark], settings: AuditSettings, rules: Rules) -> _Scanner:
        """Return a scanner for these benchmarks."""
        items = pl.concat([benchmark.items for benchmark in benchmarks])
        texts = distinct_texts(items, min_answer_tokens=rules.answers.min_tokens)
        tiers, paraphrase, not_run = settings.wanted(), dict[str, Index](), dict[str, str]()
        if "paraphrase" in tiers:
            try:
                paraphrase = {
                    name: ParaphraseDetector(load_encoder(name), rules.paraphrase.threshold(name)).index(texts)
                    for name in settings.encoders
                }
            except MissingExtraError as error:
                if "all" not in settings.tiers:
                    raise
                not_run["paraphrase"], tiers = str(error), tuple(tier for tier in tiers if tier != "paraphrase")
        else:
            not_run["paraphrase"] = "not asked for (--tiers all)"
        return _Scanner(items, texts, prepare(texts, rules), tiers, not_run, _lexical(texts, rules, tiers), paraphrase)

    def scan(self, batch: TextBatch, on_progress: Progress | None) -> _Shard:
        """Return the verified pairs of a shard, and its counts."""
        texts = batch.texts["text"]
        rows = Rows(texts, tokenise(texts))
        proposed = pl.concat([tables.empty(tables.CANDIDATES), *(index.scan(rows) for index in self.lexical.values())])
        found = verify(proposed, texts, rows.tokens, self.prepared, frozenset(self.tiers))
        pairs = [found.pairs]
        if self.paraphrase:
            close = pl.concat([index.scan(rows) for index in self.paraphrase.values()])
            pairs.append(verify_paraphrases(close, found.pairs, texts, rows.tokens, self.prepared))
        addressed = _with_addresses(pl.concat(pairs), batch.texts)
        if on_progress is not None:
            on_progress(batch.n_rows, int(texts.str.len_bytes().sum()))
        return _Shard(
            source=batch.source.name,
            n_rows=batch.n_rows,
            n_texts=len(texts),
            pairs=addressed,
            labels=_labels_of(addressed, batch),
            label_counts=_label_counts(batch.labels),
            bad_rows=batch.bad_rows,
            not_examined=batch.not_examined,
            n_template_only=found.n_template_only,
        )

    def describe(self, n_template_only: int) -> dict[str, Any]:
        """Return what the detectors' settings mean, for the report."""
        indexes = {**self.lexical, **self.paraphrase}
        templates = {"n_pairs_that_share_a_template_only": n_template_only}
        return {name: index.describe() for name, index in indexes.items()} | {"templates": templates}


def _lexical(texts: ItemTexts, rules: Rules, tiers: Sequence[str]) -> dict[str, Index]:
    indexes: dict[str, Index] = {}
    if "exact" in tiers:
        indexes["exact"] = ExactDetector().index(texts)
    if "contained" in tiers or "near" in tiers:
        indexes["seeds"] = SeedDetector().index(texts)
    if "near" in tiers:
        r = rules.minhash
        detector = MinHashDetector("minhash", r.jaccard, r.recall, r.permutations, r.bands, r.rows, r.seed)
        indexes["minhash"] = detector.index(texts)
    return indexes


def _with_addresses(pairs: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the address of each row text in place of its number in the shard."""
    address = texts.select(ADDRESS)[pairs["unit"]] if len(pairs) else texts.select(ADDRESS).clear()
    return address.hstack(pairs.drop("unit"))


def _labels_of(pairs: pl.DataFrame, batch: TextBatch) -> pl.DataFrame:
    """Return pool, row and the policies' labels of the rows that matched."""
    name = pl.lit(batch.source.name).alias("pool")
    return batch.labels.filter(pl.col("row").is_in(pairs["row"].unique().implode())).select(name, pl.all())


def _label_counts(labels: pl.DataFrame) -> dict[str, Counter[str]]:
    """Return policy -> label as text ("1", "0", "null") -> rows."""
    return {
        name: Counter(labels[name].cast(pl.String).fill_null("null").to_list())
        for name in labels.columns
        if name != "row"
    }


# ---------------------------------------------------------------- the report


def _report(
    pool: Pool,
    benchmarks: Sequence[Benchmark],
    scanner: _Scanner,
    shards: Sequence[_Shard],
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
        changed=_changed(settings, plan) | rules.changed(),
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


def _sources(pool: Pool, shards: Sequence[_Shard]) -> list[SourceResult]:
    def result(source: Source) -> SourceResult:
        mine = [shard for shard in shards if shard.source == source.name]
        return SourceResult(
            source.name, source.location, source.relative, source.format, source.compression, source.digest,
            source.n_bytes, sum(s.n_rows for s in mine), sum(s.n_texts for s in mine), 0, 0,
        )  # fmt: skip

    return [result(source) for source in pool.sources]


def _not_examined(
    pool: Pool, benchmarks: Sequence[Benchmark], scanner: _Scanner, shards: Sequence[_Shard]
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


def _by_label(shards: Sequence[_Shard], matches: pl.DataFrame) -> dict[str, dict[str, dict[str, int]]]:
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


def _settings(settings: AuditSettings, pool: Any, benchmarks: Any) -> dict[str, Any]:
    """Return the settings as plain values, with the inputs as they were named ("memory" for what was not a name)."""
    plain = asdict(settings.read)
    plain["labels"] = [asdict(rule) for rule in settings.read.labels]
    return {
        "pool": _named(pool),
        "benchmarks": _named(benchmarks),
        "tiers": list(settings.wanted()),
        "encoders": list(settings.encoders) if "paraphrase" in settings.wanted() else [],
        **{name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()},
    }


def _named(inputs: Any) -> list[str]:
    several = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    if any(not isinstance(one, (str, Path)) for one in several):
        return ["memory"]
    return [str(one) for one in several]


def _changed(settings: AuditSettings, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that differ from the defaults; where the data comes from and how it is cut up are none."""
    defaults = _settings(AuditSettings(), "", "")
    ignored = ("pool", "benchmarks", "labels", "shard_bytes", "id_column")
    return {name: value for name, value in plan.items() if name not in ignored and value != defaults[name]}


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
