"""The frozen records that rooms hand to each other: one of a thing, named by the terms of docs/definitions.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from auditkit.estimates import ErrorRates, Power
from auditkit.findings import Chain, PoolTemplates

Tier = Literal["exact", "contained", "near", "paraphrase"]
Verdict = Literal["contaminated", "review"]

#: Strongest first.
TIERS: tuple[str, ...] = ("exact", "contained", "near", "paraphrase")
LEXICAL_TIERS: tuple[str, ...] = TIERS[:3]
VERDICTS: tuple[str, ...] = ("contaminated", "review")


# ---------------------------------------------------------------- input


@dataclass(frozen=True)
class Source:
    """One file (or split, or frame in memory) of a pool or benchmark.

    Attributes:
        name: unique in its pool; the path below the inputs' common folder without suffixes ("train", "en/train").
        location: what the user named: a path, an address such as "s3://bucket/train.jsonl",
            "hf:org/name:config:split@revision", or "memory".
        format: jsonl | json | csv | tsv | parquet | text | arrow (a folder saved by `datasets`) | frame | list.
        compression: "", "gz" or "zst".
        relative: path below the inputs' common folder with suffixes, "" for inputs that are not files.
        digest: "sha256:..." of the file's bytes (of the Arrow bytes of a frame); of a file in a store "etag:...",
            "version:..." or "modified:...", see formats/remote.py.
        n_bytes: size of what was digested.
        data: the frame or list itself for inputs in memory, None for files.
    """

    name: str
    location: str
    format: str
    compression: str
    relative: str
    digest: str
    n_bytes: int
    data: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Pool:
    """The training data under audit: its sources in a fixed order.

    Attributes:
        sources: what is read.
        skipped_files: files of the named folders that are not read: hidden ones, and those of unknown suffix.
    """

    sources: tuple[Source, ...]
    skipped_files: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Size of the sources as they lie."""
        return sum(source.n_bytes for source in self.sources)


@dataclass(frozen=True)
class LabelRule:
    """How one policy's labels are read from a column.

    Attributes:
        policy: the policy's name, a column name of the output.
        column: the pool column.
        values: value as text (casefolded; booleans as "true"/"false") -> 0, 1 or None (no label). Empty: the default
            map, which knows 0/1, true/false, yes/no, harmful/benign, unsafe/safe and the like. What no map names is
            counted as unmapped, never read as 0.
    """

    policy: str
    column: str
    values: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadSettings:
    """What of the input is read.

    Attributes:
        fields: only these text columns; empty means all text that is found.
        roles: only these chat roles; empty means all.
        labels: policies' label columns.
        id_column: the id column; "" means the usual names (id, row_id, uid, ...).
        bad_rows: "error" stops at the first broken record, "skip" sets it aside, counts and lists it.
        shard_bytes: target size of one batch of text.
    """

    fields: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    labels: tuple[LabelRule, ...] = ()
    id_column: str = ""
    bad_rows: Literal["error", "skip"] = "error"
    shard_bytes: int = 8 << 20


@dataclass(frozen=True)
class BadRow:
    """A broken record that was set aside."""

    location: str
    line: int
    row: int  # 0-based record number it takes up in its source
    reason: str


@dataclass(frozen=True)
class TextBatch:
    """One shard of a source.

    Attributes:
        source: where it comes from.
        n_rows: records in the shard, those without text and the set-aside ones included.
        texts: frame of tables.TEXTS, in record order.
        labels: column `row` (Int64) and one Int8 column per policy; empty columns where no policy is declared.
        id_hashes: a hash for each row id that is not null, of the first rows of the source (see read/ids.py): UInt64.
        bad_rows: broken records set aside.
        not_examined: counts by reason, for example {"null field text": 3, "image": 12, "excluded field answer": 90,
            "label harm unmapped": 2, "label harm null": 1}. Duplicate ids are counted over a whole source only.
        n_source_bytes: bytes of the source, as it lies on disk, that were consumed since the last shard; over all
            shards about `source.n_bytes`.
    """

    source: Source
    n_rows: int
    texts: pl.DataFrame
    labels: pl.DataFrame
    id_hashes: pl.Series
    bad_rows: tuple[BadRow, ...] = ()
    not_examined: Mapping[str, int] = field(default_factory=dict)
    n_source_bytes: int = 0


@dataclass(frozen=True)
class Benchmark:
    """An evaluation set, read.

    Attributes:
        name: registered name, or the file's stem.
        source: where it was read from.
        items: frame of tables.ITEMS.
        n_items: records, those without text included.
        revision, licence, policy, unit, klass: from the registry; "" where unknown. `klass`: harmful, benign or mixed.
        is_registered: whether the name stands in the registry.
        notes: what a reader must know (columns guessed, count not as registered upstream, unverified facts).
        public_items: items that are public text, as the file's column `is_public` says.
        public_note: why all items are public text, from the registry; "" where they are not.
    """

    name: str
    source: Source
    items: pl.DataFrame
    n_items: int
    revision: str = ""
    licence: str = ""
    policy: str = ""
    unit: str = ""
    klass: str = ""
    is_registered: bool = False
    notes: tuple[str, ...] = ()
    public_items: frozenset[int] = frozenset()
    public_note: str = ""


# ---------------------------------------------------------------- results


@dataclass(frozen=True)
class BenchmarkResult:
    """What an audit found of one benchmark. Counts say what they count: items or rows.

    Attributes:
        leak_rate: n_found / n_items, null for an empty benchmark.
        found_by_tier: items by the strongest tier of their contaminated matches.
        n_review: items with review matches and no contaminated one.
        by_slice, by_label: name -> {"n_items", "n_found", "n_review"}; `by_public` the same by what makes items public
            text.
        n_public: items that are public text; `leak_rate_without_public` of the others, null where there is none.
    """

    name: str
    n_items: int
    n_found: int
    leak_rate: float | None
    found_by_tier: Mapping[str, int]
    n_review: int
    reported_rate: float | None
    n_unmatchable: int
    n_rows: int
    n_review_rows: int
    location: str
    digest: str
    revision: str
    licence: str
    policy: str
    unit: str
    klass: str
    is_registered: bool
    notes: tuple[str, ...]
    by_slice: Mapping[str, Mapping[str, int]]
    by_label: Mapping[str, Mapping[str, int]]
    by_public: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    n_public: int = 0
    leak_rate_without_public: float | None = None


@dataclass(frozen=True)
class SourceResult:
    """What an audit found in one source of the pool."""

    name: str
    location: str
    relative: str
    format: str
    compression: str
    digest: str
    n_bytes: int
    n_rows: int
    n_texts: int
    n_rows_contaminated: int
    n_rows_review: int  # rows with review matches only


@dataclass(frozen=True)
class AuditReport:
    """Everything report.json holds, and the two tables.

    Attributes:
        settings: all settings, as plain values.
        changed: dotted name -> value of the settings and rules that differ from the defaults.
        rules: the rules in force, as plain values; `rules_version` names them.
        not_examined: reason -> count over the pool.
        bad_rows: set-aside records.
        tiers_run: tiers that ran; `tiers_not_run` tier -> why, and what it would cost.
        detectors: per detector what its settings mean (bands, rows, expected recall, collision curve, encoder digest).
        by_label: policy -> label ("1", "0", "null") -> {"n_rows", "n_rows_contaminated"}.
        versions: package -> version; `normalisation` names the text normalisation.
        seconds: wall time of the stages; `run` how it was run (engine, shards, those taken from an earlier run). Both
            stand in timing.json: equal audits differ in them.
        matches: frame of tables.MATCHES plus pool_labels.
        items: frame of tables.ITEM_RESULTS.
        errors: how often matches are wrong, None without decoys; `power` what share of copies would have been found,
            None before `auditkit power` was run.
        templates: wrappers that recur in the pool, None where they were not looked for; `chain` through which pools
            items leaked, None without pools that came before.
    """

    sources: tuple[SourceResult, ...]
    benchmarks: tuple[BenchmarkResult, ...]
    n_rows: int
    n_texts: int
    n_rows_contaminated: int
    n_rows_review: int
    pool_hit_rate: float | None
    pool_digest: str
    settings: Mapping[str, Any]
    changed: Mapping[str, Any]
    rules: Mapping[str, Any]
    rules_version: str
    not_examined: Mapping[str, int]
    bad_rows: tuple[BadRow, ...]
    tiers_run: tuple[str, ...]
    tiers_not_run: Mapping[str, str]
    detectors: Mapping[str, Any]
    by_label: Mapping[str, Mapping[str, Mapping[str, int]]]
    normalisation: str
    versions: Mapping[str, str]
    seconds: Mapping[str, float]
    matches: pl.DataFrame = field(repr=False, compare=False)
    items: pl.DataFrame = field(repr=False, compare=False)
    folder: Path | None = None
    run: Mapping[str, Any] = field(default_factory=dict, compare=False)
    errors: ErrorRates | None = None
    power: Power | None = None
    templates: PoolTemplates | None = None
    chain: Chain | None = None
