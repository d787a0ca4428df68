"""Pool and benchmarks -> prompts with two labels, families and sides: what arms are trained and scored on."""

from __future__ import annotations

import numpy as np
import polars as pl

from auditkit.errors import InputError, LabelError
from auditkit.records import Benchmark, LabelRule, Pool, ReadSettings
from auditkit.stories.pool_rows import NO_SOURCE, read_rows, unmapped
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


def read_settings(settings: StudySettings) -> ReadSettings:
    """Return how the study's pool is read."""
    labels = tuple(LabelRule(policy.name, policy.column, policy.values) for policy in settings.policies)
    return ReadSettings(fields=settings.text_fields, labels=labels)


def read_prompts(pool: Pool, settings: StudySettings) -> pl.DataFrame:
    """Return the pool's prompts (frame PROMPTS), in order: a row's prompts (see read/prompts.py) joined.

    Rows without text are left out. Rows whose labels are unknown under a policy stay: they train and count where the
    other policy is asked.

    Raises:
        InputError: no prompt at all. FieldError: the source column is missing.
        LabelError: a policy has no labels, or labels of one class only.
    """
    found = read_rows(pool, read_settings(settings), settings.source_column)
    a, b = (policy.name for policy in settings.policies)
    source = pl.col("source").replace(NO_SOURCE, None) if settings.source_column else pl.lit(None, pl.String)
    labels = pl.col(a).alias("label_a"), pl.col(b).alias("label_b")
    of_row = found.rows.select("pool", "row", source.alias("source"), *labels)
    texts = found.texts.group_by("pool", "row", maintain_order=True).agg(pl.col("text").str.join("\n\n"))
    prompts = texts.filter(pl.col("text").str.strip_chars() != "").join(
        of_row, on=["pool", "row"], how="left", maintain_order="left"
    )
    prompts = prompts.select(PROMPTS.keys())
    if prompts.is_empty():
        raise InputError(f"no prompt with text in {', '.join(source.location for source in pool.sources)}")
    for column, policy in zip(("label_a", "label_b"), settings.policies, strict=True):
        classes = sorted(prompts[column].drop_nulls().unique())
        if classes != [0, 1]:
            more = f" ({text})" if (text := unmapped(policy.name, found.not_examined)) else ""
            raise LabelError(
                f"policy '{policy.name}' (column {policy.column}) has the labels {classes or 'none'}{more}, expected "
                "both 0 and 1; check the column and its value map"
            )
    return prompts


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
    strata = strata_of(prompts).rank("dense").to_numpy().astype(np.int64) - 1
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


def strata_of(prompts: pl.DataFrame) -> pl.Series:
    """Return what drawing and splitting keep in proportion: both labels and the source, as one text a prompt."""
    parts = [pl.col(name).cast(pl.String).fill_null("?") for name in ("label_a", "label_b", "source")]
    return prompts.select(pl.concat_str(parts, separator="\0")).to_series()
