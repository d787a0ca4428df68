"""A pool by sides: families together, strata in proportion, and the proof that no near pair stands on two sides."""

from __future__ import annotations

import importlib.metadata
import io
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import read
from auditkit.errors import InputError, UsageError
from auditkit.families import FAMILIES
from auditkit.formats import streams
from auditkit.formats.naming import MANIFEST, SPLIT_FILE, SPLIT_KIND
from auditkit.records import Pool
from auditkit.split.groups import assign, parse_shares
from auditkit.split.guard import check_output_folder, whole_folder
from auditkit.split.sides import SideFile, side_paths, write_sides
from auditkit.stories.families import families_of, joining_texts
from auditkit.stories.near import FamilySettings, NearIndex
from auditkit.stories.pool_rows import PoolRows, column_values, inputs_on_disk, read_rows, unmapped
from auditkit.text.normalise import describe

SHARES: Mapping[str, Any] = {"train": "0.8", "dev": "0.1", "test": "0.1"}
#: A side's own words decide which are common and which are a template, so an audit of sides may condemn a pair that one
#: of the whole pool does not. Such families are joined and the pool is placed anew, so often at most. Families only
#: grow, so it ends; the 1,600 rows of the demo took 6 and 7 rounds under two settings of the detectors.
MAX_ROUNDS = 24
#: A family above this share of the rows is named.
LARGE_SHARE = 0.1


@dataclass(frozen=True)
class Proof:
    """What the audit of each side against the others found, in the files as written.

    Attributes:
        n_crossing: near pairs of texts on two sides; 0 in everything that is written.
        n_compared: side -> distinct-text comparisons it was indexed for: texts of the other sides looked up in it.
        n_rounds: placements that were tried; the last one is written.
        n_joined: near pairs that only an audit of sides condemned and whose families were joined.
    """

    n_crossing: int
    n_compared: Mapping[str, int]
    n_rounds: int
    n_joined: int


@dataclass(frozen=True)
class PoolSplit:
    """What `split_pool` wrote.

    Attributes:
        folder: the output folder.
        files: one per side and source.
        shares: side -> share asked for, as text.
        counts: side -> rows.
        by_cell, by_source: cell or source -> side -> rows.
        n_families, n_with_others, largest: families, families of several rows, rows of the largest.
        proof: see Proof.
        notes: what a person should know.
        placed: pool, row, family, side of every row, in the pool's order.
    """

    folder: Path
    files: tuple[SideFile, ...]
    shares: Mapping[str, str]
    seed: int
    counts: Mapping[str, int]
    by_cell: Mapping[str, Mapping[str, int]]
    by_source: Mapping[str, Mapping[str, int]]
    n_families: int
    n_with_others: int
    largest: int
    proof: Proof
    notes: tuple[str, ...]
    placed: pl.DataFrame = field(repr=False, compare=False)


def split_pool(
    pool: Any,
    out: str | Path,
    *,
    shares: Mapping[str, Any] = SHARES,
    seed: int = 0,
    source_column: str = "",
    group_column: str = "",
    settings: FamilySettings | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> PoolSplit:
    """Write a pool by sides, near-duplicate families whole, and prove on what was written that no near pair crosses.

    `out` then holds SIDE/NAME in the pool's own formats, split.parquet (pool, row, family, side) and manifest.json. It
    appears whole or not at all. Equal input, settings and seed give equal bytes.

    Args:
        pool: whatever `auditkit.open_pool` takes.
        out: a new or empty folder.
        shares: side -> share; numbers or texts, together exactly 1.
        seed: of the order of families of one size.
        source_column: rows are stratified by its value, else by the pool's sources.
        group_column: rows of one value stand on one side, as if they were near; rows without a value stand alone.
        settings: what is read (its labels make the strata) and what is near.
        on_rows: called with the number of rows of each batch that was written.

    Raises:
        UsageError: bad shares, fewer families than sides.
        InputError: the pool cannot be read, or changes meanwhile.
        OutputError: `out` is in use, is an input, or cannot be written.
    """
    settings, out = settings or FamilySettings(), Path(out)
    exact = parse_shares(shares)
    opened = read.open_pool(pool, settings.read)
    check_output_folder(out, inputs_on_disk(opened, pool))
    paths = side_paths(opened, list(exact))
    rows = read_rows(opened, settings.read, source_column)
    families = families_of(rows, settings)
    if group_column:
        groups = column_values(opened, settings.read, group_column, "group column")
        families = _joined(families, _links_of(rows.rows.select("pool", "row"), groups))
    with whole_folder(out) as spare:
        placed, files, proof = _place(opened, rows, families, exact, seed, paths, spare, settings, on_rows)
        result = _result(out, files, placed, rows, shares, seed, proof)
        _write_tables(result, opened, rows, settings, {"source": source_column, "group": group_column}, spare)
    return result


# ---------------------------------------------------------------- placing and proving


def _place(
    pool: Pool,
    rows: PoolRows,
    families: pl.DataFrame,
    shares: Mapping[str, Any],
    seed: int,
    paths: Mapping[tuple[str, str], str],
    folder: Path,
    settings: FamilySettings,
    on_rows: Callable[[int], None] | None,
) -> tuple[pl.DataFrame, tuple[SideFile, ...], Proof]:
    """Return where each row stands, the files, and the proof; what crosses is joined and placed again."""
    strata = [f"{cell}\0{source}" for cell, source in zip(rows.cell, rows.rows["source"], strict=True)]
    n_joined = 0
    for turn in range(1, MAX_ROUNDS + 1):
        sides = assign(families["family"].to_list(), strata, shares, seed)
        placed = families.with_columns(pl.Series("side", sides, dtype=pl.String))
        files = write_sides(pool, placed, paths, folder, bad_rows=settings.read.bad_rows, on_rows=on_rows)
        crossing, n_compared = prove(folder, files, placed, settings)
        if crossing.is_empty():
            return placed, files, Proof(0, n_compared, turn, n_joined)
        n_joined += len(crossing)
        families = _joined(families, crossing)
        for side in shares:
            shutil.rmtree(folder / side, ignore_errors=True)
    raise UsageError(
        f"after {MAX_ROUNDS} placements {len(crossing):,} near pairs still stand on two sides; "
        "name the prompt's column with --fields, or use other --rules"
    )


def prove(
    folder: Path, files: Sequence[SideFile], placed: pl.DataFrame, settings: FamilySettings
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the near pairs of rows on two sides, and side -> how many texts of other sides were looked up in it.

    The files are read again; each side's texts are indexed as the items of an audit of the other sides.

    Returns:
        A frame of `left_pool`, `left_row`, `right_pool`, `right_row`: one line for each near pair of texts, its rows as
        numbered in the pool that was split.
    """
    texts = pl.concat([_texts_of(folder, file, placed, settings) for file in files])
    pairs, n_compared = [], {}
    for side in texts["side"].unique(maintain_order=True):
        mine = _distinct(texts.filter(pl.col("side") == side))
        others = _distinct(texts.filter(pl.col("side") != side))
        index = NearIndex.make(mine["text"], settings)
        found = index.pairs(others["text"])
        items = index.texts.parts.unique("text_index", keep="first", maintain_order=True).sort("text_index")["item"]
        left, right = mine[items.gather(found["text"])], others[found["unit"]]
        pairs.append(
            left.select(pl.col("pool", "row").name.prefix("left_")).hstack(
                right.select(pl.col("pool", "row").name.prefix("right_"))
            )
        )
        n_compared[side] = len(others)
    return pl.concat(pairs), n_compared


def _texts_of(folder: Path, file: SideFile, placed: pl.DataFrame, settings: FamilySettings) -> pl.DataFrame:
    """Return the joining texts of a written file, with side, pool and row of the pool that was split."""
    written = read.open_pool({file.name: folder / file.output}, settings.read)
    found = read_rows(written, settings.read)
    mine = placed.filter((pl.col("pool") == file.name) & (pl.col("side") == file.side)).sort("row")
    if len(found.rows) != len(mine):
        raise InputError(f"{file.output}: {len(found.rows):,} rows were written, expected {len(mine):,}; split again")
    address = mine.select(pl.int_range(pl.len()).alias("at"), pl.col("row").alias("row_before"))
    joining = joining_texts(found.texts).join(address, left_on="row", right_on="at", maintain_order="left")
    side, name = pl.lit(file.side).alias("side"), pl.lit(file.name).alias("pool")
    return joining.select(side, name, pl.col("row_before").alias("row"), "text")


def _distinct(texts: pl.DataFrame) -> pl.DataFrame:
    return texts.unique("text", keep="first", maintain_order=True)


def _links_of(rows: pl.DataFrame, groups: pl.Series) -> pl.DataFrame:
    """Return each row of a group beside the one before it: `left_pool`, `left_row`, `right_pool`, `right_row`."""
    before = pl.col("pool", "row").shift().over("group")
    chained = rows.with_columns(groups.alias("group")).drop_nulls("group")
    chained = chained.with_columns(before.name.prefix("left_")).drop_nulls("left_row")
    return chained.select("left_pool", "left_row", pl.col("pool", "row").name.prefix("right_"))


def _joined(families: pl.DataFrame, crossing: pl.DataFrame) -> pl.DataFrame:
    """Return the families with those of linked rows joined: frame FAMILIES."""
    from auditkit.families import family_frame

    # A family is a text that all its rows share; a crossing pair links two of them.
    codes = {name: at for at, name in enumerate(families["family"].unique(maintain_order=True))}
    numbered = families.with_columns(pl.col("family").replace_strict(codes, return_dtype=pl.Int64).alias("text"))
    of_row = numbered.select("pool", "row", "text")
    ends = [
        crossing.select(pl.col(f"{end}_pool").alias("pool"), pl.col(f"{end}_row").alias("row")).join(
            of_row, on=["pool", "row"], how="left", maintain_order="left"
        )["text"]
        for end in ("left", "right")
    ]
    return family_frame(families, of_row, pl.DataFrame({"left": ends[0], "right": ends[1]})).select(FAMILIES.keys())


# ---------------------------------------------------------------- results


def _result(
    out: Path,
    files: tuple[SideFile, ...],
    placed: pl.DataFrame,
    rows: PoolRows,
    shares: Mapping[str, Any],
    seed: int,
    proof: Proof,
) -> PoolSplit:
    sides = list(shares)
    sizes = placed.unique("family")["size"]
    largest = int(sizes.max() or 0)  # type: ignore[arg-type]
    table = placed.with_columns(rows.cell.alias("cell"), rows.rows["source"].alias("source"))
    counts = _counts(table, "side")
    return PoolSplit(
        folder=out,
        files=files,
        shares={side: str(share) for side, share in shares.items()},
        seed=seed,
        counts={side: counts.get(side, 0) for side in sides},
        by_cell=_by(table, "cell", sides) if rows.policies else {},
        by_source=_by(table, "source", sides),
        n_families=len(sizes),
        n_with_others=int((sizes > 1).sum()),
        largest=largest,
        proof=proof,
        notes=tuple(_notes(rows, placed, largest)),
        placed=placed.select("pool", "row", "family", "side"),
    )


def _counts(table: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(table.group_by(column).len().iter_rows())


def _by(table: pl.DataFrame, column: str, sides: Sequence[str]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for name, side, n in table.group_by(column, "side").len().sort(column, "side").iter_rows():
        found.setdefault(name, dict.fromkeys(sides, 0))[side] = n
    return found


def _notes(rows: PoolRows, placed: pl.DataFrame, largest: int) -> list[str]:
    notes = []
    if largest > LARGE_SHARE * len(placed):
        family = placed.sort("size", descending=True, maintain_order=True)["family"][0]
        notes.append(
            f"the largest family has {largest:,} of {len(placed):,} rows (first row {family}) and stands on one side; "
            "if a shared instruction is all that they share, name the prompt's column with --fields"
        )
    for policy in rows.policies:
        known = rows.rows[policy].drop_nulls().unique()
        if len(known) == 1:
            notes.append(f"policy {policy}: all labels are {known[0]}; nothing can be learned or measured of it")
        if text := unmapped(policy, rows.not_examined):
            notes.append(f"policy {policy}: {text}; these rows count as unknown")
    n_empty = len(rows.rows) - rows.texts.select("pool", "row").n_unique()
    if n_empty:
        notes.append(f"{n_empty:,} rows have no prompt; each is a family of its own")
    if rows.bad_rows:
        notes.append(f"{len(rows.bad_rows):,} broken records were left out")
    return notes


def _write_tables(
    result: PoolSplit, pool: Pool, rows: PoolRows, settings: FamilySettings, columns: Mapping[str, str], folder: Path
) -> None:
    content = io.BytesIO()
    result.placed.write_parquet(content)
    plain = {
        "kind": SPLIT_KIND,
        "auditkit": importlib.metadata.version("benchmark-auditkit"),
        "settings": {
            "shares": result.shares,
            "seed": result.seed,
            "labels": [asdict(rule) for rule in settings.read.labels],
            **{f"{what}_column": name for what, name in columns.items()},
            "fields": list(settings.read.fields),
            "roles": list(settings.read.roles),
            "bad_rows": settings.read.bad_rows,
            "join_numbers": settings.join_numbers,
            "max_texts": settings.max_texts,
        },
        "rules_version": settings.all_rules().version,
        "rules_changed": settings.all_rules().changed(),
        "normalisation": describe(),
        "inputs": [{"name": s.name, "location": s.location, "digest": s.digest} for s in pool.sources],
        "counts": result.counts,
        "by_cell": result.by_cell,
        "by_source": result.by_source,
        "families": {"n": result.n_families, "n_of_several_rows": result.n_with_others, "largest": result.largest},
        "proof": asdict(result.proof),
        "not_examined": rows.not_examined,
        "notes": result.notes,
        "sources": [asdict(file) for file in result.files],
        "table": SPLIT_FILE,
    }
    text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    with streams.writing(folder):
        (folder / SPLIT_FILE).write_bytes(content.getvalue())
        (folder / MANIFEST).write_text(text, "utf-8")
