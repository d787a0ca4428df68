"""Components equal a plain graph search; families are named by their first row, whatever the order."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.families import Components, family_frame

pairs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20)
    )
)  # fmt: skip


def searched(n: int, edges: list[tuple[int, int]]) -> list[int]:
    """The smallest member of each node's component, found by relaxing until nothing changes."""
    root = list(range(n))
    changed = True
    while changed:
        changed = False
        for a, b in edges:
            low = min(root[a], root[b])
            changed = changed or root[a] != low or root[b] != low
            root[a] = root[b] = low
    return root


def ends(edges: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(edges, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@given(pairs)
def test_components_are_those_of_a_graph_search(case: tuple[int, list[tuple[int, int]]]) -> None:
    n, edges = case
    graph = Components(n)
    graph.join(*ends(edges))
    assert graph.roots().tolist() == searched(n, edges)


@given(pairs, st.integers(0, 20))
def test_a_forest_joins_all_that_its_pairs_would_and_has_no_cycle(
    case: tuple[int, list[tuple[int, int]]], n_before: int
) -> None:
    n, edges = case
    graph = Components(n)
    graph.join(*ends(edges[:n_before]))
    before = graph.roots().tolist()
    is_tree = graph.forest(*ends(edges))
    assert graph.roots().tolist() == before
    tree = [edge for edge, taken in zip(edges, is_tree, strict=True) if taken]
    joined = searched(n, edges[:n_before] + tree)
    assert joined == searched(n, edges[:n_before] + edges)
    assert len(tree) == len(set(before)) - len(set(joined))


def frame(*rows: tuple[str, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"pool": pl.String, "row": pl.Int64}, orient="row")


def texts(*lines: tuple[str, int, int]) -> pl.DataFrame:
    return pl.DataFrame(lines, schema={"pool": pl.String, "row": pl.Int64, "text": pl.Int64}, orient="row")


def links(*pairs: tuple[int, int]) -> pl.DataFrame:
    return pl.DataFrame(pairs, schema={"left": pl.Int64, "right": pl.Int64}, orient="row")


def test_rows_that_share_a_text_or_whose_texts_are_linked_are_one_family() -> None:
    rows = frame(("b", 0), ("a", 10), ("a", 2), ("a", 3), ("b", 1))
    found = family_frame(rows, texts(("b", 0, 0), ("a", 10, 1), ("a", 2, 1), ("b", 1, 2)), links((0, 1)))
    assert found.rows() == [
        ("b", 0, "a:2", 3), ("a", 10, "a:2", 3), ("a", 2, "a:2", 3), ("a", 3, "a:3", 1), ("b", 1, "b:1", 1)
    ]  # fmt: skip


def test_a_row_of_two_texts_joins_both_their_families() -> None:
    rows = frame(("p", 0), ("p", 1), ("p", 2))
    found = family_frame(rows, texts(("p", 0, 0), ("p", 1, 0), ("p", 1, 1), ("p", 2, 1)), links())
    assert found["family"].to_list() == ["p:0"] * 3


def test_no_row_gives_no_family() -> None:
    assert family_frame(frame(), texts(), links()).rows() == []


@pytest.mark.parametrize("row", [0, 9_000_000_000])
def test_names_hold_any_row_number(row: int) -> None:
    assert family_frame(frame(("p", row)), texts(), links())["family"].to_list() == [f"p:{row}"]
