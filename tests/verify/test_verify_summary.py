"""Results per item, benchmark and source, counted by hand."""

from __future__ import annotations

from typing import Any

import lexical
import polars as pl
import pytest

from auditkit import tables
from auditkit.records import Benchmark, Source, SourceResult
from auditkit.verify.public import PUBLIC
from auditkit.verify.summary import benchmark_results, item_results, row_counts, source_results

#: Two benchmarks: "b" has five items, of which 3 has no text at all and 4 only punctuation; "c" has one.
PARTS: list[dict[str, Any]] = [
    {"benchmark": "b", "item": 0, "label": 1, "slice": "s", "text": "first question"},
    {"benchmark": "b", "item": 1, "label": 0, "slice": "s", "text": "second question"},
    {"benchmark": "b", "item": 2, "label": None, "slice": None, "text": "third question"},
    {"benchmark": "b", "item": 2, "part": "context", "kind": "context", "text": "third context"},
    {"benchmark": "b", "item": 4, "label": 1, "slice": "t", "text": "?!"},
    {"benchmark": "c", "item": 0, "item_id": "z", "text": "First: QUESTION!"},
]
COUNTS = {"b": 5, "c": 1}
#: Items 1 and 3 of "b" are public text.
PUBLIC_ITEMS = [("b", 1, "declared"), ("b", 3, "statute")]


def match(pool: str, row: int, benchmark: str, item: int, tier: str, verdict: str) -> dict[str, Any]:
    return {"pool": pool, "row": row, "benchmark": benchmark, "item": item, "tier": tier, "verdict": verdict}


MATCHES = [
    match("train", 0, "b", 0, "near", "contaminated"),
    match("train", 0, "b", 0, "exact", "review"),
    match("train", 1, "b", 0, "contained", "contaminated"),
    match("dev", 1, "b", 0, "near", "contaminated"),
    match("train", 5, "b", 0, "paraphrase", "review"),
    match("train", 5, "b", 1, "near", "review"),
    match("train", 6, "b", 1, "paraphrase", "review"),
    match("train", 0, "c", 0, "exact", "contaminated"),
]


def frame(matches: list[dict[str, Any]]) -> pl.DataFrame:
    records = [{**dict.fromkeys(tables.MATCHES), **one} for one in matches]
    return pl.DataFrame(records, schema=tables.MATCHES, orient="row")


def results(matches: list[dict[str, Any]]) -> pl.DataFrame:
    items = lexical.item_frame(PARTS)
    public = pl.DataFrame(PUBLIC_ITEMS, schema=PUBLIC, orient="row")
    return item_results(items, frame(matches), lexical.items_of(PARTS), COUNTS, public)


def benchmark(name: str, n_items: int) -> Benchmark:
    source = Source(name, f"{name}.jsonl", "jsonl", "", f"{name}.jsonl", "sha256:00", 1)
    items = lexical.item_frame([part for part in PARTS if part["benchmark"] == name])
    return Benchmark(name, source, items, n_items, revision="r1", klass="harmful", notes=("note",))


def test_every_item_has_its_result() -> None:
    found = results(MATCHES)
    columns = ["benchmark", "item", "is_found", "is_reported", "best_tier", "n_rows", "n_review_rows", "is_unmatchable"]
    assert found.select(columns).rows() == [
        # found in three rows by contained at best (the exact match is for review); row 5 is review only
        ("b", 0, True, True, "contained", 3, 1, False),
        ("b", 1, False, True, "near", 0, 2, False),
        ("b", 2, False, False, None, 0, 0, False),
        ("b", 3, False, False, None, 0, 0, True),
        ("b", 4, False, False, None, 0, 0, True),
        ("c", 0, True, True, "exact", 1, 0, False),
    ]
    assert found.select("slice", "label").rows() == [
        ("s", 1), ("s", 0), (None, None), (None, None), ("t", 1), (None, None),
    ]  # fmt: skip
    assert found["item_id"].to_list() == ["id-0", "id-1", "id-2", None, "id-4", "z"]


def test_equal_items_have_equal_digests_and_others_do_not() -> None:
    digests = results([])["digest"].to_list()
    assert digests[0] == digests[5] != ""  # "first question" of both benchmarks
    assert digests[3] == ""
    assert len({*digests[:3], digests[4]}) == 4
    assert all(len(digest) == 16 for digest in digests if digest)


def test_benchmarks_are_counted_over_all_their_items() -> None:
    b, c = benchmark_results([benchmark("b", 5), benchmark("c", 1)], results(MATCHES), frame(MATCHES))
    assert (b.n_items, b.n_found, b.leak_rate) == (5, 1, 0.2)
    assert (b.n_review, b.reported_rate, b.n_unmatchable) == (1, 0.4, 2)
    assert b.found_by_tier == {"exact": 0, "contained": 1, "near": 0, "paraphrase": 0}
    assert (b.n_rows, b.n_review_rows) == (3, 2)
    assert b.by_slice == {
        "s": {"n_items": 2, "n_found": 1, "n_review": 1},
        "t": {"n_items": 1, "n_found": 0, "n_review": 0},
    }
    assert b.by_label == {
        "0": {"n_items": 1, "n_found": 0, "n_review": 1},
        "1": {"n_items": 2, "n_found": 1, "n_review": 0},
        "null": {"n_items": 2, "n_found": 0, "n_review": 0},
    }
    assert (b.n_public, b.leak_rate_without_public) == (2, 1 / 3)
    assert b.by_public == {
        "declared": {"n_items": 1, "n_found": 0, "n_review": 1},
        "statute": {"n_items": 1, "n_found": 0, "n_review": 0},
    }
    assert (c.n_public, c.leak_rate_without_public, c.by_public) == (0, 1.0, {})
    assert (b.revision, b.klass, b.notes, b.location, b.digest) == ("r1", "harmful", ("note",), "b.jsonl", "sha256:00")
    assert (c.n_items, c.n_found, c.leak_rate, c.n_rows, c.n_review_rows) == (1, 1, 1.0, 1, 0)


def test_without_matches_all_rates_are_zero() -> None:
    b, _ = benchmark_results([benchmark("b", 5), benchmark("c", 1)], results([]), frame([]))
    assert (b.n_found, b.leak_rate, b.reported_rate, b.n_rows, b.n_review_rows) == (0, 0.0, 0.0, 0, 0)
    assert set(b.found_by_tier.values()) == {0}


def test_a_benchmark_without_items_has_no_rate() -> None:
    (empty,) = benchmark_results([benchmark("none", 0)], results(MATCHES), frame(MATCHES))
    assert (empty.n_items, empty.leak_rate, empty.reported_rate) == (0, None, None)


@pytest.mark.parametrize(("matches", "counts"), [(MATCHES, (3, 2)), ([], (0, 0)), (MATCHES[4:7], (0, 2))])
def test_rows_are_counted_once(matches: list[dict[str, Any]], counts: tuple[int, int]) -> None:
    assert row_counts(frame(matches)) == counts


def test_sources_keep_their_own_counts() -> None:
    sources = [SourceResult(name, f"{name}.csv", "", "csv", "", "d", 1, 10, 10, 0, 0) for name in ("train", "dev", "x")]
    counted = source_results(sources, frame(MATCHES))
    assert [(one.name, one.n_rows, one.n_rows_contaminated, one.n_rows_review) for one in counted] == [
        ("train", 10, 2, 2),
        ("dev", 10, 1, 0),
        ("x", 10, 0, 0),
    ]
