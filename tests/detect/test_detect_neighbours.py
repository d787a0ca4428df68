"""What stands around a pair, against a full search of the matrix."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from auditkit.detect import neighbours
from auditkit.detect.neighbours import CLOSEST, SAME, Neighbours, around


def vectors(n: int, seed: int, width: int = 4) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)


def parts(benchmarks: list[str], decoys: int = 0) -> pl.DataFrame:
    n = len(benchmarks)
    return pl.DataFrame(
        {"benchmark": benchmarks, "item": [i if i < n - decoys else n - decoys - 1 - i for i in range(n)]}
    )


def rival(cosines: NDArray[np.float32], alike: NDArray[np.float32], item: int) -> float:
    """The largest cosine of a text that is not the item and does not say the same, NaN where there is none."""
    others = [float(c) for j, c in enumerate(cosines) if j != item and alike[j] < SAME]
    return max(others, default=float("nan"))


@given(st.integers(2, CLOSEST), st.integers(1, 5), st.integers(0, 10_000))
def test_leads_are_those_of_a_full_search(n_items: int, n_rows: int, seed: int) -> None:
    items, rows = vectors(n_items, seed), vectors(n_rows, seed + 1)
    found = Neighbours.of(parts(["b"] * n_items), items)
    products = rows @ items.T
    [(group, closest)] = found.closest(products)
    row, item = (places.ravel() for places in np.indices((n_rows, n_items)))
    near = around(products, items, found.rival, row, item, closest)
    alike = items @ items.T
    for i, (r, j) in enumerate(zip(row.tolist(), item.tolist(), strict=True)):
        of_item = rival(alike[j], alike[j], j)
        expected = rival(products[r], alike[j], j)
        assert near.item_lead[i] == pytest.approx(products[r, j] - of_item, abs=2e-4, nan_ok=True)
        if not np.isnan(expected) and not np.isnan(of_item):
            assert near.lead[i] == pytest.approx(products[r, j] - expected, abs=2e-4)
        assert near.row_mean[i] == pytest.approx(np.sort(products[r])[-2:].mean(), abs=1e-4)
    assert group.tolist() == list(range(n_items))


def test_a_benchmark_of_one_text_gives_no_lead() -> None:
    items, rows = vectors(1, 1), vectors(3, 2)
    found = Neighbours.of(parts(["b"]), items)
    products = rows @ items.T
    [(_, closest)] = found.closest(products)
    near = around(products, items, found.rival, np.arange(3), np.zeros(3, np.int64), closest)
    assert np.isnan(near.lead).all()
    assert np.isnan(near.item_lead).all()
    assert near.row_mean == pytest.approx(products[:, 0], abs=1e-4)


def test_texts_that_say_the_same_are_no_rivals() -> None:
    items = np.array([[1, 0], [0.999, 0.0447], [0.6, 0.8]], np.float32)
    found = Neighbours.of(parts(["b"] * 3), items)
    products = np.array([[1, 0]], np.float32) @ items.T
    [(_, closest)] = found.closest(products)
    near = around(products, items, found.rival, np.array([0]), np.array([0]), closest)
    assert near.lead[0] == pytest.approx(0.4)
    assert found.rival[0] == pytest.approx(0.6)


def test_another_benchmark_and_decoys_change_nothing() -> None:
    items, rows = vectors(12, 1), vectors(4, 2)
    alone = Neighbours.of(parts(["a"] * 5), items[:5])
    both = Neighbours.of(parts(["a"] * 5 + ["b"] * 4 + ["a"] * 3, decoys=3), items)
    assert [group.tolist() for group in both.groups] == [[0, 1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11]]
    assert np.array_equal(both.rival[:5], alone.rival)
    mine = next(alone.closest(rows @ items[:5].T))[1]
    assert np.array_equal(next(both.closest(rows @ items.T))[1], mine)
    # The centre is that of the items, of all benchmarks.
    assert both.centre == pytest.approx(items[:9].mean(axis=0))


def test_a_large_benchmark_is_compared_with_an_even_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "REFERENCE", 5)
    monkeypatch.setattr(neighbours, "BLOCK", 3)
    items = vectors(10, 3)
    cosines = items @ items[::2].T
    expected = np.where(cosines < SAME, cosines, -np.inf).max(axis=1)
    assert Neighbours.of(parts(["b"] * 10), items).rival == pytest.approx(expected)


def test_centring_takes_the_common_part_away() -> None:
    common = np.array([0.0, 0.0, 1.0, 0.0], np.float32)
    items = vectors(200, 5) * np.float32(0.3) + common
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    found = Neighbours.of(parts(["b"] * 200), items)
    assert float(items[0] @ items[1]) > 0.8
    centred = found.centred(items[:-1], items[1:])
    assert abs(centred.mean()) < 0.1
    assert found.centred(items[:3], items[:3]) == pytest.approx(np.ones(3))
