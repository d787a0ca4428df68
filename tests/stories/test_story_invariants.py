"""What must not change a match: order of rows, size of shards, clean rows beside them, a second round."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import auditkit
from auditkit.errors import BenchmarkError
from auditkit.records import AuditReport
from auditkit.text.normalise import canonical
from auditkit.verify.rules import Frequency, default_rules

ITEMS = [
    "How do I repair a leaking garden hose without buying any new parts for it?",
    "Describe the route of the old tram from the brewery to the harbour in 1923.",
    "List five reasons why the village bakery closes on Mondays during the winter months.",
    "วิธีปลูกกะเพราในกระถางให้รอดตลอดฤดูหนาว",
    "为什么湖边的灯塔每天晚上八点以后才会亮起来",
    "yes 🦊",
    "Route 66",
    "Explain to a child, in simple words, how a sundial shows the time and why it fails at night.",
]
CLEAN = [
    "The committee met in the town hall and talked about the bus.",
    "Please bring your own cup to the meeting on Friday.",
    "",
    "42",
    "Ein Haus am See wäre schön, sagte die Tante zum dritten Mal.",
    "การประชุมเริ่มเวลาสิบโมงเช้า",
]


def _typo(text: str) -> str:
    return text[: len(text) // 2] + text[len(text) // 2 + 1 :]


def _swapped(text: str) -> str:
    words = text.split()
    return " ".join([*words[len(words) // 2 :], *words[: len(words) // 2]])


def _part(text: str) -> str:
    words = text.split()
    return " ".join(words[: max(1, round(0.7 * len(words)))])


COPIES = [
    lambda text: text,
    str.upper,
    _typo,
    _swapped,
    _part,
    lambda text: f"Good morning! {text} Thank you very much.",
    lambda text: f"{text}\n\n{text}",
    lambda text: text.replace(" ", "\u200b "),
]

copies = st.builds(lambda item, copy: copy(item), st.sampled_from(ITEMS), st.sampled_from(COPIES))
joined = st.builds(lambda one, two: f"{one} {two}", copies, st.one_of(copies, st.sampled_from(CLEAN)))
rows = st.lists(st.one_of(copies, joined, st.sampled_from(CLEAN)), min_size=1, max_size=14)

#: One example is a whole audit, two or three of them: a few dozen say enough.
FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def audit(texts: list[str], shard_bytes: int = 16 << 20, **more: Any) -> AuditReport:
    records = [{"id": f"r{i}", "text": text} for i, text in enumerate(texts)]
    return audit_records(records, shard_bytes, **more)


def audit_records(records: list[dict[str, str]], shard_bytes: int = 16 << 20, **more: Any) -> AuditReport:
    read = auditkit.ReadSettings(shard_bytes=shard_bytes)
    return auditkit.audit({"pool": records}, {"bench": ITEMS}, auditkit.AuditSettings(read=read, **more))


def by_id(report: AuditReport) -> Counter[tuple[Any, ...]]:
    """Return how often each match stands in the report, rows by their id."""
    return Counter(report.matches.drop("row", "pool_labels").rows())


@FEW
@given(rows, st.randoms(use_true_random=False), st.sampled_from([1, 200, 1000]))
def test_neither_order_nor_shards_change_a_match(texts: list[str], rng: Any, shard_bytes: int) -> None:
    records = [{"id": f"r{i}", "text": text} for i, text in enumerate(texts)]
    expected = audit_records(records)
    assert audit_records(records, shard_bytes).matches.equals(expected.matches)
    rng.shuffle(records)
    permuted = audit_records(records, shard_bytes)
    assert by_id(permuted) == by_id(expected)
    assert permuted.items.equals(expected.items)
    assert (permuted.n_rows_contaminated, permuted.n_rows_review) == (
        expected.n_rows_contaminated,
        expected.n_rows_review,
    )


@FEW
@given(rows, st.lists(st.sampled_from(CLEAN), max_size=10))
def test_clean_rows_change_no_match(texts: list[str], clean: list[str]) -> None:
    records = [{"id": f"r{i}", "text": text} for i, text in enumerate(texts)]
    more = [{"id": f"c{i}", "text": text} for i, text in enumerate(clean)]
    expected, report = audit_records(records), audit_records([*more, *records])
    assert by_id(report) == by_id(expected)
    assert report.items.equals(expected.items)


@FEW
@given(rows, st.integers(0, len(ITEMS) - 1))
def test_a_planted_copy_is_found_whatever_else_is_there(texts: list[str], item: int) -> None:
    report = audit([*texts, ITEMS[item]])
    mine = report.matches.filter((pl.col("row") == len(texts)) & (pl.col("item") == item))
    assert mine.select("tier", "verdict").rows() == [("exact", "contaminated")]


any_texts = st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=5)


@settings(FEW, max_examples=80)
@given(any_texts, st.text(max_size=10), st.text(max_size=10))
def test_any_unicode_finds_itself_and_spans_lie_on_it(items: list[str], before: str, after: str) -> None:
    texts = [*items, *(f"{before} {item} {after}" for item in items)]
    try:
        report = auditkit.audit({"pool": texts}, {"bench": items})
    except BenchmarkError:
        assert not any(canonical(item) for item in items)
        return
    assert report.benchmarks[0].n_found == len(items) - report.benchmarks[0].n_unmatchable
    for match in report.matches.iter_rows(named=True):
        row, item = texts[match["row"]], items[match["item"]]
        assert 0 <= match["row_start"] < match["row_end"] <= len(row)
        assert 0 <= match["item_start"] < match["item_end"] <= len(item)
        if match["rule"] in ("exact", "contained.whole"):
            assert canonical(row[match["row_start"] : match["row_end"]]) == canonical(item)


# ---------------------------------------------------------------- frequency, and the second round

WORDS = "amber brick cedar dune ember flint grove heath inlet jetty knoll larch mirth notch ochre pearl".split()  # noqa: SIM905
LONG = [" ".join(f"{word}{i}" for word in WORDS) for i in ("an", "or", "is")]


def _cut(text: str, first: int, n: int) -> str:
    return " ".join(text.split()[first : first + n])


pieces = st.builds(_cut, st.sampled_from(LONG), st.integers(0, 6), st.integers(7, 13))
partial_rows = st.lists(
    st.builds(
        lambda parts, tail: " ".join([*parts, tail]),
        st.lists(st.one_of(pieces, st.sampled_from(LONG)), min_size=1, max_size=3),
        st.sampled_from(["", "x1", "x2", "x3"]),
    ),
    min_size=1,
    max_size=16,
)


def _audit_partial(texts: dict[int, str], limit: int) -> AuditReport:
    rules = dataclasses.replace(default_rules(), frequency=Frequency(limit))
    records = [{"id": f"r{i}", "text": text} for i, text in texts.items()]
    return auditkit.audit({"pool": records}, {"bench": LONG}, auditkit.AuditSettings(rules=rules))


@settings(FEW, max_examples=80)
@given(partial_rows, st.integers(0, 3))
def test_the_pool_without_its_condemned_rows_condemns_nothing(texts: list[str], limit: int) -> None:
    report = _audit_partial(dict(enumerate(texts)), limit)
    gone = set(report.matches.filter(pl.col("verdict") == "contaminated")["row"])
    kept = {i: text for i, text in enumerate(texts) if i not in gone}
    if kept:
        again = _audit_partial(kept, limit)
        assert again.n_rows_contaminated == 0
        assert again.n_rows_review == report.n_rows_review


@pytest.mark.parametrize(("n_rows", "n_condemned"), [(3, 3), (4, 0)])
def test_partial_matches_in_too_many_rows_are_for_review(n_rows: int, n_condemned: int) -> None:
    part = _cut(LONG[0], 0, 11)
    texts = {i: f"{part} {word}" for i, word in enumerate(WORDS[:n_rows])}
    report = _audit_partial(texts, 3)
    assert report.n_rows_contaminated == n_condemned
    if not n_condemned:
        assert set(report.matches["rule"]) == {"frequency.partial_rows"}


def test_equal_rows_count_once_in_frequencies() -> None:
    part = _cut(LONG[0], 0, 11)
    assert _audit_partial(dict.fromkeys(range(20), part), 3).n_rows_contaminated == 20


def test_frequency_never_weakens_a_whole_item() -> None:
    texts = {i: f"{LONG[0]} {word}" for i, word in enumerate(WORDS)} | {99: LONG[0]}
    assert _audit_partial(texts, 0).n_rows_contaminated == len(texts)
