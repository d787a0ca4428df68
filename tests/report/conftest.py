"""Reports built by hand, with numbers that the tests compare with."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from auditkit import tables
from auditkit.records import AuditReport, BadRow, BenchmarkResult, SourceResult
from auditkit.report import safe

SHA = "sha256:" + "1234abcd" * 8

HOSTILE = [
    "</td><script>alert(1)</script>",
    "a|b`c``d\\|e",
    "[bold red]x[/] [link=http://evil.example]y[/link] :bomb:",
    "line\nbreak\r\n# heading\x1b[2J\x1b]8;;http://evil.example\x07",
    "![i](http://evil.example/p.png) <img src=x> **b** __u__ ~~s~~",
    "\u202egnp.exe\u2066\u200b\ufeff\x9b31m",
    "{0.__class__} %s ${x} '\"&amp;",
]


def benchmark_result(name: str = "or-bench-hard", **changes: Any) -> BenchmarkResult:
    """Return 1,082 of 1,319 items found: 900 exact, 120 contained, 62 near."""
    values: dict[str, Any] = {
        "name": name,
        "n_items": 1319,
        "n_found": 1082,
        "leak_rate": 1082 / 1319,
        "found_by_tier": {"exact": 900, "contained": 120, "near": 62},
        "n_review": 0,
        "reported_rate": 1082 / 1319,
        "n_unmatchable": 0,
        "n_rows": 1170,
        "n_review_rows": 0,
        "location": "data/or-bench-hard.csv",
        "digest": SHA,
        "revision": "ab12cd",
        "licence": "CC-BY-4.0",
        "policy": "over-refusal",
        "unit": "prompt",
        "klass": "benign",
        "is_registered": True,
        "notes": (),
        "by_slice": {},
        "by_label": {},
    }
    return BenchmarkResult(**(values | changes))


def source_result(name: str = "train", **changes: Any) -> SourceResult:
    values: dict[str, Any] = {
        "name": name,
        "location": f"{name}.jsonl",
        "relative": f"{name}.jsonl",
        "format": "jsonl",
        "compression": "",
        "digest": SHA,
        "n_bytes": 1000,
        "n_rows": 17000,
        "n_texts": 17000,
        "n_rows_contaminated": 1170,
        "n_rows_review": 12,
    }
    return SourceResult(**(values | changes))


def match_row(benchmark: str = "b", item: int = 0, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys([*tables.MATCHES])
    values |= {"pool": "train", "row": 0, "field": "text", "benchmark": benchmark, "item": item, "part": "text"}
    values |= {"tier": "exact", "verdict": "contaminated", "rule": "exact", "threshold": 1.0, "view": "canonical"}
    return values | changes


def item_row(benchmark: str = "b", item: int = 0, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys([*tables.ITEM_RESULTS])
    values |= {"benchmark": benchmark, "item": item, "is_found": False, "is_reported": False, "n_rows": 0}
    values |= {"n_review_rows": 0, "is_unmatchable": False, "digest": f"xxh:{benchmark}-{item}"}
    return values | changes


def matches_frame(*rows: dict[str, Any], policies: tuple[str, ...] = ()) -> pl.DataFrame:
    frame = pl.DataFrame(list(rows), schema=tables.MATCHES) if rows else tables.empty(tables.MATCHES)
    labels = pl.Struct({policy: pl.Int8() for policy in policies})
    return frame.with_columns(pl.lit(None, dtype=labels).alias("pool_labels"))


def items_frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=tables.ITEM_RESULTS) if rows else tables.empty(tables.ITEM_RESULTS)


def make(**changes: Any) -> AuditReport:
    values: dict[str, Any] = {
        "sources": (source_result(),),
        "benchmarks": (benchmark_result(),),
        "n_rows": 17000,
        "n_texts": 17000,
        "n_rows_contaminated": 1170,
        "n_rows_review": 12,
        "pool_hit_rate": 1170 / 17000,
        "pool_digest": "sha256:" + "feedbeef" * 8,
        "settings": {"tiers": ["exact", "contained", "near"], "near": {"threshold": 0.7}},
        "changed": {},
        "rules": {"near": {"min_ratio": 0.84}, "exact": {"min_tokens": 1}},
        "rules_version": "v1",
        "not_examined": {},
        "bad_rows": (),
        "tiers_run": ("exact", "contained", "near"),
        "tiers_not_run": {},
        "detectors": {},
        "by_label": {},
        "normalisation": "n1",
        "versions": {"polars": "2.1.0", "auditkit": "0.1.0"},
        "seconds": {"scan": 1.25},
        "matches": matches_frame(),
        "items": items_frame(),
    }
    return AuditReport(**(values | changes))


def gate_report(found: dict[int, list[int]], review: dict[int, list[int]] | None = None, **changes: Any) -> AuditReport:
    """Return a report on benchmark "b" of 20 items; found and review map an item to the rows of its matches."""
    review = review or {}
    n = changes.pop("n_items", 20)
    rows = [match_row(item=item, row=row) for item, of in found.items() for row in of]
    rows += [match_row(item=i, row=r, verdict="review", tier="near") for i, of in review.items() for r in of]
    items = [
        item_row(
            item=i,
            item_id=f"id-{i}",
            is_found=i in found,
            is_reported=i in found or i in review,
            digest=changes.get("digests", {}).get(i, f"xxh:{i}"),
        )
        for i in range(n)
    ]
    changes.pop("digests", None)
    result = benchmark_result("b", n_items=n, n_found=len(found), n_review=len(set(review) - set(found)))
    return make(benchmarks=(result,), matches=matches_frame(*rows), items=items_frame(*items), **changes)


def realistic() -> AuditReport:
    """Return a report with all there can be: several benchmarks and sources, bad rows, policies, detectors."""
    benchmarks = (
        benchmark_result(by_slice={"privacy": {"n_items": 700, "n_found": 600}, "other": {"n_items": 619}}),
        benchmark_result(
            "jailbreakbench-harmful",
            n_items=100,
            n_found=88,
            leak_rate=0.88,
            found_by_tier={"exact": 70, "contained": 8, "near": 10},
            n_review=3,
            reported_rate=0.91,
            n_rows=92,
            n_unmatchable=1,
            notes=("column Goal was guessed",),
            by_label={"1": {"n_items": 60, "n_found": 50, "n_review": 2}, "0": {"n_items": 40, "n_found": 38}},
        ),
        benchmark_result(
            "xstest", n_items=450, n_found=0, leak_rate=0.0, found_by_tier={}, reported_rate=0.0, n_rows=0
        ),
    )
    curve = [[i / 20, 1 - (1 - (i / 20) ** 6) ** 21] for i in range(21)]
    return make(
        sources=(source_result("en/train"), source_result("de/train", n_rows_review=0)),
        benchmarks=benchmarks,
        changed={"rules": {"near": {"min_ratio": 0.8}}},
        not_examined={"null field text": 3, "image": 1200},
        bad_rows=(BadRow("en/train.jsonl", 17, 16, "not JSON: expected a value at column 5"),),
        tiers_not_run={"paraphrase": "the extra 'embed' is not installed; it would take about 40 s on this machine"},
        detectors={
            "minhash": {"n_permutations": 128, "n_bands": 21, "n_rows_per_band": 6, "curve": curve},
            "exact": {},
        },
        by_label={"harm": {"1": {"n_rows": 9000, "n_rows_contaminated": 100}, "null": {"n_rows": 7}}},
    )


@pytest.fixture
def report() -> AuditReport:
    return make()


@pytest.fixture
def full_report() -> AuditReport:
    return realistic()


@pytest.fixture
def make_report() -> Callable[..., AuditReport]:
    return make


@pytest.fixture
def make_gate_report() -> Callable[..., AuditReport]:
    return gate_report


@pytest.fixture
def make_benchmark() -> Callable[..., BenchmarkResult]:
    return benchmark_result


@pytest.fixture
def make_source() -> Callable[..., SourceResult]:
    return source_result


@pytest.fixture
def make_match() -> Callable[..., dict[str, Any]]:
    return match_row


@pytest.fixture
def frames() -> tuple[Callable[..., pl.DataFrame], Callable[..., pl.DataFrame], Callable[..., dict[str, Any]]]:
    return matches_frame, items_frame, item_row


@pytest.fixture(params=HOSTILE)
def hostile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def hostile_report(hostile: str) -> AuditReport:
    """Return a report in which every name is hostile."""
    counts = {hostile: {"n_items": 5, "n_found": 1, "n_review": 1}, "other": {"n_items": 5}}
    result = benchmark_result(
        hostile, location=hostile, digest=hostile, revision=hostile, licence=hostile, policy=hostile, unit=hostile,
        klass=hostile, notes=(hostile,), by_slice=counts, by_label=counts,
    )  # fmt: skip
    return make(
        sources=(source_result(hostile, digest=hostile), source_result("other")),
        benchmarks=(result,),
        pool_digest=hostile,
        settings={hostile: {hostile: [hostile]}},
        changed={hostile: hostile},
        rules={hostile: [{"a": hostile}]},
        rules_version=hostile,
        not_examined={hostile: 3},
        bad_rows=(BadRow(hostile, 1, 0, hostile),),
        tiers_not_run={"paraphrase": hostile, hostile: hostile},
        detectors={hostile: {hostile: hostile}},
        by_label={hostile: {hostile: {"n_rows": 2, "n_rows_contaminated": 1}}},
        normalisation=hostile,
        versions={hostile: hostile},
    )


@pytest.fixture
def printed() -> Callable[..., str]:
    """Return a function that gives what a renderer prints to a console of that width, colour and cursor off or on."""

    def run(render: Callable[[Console], None], width: int = 80, *, is_terminal: bool = False) -> str:
        stream = io.StringIO()
        if is_terminal:
            console = Console(file=stream, width=width, force_terminal=True, markup=False, emoji=False, highlight=False)
        else:
            console = safe.console(stream, width=width)
        render(console)
        return stream.getvalue()

    return run


@pytest.fixture
def audit_folder(tmp_path: Path) -> Path:
    return tmp_path / "audit"
