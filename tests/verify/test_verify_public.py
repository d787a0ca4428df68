"""Which items are public text: what says so, in which order, and what a user may name."""

from __future__ import annotations

from typing import Any

import lexical
import polars as pl
import pytest

from auditkit.errors import UsageError
from auditkit.read import open_benchmarks
from auditkit.records import Benchmark, Source
from auditkit.verify.public import PUBLIC, public_items

SAYING = '"The lamp on the far shore is lit by those who never sleep at all."'
PASSAGE = " ".join(f"word{n}" for n in range(25))


def benchmark(name: str, parts: list[dict[str, Any]], **changes: Any) -> Benchmark:
    items = lexical.item_frame([{**part, "benchmark": name} for part in parts])
    source = Source(name, f"{name}.jsonl", "jsonl", "", f"{name}.jsonl", "sha256:00", 1)
    return Benchmark(name, source, items, len({part["item"] for part in parts}), **changes)


PARTS: list[dict[str, Any]] = [
    {"item": 0, "text": "What is a good soup?", "slice": "soups"},
    {"item": 1, "text": SAYING, "slice": "sayings"},
    {"item": 2, "text": "Who is meant?", "slice": "soups"},
    {"item": 2, "text": PASSAGE, "part": "passage", "kind": "context", "slice": "soups"},
    {"item": 3, "text": "Sort these.", "slice": None},
    {"item": 3, "text": PASSAGE.rpartition(" ")[0], "part": "input", "kind": "context", "slice": None},
]


def test_looks_and_passages_mark_items() -> None:
    found = public_items([benchmark("b", PARTS)], [])
    assert found.rows() == [("b", 2, "context"), ("b", 1, "quotation")]
    assert dict(found.schema) == PUBLIC


def test_the_first_that_holds_is_named_and_an_item_stands_once() -> None:
    one = benchmark("b", PARTS, public_items=frozenset([0, 1]))
    found = public_items([one], ["b:sayings"])
    assert found.rows() == [("b", 1, "declared"), ("b", 0, "column"), ("b", 2, "context")]


def test_a_whole_benchmark_is_public_by_its_name_or_by_the_registry() -> None:
    named, known = benchmark("b", PARTS), benchmark("c", PARTS, public_note="from the web")
    found = public_items([named, known], ["b"])
    by_name = found.group_by("benchmark", "public_text").len().sort("benchmark").rows()
    assert by_name == [("b", "declared", 4), ("c", "registry", 4)]


def test_the_registry_knows_one() -> None:
    (mmlu,) = open_benchmarks({"mmlu": pl.DataFrame({"question": ["Which?"], "subject": ["law"]})})
    assert mmlu.public_note
    assert public_items([mmlu], [])["public_text"].to_list() == ["registry"]


def test_a_column_says_which_items_are_public() -> None:
    records = [{"prompt": "one", "is_public": True}, {"prompt": "two", "is_public": "no"}, {"prompt": "three"}]
    (read,) = open_benchmarks({"mine": records})
    assert read.public_items == {0}
    assert set(read.items["part"]) == {"prompt"}


@pytest.mark.parametrize(("spec", "message"), [("a", "no benchmark 'a'"), ("b:soup", "no slice 'soup'.*soups")])
def test_unknown_names_are_one_line(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        public_items([benchmark("b", PARTS)], [spec])
