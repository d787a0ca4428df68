from __future__ import annotations

from collections.abc import Callable

import pytest

from auditkit.errors import UsageError
from auditkit.records import AuditReport, BadRow
from auditkit.report.sentence import paper_sentence

HEAD = "1,082 of 1,319 or-bench-hard items (82.0 %; revision ab12cd, sha256 1234abcd) are in condemned rows of "


def test_the_sentence_of_the_definition(report: AuditReport) -> None:
    assert paper_sentence(report, "or-bench-hard") == (
        HEAD + "train (sha256 feedbeef), rules v1, defaults unchanged; paraphrase not run; not examined: nothing."
    )


def test_changes_review_and_gaps_are_named(make_report: Callable[..., AuditReport], make_benchmark: Callable) -> None:
    report = make_report(
        benchmarks=(make_benchmark(n_review=25, reported_rate=1107 / 1319, n_unmatchable=1),),
        changed={"near": {"min_ratio": 0.8}, "tiers": ["exact", "near"]},
        tiers_run=("exact", "near"),
        not_examined={"null field text": 3, "image": 1200, "audio": 0},
        bad_rows=(BadRow("a.jsonl", 2, 1, "x"), BadRow("a.jsonl", 3, 2, "x")),
    )
    assert paper_sentence(report, "or-bench-hard") == (
        HEAD
        + "train (sha256 feedbeef), rules v1, changed from the defaults: near.min_ratio = 0.8, tiers = [exact, near]; "
        "25 further items (1.9 %) only in rows marked for review; 1 item unmatchable by any tier that ran; "
        "contained and paraphrase not run; not examined: 1,200 image, 3 null field text, 2 broken rows set aside."
    )


def test_one_item_no_revision_and_all_tiers(make_report: Callable[..., AuditReport], make_benchmark: Callable) -> None:
    result = make_benchmark("mine", n_items=1, n_found=1, leak_rate=1.0, revision="")
    report = make_report(
        benchmarks=(result,), tiers_run=("exact", "contained", "near", "paraphrase"), rules_version="2"
    )
    assert paper_sentence(report, "mine") == (
        "1 of 1 mine item (100.0 %; sha256 1234abcd) is in condemned rows of train (sha256 feedbeef), rules v2, "
        "defaults unchanged; all tiers run; not examined: nothing."
    )


def test_an_empty_benchmark_has_no_rate(make_report: Callable[..., AuditReport], make_benchmark: Callable) -> None:
    report = make_report(benchmarks=(make_benchmark("none", n_items=0, n_found=0, leak_rate=None),), sources=())
    assert paper_sentence(report, "none").startswith("0 of 0 none items (undefined; ")
    assert "rows of an empty pool (" in paper_sentence(report, "none")


def test_pools_of_many_sources(make_report: Callable[..., AuditReport], make_source: Callable) -> None:
    report = make_report(sources=tuple(make_source(name) for name in "abcde"))
    assert "condemned rows of a, b and 3 more sources (" in paper_sentence(report, "or-bench-hard")


def test_an_unknown_benchmark_names_the_nearest(report: AuditReport) -> None:
    with pytest.raises(UsageError, match=r"'or-bench-hrd' in this report; did you mean 'or-bench-hard'\?"):
        paper_sentence(report, "or-bench-hrd")
