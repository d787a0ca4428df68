"""RowGroupWriter: equal rows, equal bytes, however they came."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from auditkit.formats import row_groups
from auditkit.formats.row_groups import RowGroupWriter

SCHEMA: dict[str, pl.DataType] = {"name": pl.String(), "n": pl.Int64(), "flags": pl.List(pl.String())}


def rows(n: int) -> pl.DataFrame:
    values = {"name": [f"row{i}" for i in range(n)], "n": list(range(n)), "flags": [["a"] * (i % 3) for i in range(n)]}
    return pl.DataFrame(values, schema=SCHEMA)


def written(path: Path, frames: list[pl.DataFrame]) -> bytes:
    with RowGroupWriter(path, SCHEMA) as writer:
        for frame in frames:
            writer.write(frame)
    return path.read_bytes()


@pytest.mark.parametrize("n", [0, 1, 10, 25, 26])
def test_the_cut_of_frames_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    monkeypatch.setattr(row_groups, "GROUP_ROWS", 10)
    whole = written(tmp_path / "a.parquet", [rows(n)])
    assert written(tmp_path / "b.parquet", [rows(n)[i : i + 3] for i in range(0, n, 3)]) == whole
    assert pl.read_parquet(tmp_path / "a.parquet").equals(rows(n))
    groups = pq.ParquetFile(tmp_path / "a.parquet").metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [10] * (n // 10) + [n % 10] * (
        n % 10 > 0
    )


def test_columns_beyond_the_schema_are_left_out(tmp_path: Path) -> None:
    written(tmp_path / "a.parquet", [rows(3).with_columns(pl.lit(1).alias("more"))])
    assert pl.read_parquet(tmp_path / "a.parquet").columns == list(SCHEMA)
