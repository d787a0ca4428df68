"""A pool written again by side: every source's rows in its own format, below a folder for each side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from auditkit.errors import InputError, OutputError
from auditkit.formats import digest_file, digest_source, open_writer, read_records
from auditkit.formats.naming import MANIFEST, SPLIT_FILE
from auditkit.records import Pool, Source
from auditkit.split.guard import output_names


@dataclass(frozen=True)
class SideFile:
    """One source's rows of one side. `output` is a path below the output folder; `name` the source's."""

    side: str
    name: str
    output: str
    n_rows: int
    output_digest: str


def side_paths(pool: Pool, sides: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return (side, source name) -> path below the output folder.

    Raises:
        OutputError: a side cannot be a folder's name, or a source's name leads elsewhere or is taken.
    """
    names = output_names(pool.sources)
    for side in sides:
        if side in (MANIFEST, SPLIT_FILE) or side != Path(side).name or side.startswith(".") or not side.isprintable():
            raise OutputError(f"side {side!r} cannot be the name of a folder; choose another, such as train")
    return {(side, name): f"{side}/{path}" for side in sides for name, path in names.items()}


def write_sides(
    pool: Pool,
    placed: pl.DataFrame,
    paths: Mapping[tuple[str, str], str],
    folder: Path,
    *,
    bad_rows: Literal["error", "skip"] = "error",
    on_rows: Callable[[int], None] | None = None,
) -> tuple[SideFile, ...]:
    """Write every placed row once, unchanged, and return the files; a side that has no row of a source gets no file.

    Args:
        pool: what is read.
        placed: pool, row and side of every good row.
        paths: see `side_paths`.
        folder: where the paths begin.
        bad_rows: as the pool was read: "skip" leaves broken records out.
        on_rows: called with the number of rows of each batch.

    Raises:
        InputError: the pool is no longer what was read.
        OutputError: a file cannot be written.
    """
    files: list[SideFile] = []
    for source in pool.sources:
        mine = placed.filter(pl.col("pool") == source.name)
        side_of = dict(mine.select("row", "side").iter_rows())
        counts = dict(mine.group_by("side").len().iter_rows())
        outputs = {side: paths[side, name] for side, name in paths if name == source.name and counts.get(side)}
        _write_source(source, side_of, {side: folder / output for side, output in outputs.items()}, bad_rows, on_rows)
        if digest_source(source)[0] != source.digest:
            raise _changed(source)
        for side, output in outputs.items():
            files.append(SideFile(side, source.name, output, counts[side], digest_file(folder / output)[0]))
    return tuple(files)


def _write_source(
    source: Source,
    side_of: Mapping[int, str],
    paths: Mapping[str, Path],
    bad_rows: Literal["error", "skip"],
    on_rows: Callable[[int], None] | None,
) -> None:
    with ExitStack() as stack:
        writers = {side: stack.enter_context(open_writer(source, path)) for side, path in paths.items()}
        for batch in read_records(source, bad_rows):
            sides = [side_of.get(row) for row in batch.numbers]
            if None in sides:
                raise _changed(source)
            for side, writer in writers.items():
                writer.write_raw(batch, [other == side for other in sides])
            if on_rows:
                on_rows(batch.n_records)


def _changed(source: Source) -> InputError:
    return InputError(f"{source.location}: changed while it was split; split it again")
