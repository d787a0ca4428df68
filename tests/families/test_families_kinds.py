"""The kind of a family: one row, equal rows, or near ones; by all texts of a row."""

from __future__ import annotations

import polars as pl

from auditkit.families import family_frame, family_kinds


def kinds(texts: list[tuple[int, int]], n_rows: int, links: list[tuple[int, int]]) -> list[str]:
    """The kinds of rows 0 to n - 1 of a pool, `texts` as (row, number of a text), `links` pairs of near texts."""
    rows = pl.DataFrame({"pool": ["p"] * n_rows, "row": range(n_rows)}, schema={"pool": pl.String, "row": pl.Int64})
    held = pl.DataFrame(texts, schema={"row": pl.Int64, "text": pl.Int64}, orient="row").with_columns(pool=pl.lit("p"))
    near = pl.DataFrame(links, schema={"left": pl.Int64, "right": pl.Int64}, orient="row")
    held = held.select("pool", "row", "text")
    return family_kinds(family_frame(rows, held, near), held).to_list()


def test_one_row_equal_rows_and_near_rows() -> None:
    assert kinds([(0, 0), (1, 1), (2, 1), (3, 2), (4, 3)], 6, [(2, 3)]) == [
        "single", "exact", "exact", "near", "near", "single"
    ]  # fmt: skip


def test_rows_of_several_texts_are_equal_when_all_are() -> None:
    assert kinds([(0, 0), (0, 1), (1, 1), (1, 0)], 2, []) == ["exact", "exact"]
    assert kinds([(0, 0), (0, 1), (1, 1)], 2, []) == ["near", "near"]
    assert kinds([(0, 0), (0, 0), (1, 0)], 2, []) == ["exact", "exact"]


def test_no_rows_no_kinds() -> None:
    assert kinds([], 0, []) == []
