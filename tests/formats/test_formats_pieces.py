"""Pieces of a Parquet file: together the file, record for record; a file that grew keeps the pieces it had."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from formats_support import file_source, put, rows_of
from hypothesis import given
from hypothesis import strategies as st

from auditkit.errors import BadRecordError
from auditkit.formats import columnar, pieces, read_records


def write(path: Path, n_rows: int, group: int) -> None:
    pl.DataFrame({"text": [f"row {i}" for i in range(n_rows)]}).write_parquet(path, row_group_size=group)


@pytest.mark.parametrize("piece_bytes", [1, 700, 1 << 20])
@pytest.mark.parametrize("batch_bytes", [1, 500, 1 << 20])
def test_pieces_are_the_file(
    piece_bytes: int, batch_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "PIECE_BYTES", piece_bytes)
    write(tmp_path / "a.parquet", 100, 7)
    source = file_source(tmp_path / "a.parquet")
    cut = pieces(source)
    assert len(cut) == 1 if piece_bytes > 10_000 else len(cut) > 1
    batches = [batch for piece in cut for batch in read_records(source, "error", batch_bytes, piece)]
    assert [number for batch in batches for number in batch.numbers] == list(range(100))
    assert rows_of(batches) == rows_of(list(read_records(source)))
    assert sum(batch.n_source_bytes for batch in batches) == source.n_bytes


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 20))
def test_a_file_that_grew_keeps_its_pieces(sizes: list[int], limit: int) -> None:
    cut = columnar.runs(sizes, limit)
    assert [group for run in cut for group in run] == list(range(len(sizes)))
    assert all(sum(sizes[i] for i in run) >= limit for run in cut[:-1])
    assert all(sum(sizes[i] for i in run[:-1]) < limit for run in cut)
    assert columnar.runs([*sizes, 5, 5], limit)[: len(cut) - 1] == cut[:-1]


def test_other_files_are_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "PIECE_BYTES", 1)
    write(tmp_path / "a.parquet", 100, 7)
    packed = put(tmp_path, "b.parquet.zst", (tmp_path / "a.parquet").read_bytes())
    assert pieces(packed) == (None,)
    assert pieces(put(tmp_path, "a.jsonl", b'{"text":"a"}\n')) == (None,)
    write(tmp_path / "empty.parquet", 0, 7)
    assert pieces(file_source(tmp_path / "empty.parquet")) == (None,)


def test_a_broken_file_has_no_pieces(tmp_path: Path) -> None:
    with pytest.raises(BadRecordError, match="not a complete Parquet file"):
        pieces(put(tmp_path, "a.parquet", b"PAR1 and no more"))
