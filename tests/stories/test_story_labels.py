"""Two policies on one pool: cells, agreement and kappa by hand and by scikit-learn, bands, conflicts, warnings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from audit_support import jsonl
from hypothesis import given
from hypothesis import strategies as st

from auditkit.errors import LabelError, UsageError
from auditkit.read import parse_labels
from auditkit.records import ReadSettings
from auditkit.stories.labels import agreement_of, label_report
from auditkit.stories.near import FamilySettings

counts = st.integers(0, 40)


def settings(*specs: str) -> FamilySettings:
    return FamilySettings(read=ReadSettings(labels=parse_labels(specs or ("A=a", "B=b"))))


def rows(*labels: tuple[Any, Any], n_words: int = 6) -> list[dict[str, Any]]:
    """One row of unlike words for each pair of labels."""
    return [{"text": " ".join(f"w{i}x{j}" for j in range(n_words)), "a": a, "b": b} for i, (a, b) in enumerate(labels)]


@given(counts, counts, counts, counts)
def test_kappa_and_agreement_are_those_of_scikit_learn(c1: int, c0: int, d10: int, d01: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    a = [1] * c1 + [0] * c0 + [1] * d10 + [0] * d01
    b = [1] * c1 + [0] * c0 + [0] * d10 + [1] * d01
    found = agreement_of({"C1": c1, "C0": c0, "D10": d10, "D01": d01, "unknown": 3})
    assert found.n == len(a)
    if not a:
        assert (found.agreement, found.kappa) == (None, None)
        return
    assert found.agreement == pytest.approx(metrics.accuracy_score(a, b))
    if len({*a, *b}) == 1:  # scikit-learn says nan, and warns
        assert found.kappa is None
    else:
        assert found.kappa == pytest.approx(metrics.cohen_kappa_score(a, b))


def test_a_table_by_hand() -> None:
    # Cohen 1960's form: p_o = 70 / 100, p_e = (45 * 55 + 55 * 45) / 10,000 = 0.495.
    found = agreement_of({"C1": 35, "C0": 35, "D10": 10, "D01": 20})
    assert found.agreement == 0.7
    assert found.kappa == pytest.approx((0.7 - 0.495) / (1 - 0.495))


def test_cells_sources_and_lengths(tmp_path: Path) -> None:
    labels = [(1, 1), (0, 0), (1, 0), (0, 1), (None, 1), ("maybe", 0), (0, None)]
    pool = [*rows(*labels), *rows((1, 1), (0, 0), n_words=10), *rows((1, 0), n_words=11), *rows((1, 1), n_words=30),
            *rows((1, 1), n_words=31), *rows((0, 0), n_words=101), {"text": "!", "a": 1, "b": 0}]  # fmt: skip
    pool = [{**row, "text": f"{row['text']}", "from": "x" if i % 2 else None} for i, row in enumerate(pool)]
    report = label_report(jsonl(tmp_path / "p.jsonl", pool), settings=settings(), source_column="from")
    assert report.policies == ("A", "B")
    assert report.total.cells == {"C1": 4, "C0": 3, "D10": 3, "D01": 1, "unknown": 3}
    assert report.total.n == 11
    assert {name: sum(found.cells.values()) for name, found in report.by_length.items()} == {
        "1-10": 9, "11-30": 2, "31-100": 1, "101+": 1, "no prompt": 1
    }  # fmt: skip
    assert {name: sum(found.cells.values()) for name, found in report.by_source.items()} == {"(none)": 7, "x": 7}
    assert any("policy A: 1 unmapped: 'maybe'" in warning for warning in report.warnings)


def test_families_with_both_labels_are_counted_per_policy_and_listed_without_text(tmp_path: Path) -> None:
    text = "How do I keep basil alive on a north facing window in winter?"
    pool = [
        {"text": text, "a": 1, "b": 1},
        {"text": text.upper(), "a": 0, "b": 1},
        {"text": text + " Thanks", "a": None, "b": 1},
        *rows((1, 0), (0, 1)),
    ]
    report = label_report(jsonl(tmp_path / "p.jsonl", pool), settings=settings(), out=tmp_path / "out")
    assert (report.n_families, report.n_with_others) == (3, 1)
    assert (dict(report.n_conflicting), dict(report.n_conflicting_rows)) == ({"A": 1, "B": 0}, {"A": 2, "B": 0})
    conflicts = pl.read_parquet(tmp_path / "out/conflicts.parquet")
    assert conflicts.rows() == [("A", "p:0", "p", 0, 1), ("A", "p:0", "p", 1, 0)]
    written = (tmp_path / "out/labels.json").read_text("utf-8")
    plain = json.loads(written)
    assert plain["total"]["cells"] == report.total.cells
    assert plain["n_conflicting"] == {"A": 1, "B": 0}
    assert "basil" not in written


def test_fewer_than_thirty_rows_on_a_side_are_a_warning(tmp_path: Path) -> None:
    def sides(n10: int, n01: int) -> list[str]:
        labels = [(1, 1)] * 5 + [(0, 0)] * 5 + [(1, 0)] * n10 + [(0, 1)] * n01
        report = label_report({"p": rows(*labels)}, settings=settings())
        return [cell for cell in ("D10", "D01") for warning in report.warnings if f"({cell})" in warning]

    assert sides(30, 30) == []
    assert sides(29, 30) == ["D10"]
    assert sides(30, 0) == ["D01"]


@pytest.mark.parametrize(
    ("specs", "says"),
    [
        ((), "0 policies given (none), expected exactly two"),
        (("A=a",), "1 policies given (A), expected exactly two"),
        (("A=a", "B=b", "C=a"), "3 policies given (A, B, C)"),
    ],
)
def test_two_policies_are_needed(specs: tuple[str, ...], says: str) -> None:
    wanted = FamilySettings(read=ReadSettings(labels=parse_labels(specs)))
    with pytest.raises(UsageError) as error:
        label_report({"p": rows((1, 0))}, settings=wanted)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([(1, 0), (1, 1)], "policy A: all 2 known labels are 1; two classes are needed"),
        ([(1, 0), ("meh", 1)], "policy A: all 1 known labels are 1 (1 unmapped: 'meh'); two classes"),
        ([("bad", 0), ("fine", 1)], "policy A: none of the 2 values of column 'a' is a known label (2 unmapped: "),
        ([(None, 0), (None, 1)], "policy A: none of the 2 values of column 'a' is a known label (all are null)"),
        ([], "policy A: no row has a label"),
    ],
)
def test_labels_that_say_nothing_are_an_error(labels: list[tuple[Any, Any]], says: str) -> None:
    with pytest.raises(LabelError) as error:
        label_report({"p": rows(*labels)}, settings=settings())
    assert says in str(error.value)


def test_a_map_makes_words_labels() -> None:
    report = label_report({"p": rows(("bad", 0), ("fine", 1))}, settings=settings("A=a:bad=1,fine=0", "B=b"))
    assert report.total.cells["D10"] == report.total.cells["D01"] == 1
