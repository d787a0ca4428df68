"""Parts: a shard comes back as it was; its key follows what its result depends on, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal, assert_series_equal

import auditkit
from auditkit.read import open_benchmarks, open_pool, read_texts
from auditkit.records import BadRow, LabelRule, ReadSettings, TextBatch
from auditkit.stories.parts import decode, encode, is_whole, key_of
from auditkit.stories.scan import Scanner, Shard

ITEMS = ["How do I keep basil alive on a north facing window?", "Which of these planets has the longest day of all?"]
ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": ITEMS[0].upper(), "harm": 1},
    {"id": "b", "text": "Nothing of interest. 🦊", "harm": 0},
    {"id": None, "text": None, "harm": None},
]
READ = ReadSettings(labels=(LabelRule("harm", "harm"),))


def batch_of(rows: list[dict[str, Any]], name: str = "pool") -> TextBatch:
    (batch,) = read_texts(open_pool({name: rows}).sources[0], READ)
    return batch


def scanner(items: list[str] = ITEMS, **settings: Any) -> Scanner:
    wanted = auditkit.AuditSettings(**settings)
    return Scanner.make(open_benchmarks({"bench": items}), wanted, wanted.all_rules(), n_pool_bytes=0)


def assert_same(one: Shard, other: Shard) -> None:
    for name, value in vars(one).items():
        if isinstance(value, pl.DataFrame):
            assert_frame_equal(getattr(other, name), value)
        elif isinstance(value, pl.Series):
            assert_series_equal(getattr(other, name), value, check_names=False)
        else:
            assert getattr(other, name) == value, name


def test_a_shard_comes_back() -> None:
    shard = scanner(decoys=0).scan(batch_of(ROWS))
    shard = replace(
        shard,
        bad_rows=(BadRow("p.jsonl", 3, 2, "a \x00 in it"),),
        not_examined={"null field text": 2},
        n_template_only=4,
        paraphrase_counts={"minilm": {"n_embedded": 3}},
    )
    assert len(shard.pairs) == len(shard.labels) == 1
    assert shard.label_counts == {"harm": Counter({"1": 1, "0": 1, "null": 1})}
    assert_same(shard, decode(encode(shard)))
    assert encode(decode(encode(shard))) == encode(shard)


def test_an_empty_shard_comes_back() -> None:
    shard = scanner().scan(batch_of([]))
    assert (len(shard.pairs), len(shard.id_hashes)) == (0, 0)
    assert_same(shard, decode(encode(shard)))


def test_a_damaged_part_is_seen() -> None:
    part = encode(scanner().scan(batch_of(ROWS)))
    assert is_whole(part)
    assert not any(is_whole(part[:size]) for size in (0, 1, 7, len(part) // 2, len(part) - 1))
    assert not is_whole(pl.DataFrame({"a": [1]}).write_csv().encode())


def test_the_key_does_not_know_the_sources_name() -> None:
    assert key_of(batch_of(ROWS), "i") == key_of(batch_of(ROWS, "other"), "i")


@pytest.mark.parametrize("name", ["id", "text", "harm"])
def test_the_key_follows_every_value(name: str) -> None:
    known = {key_of(batch_of(ROWS), "i"), key_of(batch_of(ROWS), "j")}
    assert len(known) == 2
    for row in range(3):
        other = [dict(record) for record in ROWS]
        other[row][name] = 0 if name == "harm" and row != 1 else "x" if name != "harm" else 1
        known.add(key_of(batch_of(other), "i"))
    assert len(known) == 5


def test_values_that_run_together_differ() -> None:
    pairs = [("ab", "c"), ("a", "bc"), ("abc", "")]
    keys = {key_of(batch_of([{"text": one, "prompt": two, "harm": 1}]), "i") for one, two in pairs}
    assert len(keys) == 3


def test_the_index_is_known_by_items_rules_and_tiers() -> None:
    usual = scanner()
    assert usual.digest == scanner().digest
    rules = auditkit.default_rules()
    others = [
        scanner(ITEMS[:1]),
        scanner(ITEMS[::-1]),
        scanner(tiers=("exact", "near")),
        scanner(rules=replace(rules, near=replace(rules.near, ratio=0.95))),
    ]
    assert len({usual.digest, *(other.digest for other in others)}) == 5
