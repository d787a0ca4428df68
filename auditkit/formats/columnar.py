"""Columnar formats: Parquet, folders saved by `datasets`, frames in memory. Values keep their Arrow types."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from auditkit.errors import BadRecordError, InputError
from auditkit.formats.batch import SKIP_HINT, RecordBatch
from auditkit.formats.naming import is_saved_dataset
from auditkit.formats.streams import open_bytes, open_input
from auditkit.records import BadRow, Source

BadRows = Literal["error", "skip"]
_DECODED_ROWS = 4096
#: Row groups that are read together as one piece have so many bytes, decoded; one row group may have more.
PIECE_BYTES = 64 << 20


class Placed(NamedTuple):
    """A table, the number of its first row, and how many bytes of its source were consumed for it."""

    table: Any
    first: int
    n_bytes: int


# ---------------------------------------------------------------- sources of Arrow tables


@contextmanager
def open_parquet(place: Path | str, location: str, compression: str = "") -> Iterator[Any]:
    """Give a pyarrow ParquetFile, read by ranges; a compressed one is unpacked into a temporary file first.

    Raises:
        BadRecordError: (line None) the file is truncated or no Parquet.
    """
    with tempfile.TemporaryFile() as spare, open_bytes(place) as plain:
        file: IO[bytes] = plain
        if compression:
            with open_input(place, compression) as packed:
                shutil.copyfileobj(packed, spare, 1 << 20)
            spare.seek(0)
            file = spare
        with arrow_errors(location, "Parquet"), pq.ParquetFile(file) as parquet:
            yield parquet


@contextmanager
def arrow_errors(location: str, what: str) -> Iterator[None]:
    """Turn pyarrow's complaints about a file into one BadRecordError without a line."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as exc:
        first = str(exc).split("\n", 1)[0][:200]
        reason = f"not a complete {what} file ({first})"
        raise BadRecordError(location, None, reason, "Copy or write the file again") from None


def parquet_pieces(place: Path | str, source: Source) -> tuple[range | None, ...]:
    """Return the pieces of a Parquet file: runs of row groups of at least PIECE_BYTES, but for the last.

    A file that only grew has the pieces it had, but for its last one. One piece is None: the whole file. So is a
    compressed one, which has to be unpacked to be read.
    """
    if source.compression:
        return (None,)
    with open_parquet(place, source.location) as parquet:
        sizes = [parquet.metadata.row_group(i).total_byte_size for i in range(parquet.metadata.num_row_groups)]
    cut = runs(sizes, PIECE_BYTES)
    return tuple(cut) if len(cut) > 1 else (None,)


def runs(sizes: Sequence[int], limit: int) -> list[range]:
    """Return the shortest runs of consecutive sizes that each sum to `limit` at least; the last may sum to less."""
    found, first, total = list[range](), 0, 0
    for i, size in enumerate(sizes, 1):
        total += size
        if total >= limit or i == len(sizes):
            found.append(range(first, i))
            first, total = i, 0
    return found


def parquet_tables(
    place: Path | str, source: Source, batch_bytes: int, row_groups: range | None = None
) -> Iterator[Placed]:
    """Yield a Parquet file's tables of about `batch_bytes`, row group after row group; at least one.

    Args:
        place: the file.
        source: what it is.
        batch_bytes: size of a table.
        row_groups: those that are read; None for all.
    """
    with open_parquet(place, source.location, source.compression) as parquet:
        schema, meta = parquet.schema_arrow, parquet.metadata
        rows, ends = _row_group_ends(meta, source.n_bytes)
        groups = range(meta.num_row_groups) if row_groups is None else row_groups
        if not meta.num_rows:
            yield Placed(schema.empty_table(), 0, source.n_bytes)
            return
        # Sizes in the footer are those of the encoded values; repeated long texts are far larger in memory, so
        # few rows are decoded at a time and put together by their true size.
        decoded = parquet.iter_batches(batch_size=_DECODED_ROWS, row_groups=list(groups))
        yield from _placed(_grouped(decoded, schema, batch_bytes), rows, ends, rows[groups.start])


def _row_group_ends(meta: Any, n_bytes: int) -> tuple[list[int], list[int]]:
    """Return the rows and the bytes up to the end of each row group; the file's bytes are shared out by their sizes."""
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    rows = list(accumulate((group.num_rows for group in groups), initial=0))
    sizes = list(accumulate((group.total_byte_size for group in groups), initial=0))
    return rows, [n_bytes * size // max(1, sizes[-1]) for size in sizes]


def _placed(tables: Iterator[Any], rows: list[int], ends: list[int], first: int = 0) -> Iterator[Placed]:
    """Yield each table with its place; bytes are taken up in proportion between two of `rows`."""
    position = round(np.interp(first, rows, ends))
    for table in tables:
        last = first + table.num_rows
        before, position = position, round(np.interp(last, rows, ends))
        yield Placed(table, first, position - before)
        first = last


def saved_dataset_files(folder: Path, location: str) -> list[Path]:
    """Return the Arrow files of a Dataset saved in `folder`, in order.

    Raises:
        InputError: the folder holds no such dataset, or names files outside it.
    """
    if not is_saved_dataset(folder):
        raise InputError(f"{location}: no dataset saved by `datasets` in {folder}; expected state.json in it")
    try:
        state = json.loads((folder / "state.json").read_text("utf-8"))
        names = [str(entry["filename"]) for entry in state["_data_files"]]
    except (ValueError, KeyError, TypeError) as exc:
        raise InputError(f"{location}: state.json cannot be read ({exc}); save the dataset again") from None
    if state.get("_indices_files") or state.get("_indices_data_files") or any(Path(n).name != n for n in names):
        raise InputError(f"{location}: saved in an old form; load it with `datasets` and save it again")
    return [folder / name for name in names]


def saved_dataset_tables(folder: Path, source: Source, batch_bytes: int) -> Iterator[Placed]:
    """Yield the tables of a saved Dataset, memory mapped, in batches; at least one."""
    first = start = position = 0
    schema = None
    for path in saved_dataset_files(folder, source.location):
        with arrow_errors(source.location, "Arrow"), pa.memory_map(str(path)) as mapped:
            reader = pa.ipc.open_stream(mapped)
            schema = schema or reader.schema
            for table in _grouped(reader, reader.schema, batch_bytes):
                before, position = position, start + mapped.tell()
                yield Placed(table, first, position - before)
                first += table.num_rows
            start += mapped.size()
    if not first and schema is not None:
        yield Placed(schema.empty_table(), 0, source.n_bytes)


def _grouped(batches: Any, schema: Any, batch_bytes: int) -> Iterator[Any]:
    """Yield tables of about `batch_bytes` (less than twice as much) from record batches, smaller or larger."""
    held: list[Any] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= batch_bytes:
            yield from _cut(held, schema, size, batch_bytes)
            held, size = [], 0
    if held:
        yield from _cut(held, schema, size, batch_bytes)


def _cut(held: list[Any], schema: Any, size: int, batch_bytes: int) -> Iterator[Any]:
    table = pa.Table.from_batches(held, schema=schema)
    if size < 2 * batch_bytes:  # the little beyond would be a batch of its own
        yield table
    else:
        yield from table_batches(table, batch_bytes)


def table_batches(table: Any, batch_bytes: int) -> Iterator[Any]:
    """Yield slices of about `batch_bytes` of a table in memory, at least one."""
    if not table.num_rows:
        yield table
    size = max(1, batch_bytes * max(1, table.num_rows) // max(1, table.nbytes))
    for start in range(0, table.num_rows, size):
        yield table.slice(start, size)


def frame_tables(source: Source, batch_bytes: int) -> Iterator[Placed]:
    """Yield the tables of a frame in memory, in batches; at least one.

    Raises:
        InputError: as `frame_table`.
    """
    table = frame_table(source.data, source.location)
    if not table.num_rows:
        yield Placed(table, 0, source.n_bytes)
        return
    yield from _placed(table_batches(table, batch_bytes), [0, table.num_rows], [0, source.n_bytes])


def frame_table(data: Any, location: str) -> Any:
    """Return a frame in memory (polars, pandas, pyarrow, datasets.Dataset) as a pyarrow Table.

    Raises:
        InputError: another type, or columns that Arrow cannot hold.
    """
    try:
        return _frame_table(data, location)
    except (pa.ArrowException, TypeError, ValueError) as exc:
        reason = str(exc).split("\n", 1)[0]
        raise InputError(
            f"{location}: the frame cannot be held as Arrow columns ({reason}); give each column one type"
        ) from exc


def _frame_table(data: Any, location: str) -> Any:
    import polars as pl

    module = type(data).__module__.split(".")[0]
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        return data.to_arrow(compat_level=pl.CompatLevel.oldest())
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if module == "pandas" and hasattr(data, "columns"):
        return pa.Table.from_pandas(data)
    if module == "datasets" and hasattr(data, "with_format") and hasattr(data, "__len__") and hasattr(data, "features"):
        table = data.with_format("arrow")[:]
        return table.replace_schema_metadata(data.features.arrow_schema.metadata)
    raise InputError(
        f"{location}: a {type(data).__module__}.{type(data).__qualname__}, expected a polars or pandas frame, "
        "a pyarrow Table, a datasets.Dataset, or a list of strings or dicts"
    )


# ---------------------------------------------------------------- tables into batches


def read_tables(tables: Iterator[Placed], source: Source, bad_rows: BadRows) -> Iterator[RecordBatch]:
    """Yield each table as a batch.

    Raises:
        BadRecordError: two columns of one name (whole file); a row whose strings are no UTF-8 (may be set aside).
    """
    for table, first, n_bytes in tables:
        names = table.column_names
        if len(set(names)) < len(names):
            doubled = next(name for name in names if names.count(name) > 1)
            raise BadRecordError(source.location, None, f"two columns are called {doubled!r}; rename one")
        yield replace(_batch(table, source, bad_rows, first), n_source_bytes=n_bytes)


def _batch(table: Any, source: Source, bad_rows: BadRows, first: int) -> RecordBatch:
    """Return one table as a batch, rows with broken strings set aside."""
    n_rows = table.num_rows
    bad: tuple[BadRow, ...] = ()
    numbers: Sequence[int] = range(first, first + n_rows)
    if _fault(table):
        faults = {i: fault for i in range(n_rows) if (fault := _fault(table.slice(i, 1)))}
        bad = tuple(BadRow(source.location, first + i + 1, first + i, fault) for i, fault in faults.items())
        if bad_rows == "error" and bad:
            raise BadRecordError(source.location, bad[0].line, bad[0].reason, SKIP_HINT)
        numbers = [first + i for i in range(n_rows) if i not in faults]
        table = table.filter(pa.array([i not in faults for i in range(n_rows)], pa.bool_()))
    return RecordBatch(first, n_rows, numbers, table=table, bad=bad)


def _fault(table: Any) -> str:
    """Return what is wrong with the values of a table, "" where nothing is."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as exc:
        return f"broken values ({str(exc).splitlines()[0]})"
    return ""
