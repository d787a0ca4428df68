"""Pool and benchmarks -> prompts with two labels, families and sides: what arms are trained and scored on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from auditkit import read
from auditkit.errors import InputError, LabelError
from auditkit.formats import read_records
from auditkit.records import Benchmark, LabelRule, Pool, ReadSettings, Source
from auditkit.stories.pool_rows import unmapped
from auditkit.study_records.results import Cells
from auditkit.study_records.settings import StudySettings

#: One prompt of the pool: its address, text, source, and labels under both policies (null where unknown).
PROMPTS: dict[str, pl.DataType] = {
    "pool": pl.String(),
    "row": pl.Int64(),
    "text": pl.String(),
    "source": pl.String(),
    "label_a": pl.Int8(),
    "label_b": pl.Int8(),
}

#: Fewer discordant prompts than this on one side leave the direction unidentifiable (docs/definitions.md).
MIN_DISCORDANT = 30


def read_settings(settings: StudySettings) -> ReadSettings:
    """Return how the study's pool is read."""
    labels = tuple(LabelRule(policy.name, policy.column, policy.values) for policy in settings.policies)
    return ReadSettings(fields=settings.text_fields, labels=labels)


def read_prompts(pool: Pool, settings: StudySettings) -> pl.DataFrame:
    """Return the pool's prompts (frame PROMPTS), in order: a row's texts joined, of chats what users say.

    Rows without text are left out. Rows whose labels are unknown under a policy stay: they train and count where the
    other policy is asked.

    Raises:
        InputError: no prompt at all, or the source column is missing.
        LabelError: a policy has labels of one class only.
    """
    wanted = read_settings(settings)
    counts = Counter[str]()
    names = _source_names(pool, settings.source_column)
    frames = [
        frame for source in pool.sources for frame in _of_source(source, wanted, settings, counts, len(pool.sources))
    ]
    prompts = pl.concat([pl.DataFrame(schema=PROMPTS), *frames])
    prompts = prompts.drop("source").join(names, on=["pool", "row"], how="left", maintain_order="left")
    prompts = prompts.select(PROMPTS.keys())
    if prompts.is_empty():
        raise InputError(f"no prompt with text in {', '.join(source.location for source in pool.sources)}")
    for column, policy in zip(("label_a", "label_b"), settings.policies, strict=True):
        classes = sorted(prompts[column].drop_nulls().unique())
        if classes != [0, 1]:
            more = f" ({text})" if (text := unmapped(policy.name, counts)) else ""
            raise LabelError(
                f"policy '{policy.name}' (column {policy.column}) has the labels {classes or 'none'}{more}, expected "
                "both 0 and 1; check the column and its value map"
            )
    return prompts


def _of_source(
    source: Source, wanted: ReadSettings, settings: StudySettings, counts: Counter[str], n_sources: int
) -> list[pl.DataFrame]:
    """Return the prompts of one source, their `source` null, and add to `counts` what was not examined."""
    a, b = (policy.name for policy in settings.policies)
    frames = []
    for batch in read.read_texts(source, wanted, may_lack_fields=n_sources > 1):
        counts.update(batch.not_examined)
        spoken = batch.texts.filter(pl.col("role").is_null() | (pl.col("role") == "user"))
        texts = spoken.group_by("pool", "row", maintain_order=True).agg(pl.col("text").str.join("\n\n"))
        joined = texts.filter(pl.col("text").str.strip_chars() != "").join(
            batch.labels.select("row", pl.col(a).alias("label_a"), pl.col(b).alias("label_b")), on="row", how="left",
            maintain_order="left",
        )  # fmt: skip
        frames.append(joined.with_columns(pl.lit(None, pl.String).alias("source")).select(PROMPTS.keys()))
    return frames


def _source_names(pool: Pool, column: str) -> pl.DataFrame:
    """Return pool, row and the value of the source column as text; no row where there is no such column to be read."""
    rows: list[tuple[str, int, str | None]] = []
    is_there = False
    for source in pool.sources if column else ():
        for batch in read_records(source):
            for number, record in zip(batch.numbers, batch.rows(), strict=True):
                is_there |= column in record
                value: Any = record.get(column)
                rows.append((source.name, number, None if value is None else str(value)))
    if rows and not is_there:
        places = ", ".join(source.location for source in pool.sources)
        raise InputError(f"{places}: no column '{column}' for the sources; name one of its columns, or leave it out")
    return pl.DataFrame(rows, schema={"pool": pl.String, "row": pl.Int64, "source": pl.String}, orient="row")


def benchmark_prompts(benchmark: Benchmark) -> pl.DataFrame:
    """Return item, text and expected label of a benchmark's items: the context, where there is one, then the question.

    Answers are no part of a prompt. Items without text are left out; they cannot be scored.
    """
    parts = benchmark.items.filter(pl.col("kind") != "answer").with_columns(
        (pl.col("kind") != "context").cast(pl.Int8).alias("place")
    )
    return (
        parts.sort("item", "place", maintain_order=True)
        .group_by("item", maintain_order=True)
        .agg(pl.col("text").str.join("\n\n"), pl.col("label").first().alias("expected"))
        .filter(pl.col("text").str.strip_chars() != "")
    )


def draw(prompts: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    """Return `n` prompts, stratified by label cell and source, in pool order; all where n is 0 or not smaller."""
    if n == 0 or n >= len(prompts):
        return prompts
    keys = prompts.select(
        pl.concat_str(["label_a", "label_b", "source"], separator="\0", ignore_nulls=False).fill_null("?")
    )
    strata = keys.to_series().rank("dense").to_numpy().astype(np.int64) - 1
    generator = np.random.default_rng(seed)
    sizes = np.bincount(strata)
    exact = sizes * n / len(prompts)
    taken = np.floor(exact).astype(np.int64)
    # Largest remainders get the rows that rounding left over.
    for stratum in np.argsort(-(exact - taken), kind="stable")[: n - taken.sum()]:
        taken[stratum] += 1
    chosen = [
        generator.choice(np.flatnonzero(strata == stratum), size, replace=False)
        for stratum, size in enumerate(taken)
        if size
    ]
    return prompts[np.sort(np.concatenate(chosen))]


def cells(labels_a: pl.Series, labels_b: pl.Series) -> Cells:
    """Return the counts of the four cells and of prompts that a policy does not label."""
    known = labels_a.is_not_null() & labels_b.is_not_null()
    a, b = labels_a.filter(known) == 1, labels_b.filter(known) == 1
    return Cells(
        n=len(labels_a),
        c1=int((a & b).sum()),
        c0=int((~a & ~b).sum()),
        d10=int((a & ~b).sum()),
        d01=int((~a & b).sum()),
        n_unknown=int((~known).sum()),
    )


def digest_of(texts: Sequence[str], *columns: Sequence[Any]) -> str:
    """Return the sha256 of texts and columns: the identity of a training set."""
    digest = hashlib.sha256()
    for row in zip(texts, *columns, strict=True):
        digest.update(json.dumps([str(value) for value in row]).encode() + b"\n")
    return f"sha256:{digest.hexdigest()}"
