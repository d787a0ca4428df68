"""Frames -> one Parquet file whose bytes do not depend on how the rows came."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl
import pyarrow.parquet as pq

#: Rows of a group: some megabytes of short columns.
GROUP_ROWS = 1 << 16


class RowGroupWriter:
    """Writes frames of one schema to a Parquet file in groups of GROUP_ROWS: equal rows give equal bytes.

    At most one group is held in memory. Used as a context; where the block fails the file is left without its end, for
    the folder it lies in to be thrown away.
    """

    def __init__(self, path: Path, schema: dict[str, pl.DataType]) -> None:
        self._held = pl.DataFrame(schema=schema)
        self._writer = pq.ParquetWriter(path, _table(self._held).schema, compression="zstd")

    def __enter__(self) -> RowGroupWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        if kind is None and len(self._held):
            self._writer.write_table(_table(self._held))
        self._writer.close()

    def write(self, frame: pl.DataFrame) -> None:
        """Write the next rows."""
        self._held = pl.concat([self._held, frame.select(self._held.columns)])
        while len(self._held) >= GROUP_ROWS:
            self._writer.write_table(_table(self._held.head(GROUP_ROWS)))
            self._held = self._held.slice(GROUP_ROWS)


def _table(frame: pl.DataFrame) -> Any:
    # Pages end where chunks of memory do.
    return frame.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
