"""Planted copies as rows beside a sample of the pool's own, through a scanner: which of them an audit finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import polars as pl

from auditkit import read, tables
from auditkit.estimates import Share
from auditkit.plant.copies import Kind, Material
from auditkit.records import TIERS, Pool, ReadSettings, Source, TextBatch
from auditkit.stories.scan import Scanner
from auditkit.text.items import ItemTexts
from auditkit.verify.error_rates import hold_like
from auditkit.verify.paraphrases import keep_best
from auditkit.verify.verdicts import conclude

PLANTED, SAMPLE = "planted", "sample"
#: One planted copy: its kind, its item, and what an audit makes of it.
PLANTS: tables.Schema = {
    "row": pl.Int64(),  # 0-based among the planted rows
    "kind": pl.String(),
    "benchmark": pl.String(),
    "item": pl.Int64(),
    "item_id": pl.String(),
    "part": pl.String(),
    "n_tokens": pl.Int64(),  # of the item's text
    "is_found": pl.Boolean(),  # a contaminated match of its item
    "is_reported": pl.Boolean(),  # any match of its item
    "tier": pl.String(),  # strongest tier among its contaminated matches, else of all, null without one
}


@dataclass(frozen=True)
class Planted:
    """Copies and the rows they stand among.

    Attributes:
        plants: frame PLANTS without its last three columns.
        copies: the planted texts, in the order of `plants`.
        sample: texts of the pool.
        n_not_made: kind -> items drawn that have no such copy.
    """

    plants: pl.DataFrame
    copies: pl.Series
    sample: pl.Series
    n_not_made: Mapping[str, int]


# ---------------------------------------------------------------- drawn


def sample_rows(pool: Pool, n_rows: Mapping[str, int], settings: ReadSettings, n: int, seed: int) -> pl.Series:
    """Return the texts of up to `n` rows of a pool, drawn without repetition: the same for every size of shard.

    Args:
        pool: read once, from its first row to the last one drawn of each source.
        n_rows: source -> its rows.
        settings: what of it is read.
        n: rows wanted.
        seed: of the draw.
    """
    total = sum(n_rows.values())
    chosen = sorted(Random(f"sample {seed}").sample(range(total), min(n, total)))
    texts, start = [pl.Series(dtype=pl.String)], 0
    for source in pool.sources:
        stop = start + n_rows[source.name]
        wanted = pl.Series([row - start for row in chosen if start <= row < stop], dtype=pl.Int64)
        texts += _texts_at(source, wanted, settings)
        start = stop
    return pl.concat(texts)


def _texts_at(source: Source, rows: pl.Series, settings: ReadSettings) -> Iterator[pl.Series]:
    n_read = 0
    for batch in read.read_texts(source, settings, may_lack_fields=True) if len(rows) else ():
        yield batch.texts.filter(pl.col("row").is_in(rows.implode()))["text"]
        n_read += batch.n_rows
        if n_read > int(rows[-1]):
            return


def draw_items(texts: ItemTexts, n: int, seed: int) -> pl.DataFrame:
    """Return one text each of up to `n` items that some tier can examine: their question, else their first text."""
    ordered = texts.parts.filter(pl.col("text_index") < texts.n_own).sort(
        pl.col("kind") != "question", maintain_order=True
    )
    items = ordered.unique(["benchmark", "item"], keep="first", maintain_order=True).sort("part_index")
    lengths = pl.Series("n_tokens", texts.tokens.lengths[items["text_index"].to_numpy()], dtype=pl.Int64)
    chosen = sorted(Random(f"items {seed}").sample(range(len(items)), min(n, len(items))))
    return items.with_columns(lengths)[chosen]


def plant(
    kinds: Sequence[Kind], items: pl.DataFrame, sample: pl.Series, rephrased: Mapping[str, str], seed: int
) -> Planted:
    """Return a copy of every item in every kind that it can be made in.

    Args:
        kinds: of copies.
        items: what `draw_items` gave.
        sample: texts of the pool: copies are embedded in them.
        rephrased: item text -> the same in other words.
        seed: of all that is drawn.
    """
    words = sorted({word for text in items["text"] for word in text.split()})
    material = Material(words, sample.to_list(), rephrased)
    made, n_not_made = list[tuple[str, int, str]](), dict[str, int]()
    for kind in kinds:
        copies = [kind.make(text, Random(f"{kind.name} {seed} {i}"), material) for i, text in enumerate(items["text"])]
        made += [(kind.name, i, copy) for i, copy in enumerate(copies) if copy is not None]
        n_not_made[kind.name] = sum(copy is None for copy in copies)
    names, places, texts = zip(*made, strict=True) if made else ((), (), ())
    about = items.select("benchmark", "item", "item_id", "part", "n_tokens")[list(places)]
    plants = about.with_columns(pl.Series("kind", names, dtype=pl.String)).with_row_index("row")
    plants = plants.select(pl.col("row").cast(pl.Int64), "kind", *about.columns)
    return Planted(plants, pl.Series(texts, dtype=pl.String), sample, n_not_made)


# ---------------------------------------------------------------- found


@dataclass(frozen=True)
class Found:
    """What an audit finds: frame PLANTS, and rows of the sample with a match of any verdict."""

    plants: pl.DataFrame
    n_sample_rows: int


def find(planted: Planted, scanner: Scanner, audited: pl.DataFrame, fdr: float | None) -> Found:
    """Return which planted copies an audit finds, each kind planted by itself among the sample.

    Args:
        planted: copies and sample.
        scanner: the benchmarks, with the rules that are tried.
        audited: the matches of the audit: with `fdr`, what is weaker than all that it let stand is for review here too.
        fdr: see AuditSettings.
    """
    pairs, own = _pairs(planted.copies, scanner, PLANTED), _pairs(planted.sample, scanner, SAMPLE)
    labels = pl.DataFrame(schema={"pool": pl.String, "row": pl.Int64})
    found, sample_rows = list[pl.DataFrame](), set[int]()
    for _, plants in planted.plants.group_by("kind", maintain_order=True):
        mine = pairs.filter(pl.col("row").is_in(plants["row"].implode()))
        matches = conclude(keep_best(pl.concat([mine, own]), []).pairs, scanner.prepared, labels)
        matches = matches if fdr is None else hold_like(matches, audited, fdr)
        found.append(_judged(plants, matches.filter(pl.col("pool") == PLANTED)))
        sample_rows |= set(matches.filter(pl.col("pool") == SAMPLE)["row"])
    return Found(pl.concat([tables.empty(PLANTS), *found]), len(sample_rows))


def _pairs(texts: pl.Series, scanner: Scanner, name: str) -> pl.DataFrame:
    """Return the verified pairs of texts, each a row of its own."""
    rows = pl.int_range(len(texts), dtype=pl.Int64, eager=True).alias("row")
    nulls = [pl.lit(None, tables.TEXTS[column]).alias(column) for column in ("row_id", "turn", "role")]
    frame = pl.DataFrame([rows, texts.alias("text")]).with_columns(
        *nulls, pl.lit(name).alias("pool"), pl.lit("text").alias("field")
    )
    source, no_labels = Source(name, name, "list", "", "", "", 0), rows.to_frame().clear()
    batch = TextBatch(source, len(texts), frame.select(tables.TEXTS.keys()), no_labels, pl.Series(dtype=pl.UInt64))
    pairs = scanner.scan(batch).pairs
    return pairs.filter(pl.col("text") < scanner.texts.n_own).select(pl.lit(name).alias("pool"), pl.all())


def _judged(plants: pl.DataFrame, matches: pl.DataFrame) -> pl.DataFrame:
    """Return frame PLANTS: what the matches say of each plant's own item."""
    condemned = pl.col("verdict") == "contaminated"
    best = matches.sort(~condemned, pl.col("tier").cast(pl.Enum(TIERS)), maintain_order=True)
    about = best.group_by("row", "benchmark", "item", maintain_order=True).agg(
        condemned.any().alias("is_found"), (pl.len() > 0).alias("is_reported"), pl.col("tier").first()
    )
    joined = plants.join(about, on=["row", "benchmark", "item"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("is_found", "is_reported").fill_null(False)).select(PLANTS.keys())


def share(are_found: pl.Series) -> Share:
    """Return the share of true values with its modified Wilson interval at 95 %."""
    from auditkit.evaluate.scoring import modified_wilson

    estimate = modified_wilson(int(are_found.sum()), len(are_found))
    return Share(int(are_found.sum()), len(are_found), estimate.value, estimate.low, estimate.high)
