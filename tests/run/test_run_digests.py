"""run/digests.py: equal values, equal digests, whatever the chunks; any other value, name or type differs."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.run.digests import code_digest, frame_digest

rows = st.lists(st.tuples(st.none() | st.text(max_size=5), st.none() | st.integers(-3, 3)), max_size=8)


def frame(values: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(values, schema={"text": pl.String(), "n": pl.Int64()}, orient="row")


@given(rows, rows, st.integers(0, 8))
def test_a_digest_is_that_of_the_values(one: list[Any], other: list[Any], cut: int) -> None:
    whole = frame(one)
    chunked = pl.concat([whole.head(cut), whole.slice(cut)], rechunk=False)
    assert frame_digest(chunked) == frame_digest(whole)
    assert (frame_digest(frame(other)) == frame_digest(whole)) is (one == other)


@pytest.mark.parametrize(
    "other",
    [
        pl.DataFrame({"b": [1, 0]}, schema={"b": pl.Int8()}),
        pl.DataFrame({"a": [1, 0]}, schema={"a": pl.Int64()}),
        pl.DataFrame({"a": [1, None]}, schema={"a": pl.Int8()}),
        pl.DataFrame({"a": [1]}, schema={"a": pl.Int8()}),
        pl.DataFrame({"a": [1, 0], "b": [1, 0]}, schema={"a": pl.Int8(), "b": pl.Int8()}),
    ],
)
def test_names_types_and_nulls_count(other: pl.DataFrame) -> None:
    assert frame_digest(other) != frame_digest(pl.DataFrame({"a": [1, 0]}, schema={"a": pl.Int8()}))


def test_several_frames_do_not_run_together() -> None:
    a, b = pl.DataFrame({"x": ["p"]}), pl.DataFrame({"x": ["q"]})
    assert frame_digest(a, b) != frame_digest(b, a)
    assert frame_digest(a, b) != frame_digest(pl.concat([a, b]))


def test_the_code_has_one_digest() -> None:
    assert code_digest() == code_digest()
    assert len(code_digest()) == 64
