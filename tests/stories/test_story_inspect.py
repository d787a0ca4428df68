"""A pool inspected: planted rows with known answers, the same bytes on any shards, wrong input in one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from audit_support import files, jsonl

import auditkit
from auditkit import tables
from auditkit.errors import LabelError, OutputError, StaleAuditError, UsageError
from auditkit.read import parse_labels
from auditkit.records import ReadSettings
from auditkit.stories import inspect as story
from auditkit.stories.inspect import inspect_pool
from auditkit.stories.inspect_settings import InspectSettings
from auditkit.stories.near import FamilySettings

BASIL = "How do I keep basil alive on a north facing window in winter?"
BREAD = "Which flour is best for a rye bread that has to last a week?"
GERMAN = "Wie backe ich ein gutes Brot für die ganze Familie zu Hause?"


def settings(*specs: str, shard_bytes: int = 8 << 20, **more: Any) -> InspectSettings:
    read = ReadSettings(labels=parse_labels(specs or ("harm=harm", "block=block")), shard_bytes=shard_bytes)
    return InspectSettings(near=FamilySettings(read=read), **more)


def row(text: str, harm: int | None = 0, block: int | None = 0, **more: Any) -> dict[str, Any]:
    return {"text": text, "harm": harm, "block": block, **more}


def rows_of(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "rows.parquet")


def pairs_of(folder: Path, *columns: str) -> list[tuple[Any, ...]]:
    return pl.read_parquet(folder / "conflicts.parquet").select(columns).rows()


def chain() -> list[str]:
    """Texts each of which is near the next, and the ends unlike."""
    words = "one by one the grey geese left the cold lake and flew over quiet hills to warmer fields beyond".split()  # noqa: SIM905
    return [" ".join([f"{word}xx" for word in words[:n]] + words[n:]) for n in range(len(words) + 1)]


POOL = [
    row(BASIL, 1, 1, id="a"),
    row(BASIL.upper(), 0, 1, id="b"),
    row(f"{BASIL} Thanks", 0, 1, id="c"),
    row(GERMAN, 0, 0, id="d"),
    row("", 0, 0, id="e"),
    row("!!!", None, 0, id="f"),
    row("Itâ€™s a fine day \ufffd", 1, 0, id="g"),
    row(" ".join(f"word{i}" for i in range(2001)), 1, 0, id="h"),
    row(BREAD, 0, 0, id="i"),
    row(BREAD, 0, 0, id="j"),
]


def test_each_planted_row_is_what_it_is(tmp_path: Path) -> None:
    found = inspect_pool(jsonl(tmp_path / "p.jsonl", POOL), tmp_path / "out", settings=settings())
    rows = rows_of(tmp_path / "out")
    assert rows["row_id"].to_list() == list("abcdefghij")
    assert rows["flags"].to_list()[4:8] == [["empty"], ["empty"], ["mojibake", "replacement"], ["long"]]
    assert rows["flags"].list.len().sum() == 5
    assert found.flags == {"empty": 2, "long": 1, "mojibake": 1, "replacement": 1}
    assert rows["family"].to_list() == [f"p:{i}" for i in (0, 0, 0, 3, 4, 5, 6, 7, 8, 8)]
    assert rows["family_kind"].to_list() == ["near"] * 3 + ["single"] * 5 + ["exact"] * 2
    assert rows["language"].to_list()[:4] == ["en", "en", "en", "de"]
    assert rows["script"].to_list()[3:6] == ["Latin", None, None]
    assert rows["digest"].is_null().to_list() == [False] * 4 + [True] * 2 + [False] * 4
    assert rows["digest"][0] == rows["digest"][1] != rows["digest"][2]
    assert rows["pool_labels"].to_list()[5] == {"harm": None, "block": 0}
    assert rows["n_characters"][3] == len(GERMAN)
    tables.check(rows, tables.INSPECTED, "rows.parquet")


def test_counts_add_up_and_are_those_of_the_rows(tmp_path: Path) -> None:
    found = inspect_pool(jsonl(tmp_path / "p.jsonl", POOL), tmp_path / "out", settings=settings())
    rows = rows_of(tmp_path / "out")
    assert (
        found.n_rows == len(rows) == sum(n["n_rows"] for n in found.lengths.values()) == sum(found.languages.values())
    )
    assert found.n_tokens == rows["n_tokens"].sum()
    assert found.scripts == {"Latin": {"n_rows": 8, "n_mixed": 0}, "": {"n_rows": 2, "n_mixed": 0}}
    assert found.labels == {"harm": {"1": 3, "0": 6, "null": 1}, "block": {"1": 3, "0": 7, "null": 0}}
    assert found.families is not None
    assert found.families.kinds == {
        "single": {"n_families": 5, "n_rows": 5}, "exact": {"n_families": 1, "n_rows": 2},
        "near": {"n_families": 1, "n_rows": 3},
    }  # fmt: skip
    assert found.families.n_repeated == 3
    assert found.families.cells == {"C0": 1, "C1 + D01": 1}
    assert found.cells is not None
    assert found.cells.total.cells == {"C1": 1, "C0": 4, "D10": 2, "D01": 2, "unknown": 1}
    families = pl.read_parquet(tmp_path / "out/families.parquet")
    assert families.select("family", "family_kind", "size").rows() == [("p:0", "near", 3), ("p:8", "exact", 2)]
    assert families["labels"][0]["harm"] == {"flagged": 1, "passed": 2, "unknown": 0}
    assert families["cells"][0] == {"C1": 1, "C0": 0, "D10": 0, "D01": 2, "unknown": 0}


def test_each_conflicting_pair_is_named_by_place_and_digest(tmp_path: Path) -> None:
    found = inspect_pool(jsonl(tmp_path / "p.jsonl", POOL), tmp_path / "out", settings=settings())
    columns = ("policy", "row", "row_id", "label", "other_row", "other_id", "other_label", "tier", "family")
    assert pairs_of(tmp_path / "out", *columns) == [
        ("harm", 0, "a", 1, 1, "b", 0, "exact", "p:0"),
        ("harm", 0, "a", 1, 2, "c", 0, "contained", "p:0"),
    ]
    digests = rows_of(tmp_path / "out")["digest"]
    assert pairs_of(tmp_path / "out", "digest", "other_digest")[1] == (digests[0], digests[2])
    assert [(one.policy, one.by_tier) for one in found.conflicts] == [
        ("harm", {"exact": 1, "contained": 1}),
        ("block", {}),
    ]


def test_equal_rows_of_one_label_are_one_line_with_their_number(tmp_path: Path) -> None:
    pool = [row(BASIL, 0), row(BASIL, 1), row(BASIL, 1), row(BASIL, 0), row(BASIL, 0)]
    inspect_pool(jsonl(tmp_path / "p.jsonl", pool), tmp_path / "out", settings=settings("harm=harm"))
    assert pairs_of(tmp_path / "out", "row", "n_rows", "other_row", "n_other_rows") == [(1, 2, 0, 3)]


def test_a_chain_is_one_family_and_only_its_near_pairs_conflict(tmp_path: Path) -> None:
    texts = chain()
    pool = [row(text, int(i == 0), 0) for i, text in enumerate(texts)]
    inspect_pool(jsonl(tmp_path / "p.jsonl", pool), tmp_path / "out", settings=settings("harm=harm"))
    assert set(rows_of(tmp_path / "out")["family"]) == {"p:0"}
    others = [pair[0] for pair in pairs_of(tmp_path / "out", "other_row")]
    assert 1 in others
    assert len(texts) - 1 not in others


def test_numbers_and_emoji_that_differ_make_no_exact_pair(tmp_path: Path) -> None:
    pool = [row("I would love to hug 👳🏾 today", 1), row("I would love to hug 🤢 today", 0), row(f"{BASIL} 48", 1),
            row(f"{BASIL} 52", 0)]  # fmt: skip
    inspect_pool(jsonl(tmp_path / "p.jsonl", pool), tmp_path / "out", settings=settings("harm=harm"))
    rows = rows_of(tmp_path / "out")
    assert "exact" not in rows["family_kind"].to_list()
    assert rows["digest"].n_unique() == 4
    assert (2, 3) not in pairs_of(tmp_path / "out", "row", "other_row")


def test_the_size_of_shards_changes_no_byte(tmp_path: Path) -> None:
    pool = [row(f"{text} {i % 7}", i % 2, i % 3 % 2, origin=f"s{i % 3}") for i in range(30) for text in (BASIL, GERMAN)]
    for name in ("b", "a"):
        jsonl(tmp_path / f"pool/{name}.jsonl", pool)
    made = {}
    for size in (1 << 10, 1 << 23):
        out = tmp_path / f"out{size}"
        inspect_pool([tmp_path / "pool"], out, settings=settings(shard_bytes=size, source_column="origin"))
        made[size] = files(out)
    assert made[1 << 10] == made[1 << 23]
    assert set(made[1 << 10]) == {
        "rows.parquet",
        "families.parquet",
        "conflicts.parquet",
        "inspection.md",
        "inspection.json",
    }


def test_without_families_the_rest_is_the_same(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "p.jsonl", POOL)
    inspect_pool(pool, tmp_path / "all", settings=settings())
    found = inspect_pool(pool, tmp_path / "out", settings=settings(families=False))
    family = ["family", "family_kind", "family_size"]
    assert rows_of(tmp_path / "out").drop(family).equals(rows_of(tmp_path / "all").drop(family))
    assert set(files(tmp_path / "out")) == {"rows.parquet", "conflicts.parquet", "inspection.md", "inspection.json"}
    assert found.families is None
    assert any("near-duplicates and conflicting labels were not looked for" in note for note in found.notes)


def test_rows_beyond_a_number_of_tokens_are_counted_by_length_band(tmp_path: Path) -> None:
    pool = [row(" ".join(f"w{i}x{j}" for j in range(n))) for i, n in enumerate((9, 10, 11, 40, 40))]
    found = inspect_pool(jsonl(tmp_path / "p.jsonl", pool), tmp_path / "out", settings=settings(max_tokens=10))
    assert found.flags["truncated"] == 3
    assert {name: tuple(n.values()) for name, n in found.lengths.items()} == {
        "1-10": (2, 0), "11-30": (1, 1), "31-100": (2, 2)
    }  # fmt: skip
    assert any("auditkit's own tokens" in note for note in found.notes)


@pytest.mark.embed
def test_a_tokenizer_counts_what_the_model_cuts_off(tmp_path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(WordLevel({"[UNK]": 0, "[CLS]": 1, "[PAD]": 2, "a": 3}, "[UNK]"))
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]", model_max_length=6)
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    pool = jsonl(tmp_path / "p.jsonl", [row("a a a a a"), row("a, a a a a"), row("")])
    named = settings(tokenizer=str(tmp_path / "tokenizer"))
    found = inspect_pool(pool, tmp_path / "out", settings=named)
    assert rows_of(tmp_path / "out")["n_model_tokens"].to_list() == [6, 7, 1]
    assert rows_of(tmp_path / "out")["flags"].to_list() == [[], ["truncated"], ["empty"]]
    assert found.settings["max_tokens"] == 6
    assert inspect_pool(pool, tmp_path / "more", settings=replace(named, max_tokens=5)).flags["truncated"] == 2


def test_labels_are_compared_with_those_of_a_benchmark(tmp_path: Path) -> None:
    items = jsonl(tmp_path / "eval.jsonl", [{"prompt": BASIL, "label": 0}, {"prompt": GERMAN, "label": 0}])
    found = inspect_pool(
        jsonl(tmp_path / "p.jsonl", POOL), tmp_path / "out", settings=settings(), benchmarks=[str(items)]
    )
    with_items = [pair[1:] for pair in pairs_of(tmp_path / "out", "kind", "policy", "row", "other", "other_row")
                  if pair[0] == "item"]  # fmt: skip
    assert sorted(with_items) == [("block", 0, "eval", 0), ("block", 1, "eval", 0), ("block", 2, "eval", 0),
                                  ("harm", 0, "eval", 0)]  # fmt: skip
    counts = {(one.policy, one.other): sum(one.by_tier.values()) for one in found.conflicts}
    assert counts == {("harm", ""): 2, ("harm", "eval"): 1, ("block", ""): 0, ("block", "eval"): 3}


def test_prompts_are_looked_at_and_answers_counted_as_left_out(tmp_path: Path) -> None:
    pool = [{"prompt": BASIL, "response": "Itâ€™s easy."}, {"prompt": BREAD, "response": "No."}]
    found = inspect_pool(jsonl(tmp_path / "p.jsonl", pool), tmp_path / "out")
    assert found.flags["mojibake"] == 0
    assert found.not_examined["text beside the prompts (answers, system prompts)"] == 2
    fields = InspectSettings(near=FamilySettings(read=ReadSettings(fields=("response",))))
    assert inspect_pool(tmp_path / "p.jsonl", tmp_path / "more", settings=fields).flags["mojibake"] == 1


def test_no_text_of_the_pool_is_written_and_no_name_breaks_out(tmp_path: Path) -> None:
    pool = [{**one, "from": "|[red](x)\x1b[2J"} for one in POOL]
    inspect_pool(jsonl(tmp_path / "p.jsonl", pool), tmp_path / "out", settings=settings(source_column="from"))
    written = files(tmp_path / "out")
    assert not [name for name, content in written.items() if b"basil" in content.lower()]
    assert b"\x1b" not in written["inspection.md"] + written["inspection.json"]
    assert b"[red](x)" not in written["inspection.md"]
    assert json.loads(written["inspection.json"])["kind"] == "auditkit inspection"


@pytest.mark.parametrize("texts", [[], ["cat"], ["", "!!!"]])
def test_tiny_pools(tmp_path: Path, texts: Sequence[str]) -> None:
    found = inspect_pool({"p": [row(text) for text in texts]}, tmp_path / "out", settings=InspectSettings())
    assert found.n_rows == len(rows_of(tmp_path / "out")) == len(texts)
    assert found.rows.collect().equals(rows_of(tmp_path / "out"))
    assert pairs_of(tmp_path / "out", "row") == []


def test_a_pool_that_changes_meanwhile_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, find = jsonl(tmp_path / "p.jsonl", POOL), story.find_kin

    def changed(*arguments: Any) -> Any:
        kin = find(*arguments)
        jsonl(path, POOL[:-1])
        return kin

    monkeypatch.setattr(story, "find_kin", changed)
    with pytest.raises(StaleAuditError, match="changed while it was read"):
        inspect_pool(path, tmp_path / "out", settings=settings())
    assert not (tmp_path / "out").exists()


def test_wrong_use_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "p.jsonl", POOL)
    with pytest.raises(UsageError, match="max_tokens is 0, expected a whole number from 1"):
        settings(max_tokens=0)
    with pytest.raises(UsageError, match="policy 'script' has the name of something"):
        settings("script=harm")
    with pytest.raises(UsageError, match="benchmarks are given to compare labels with, and no labels"):
        inspect_pool(path, tmp_path / "out", settings=InspectSettings(), benchmarks=[str(path)])
    for families in (True, False):
        with pytest.raises(LabelError, match="none of the 10 values of column 'id' is a known label"):
            inspect_pool(path, tmp_path / "out", settings=settings("harm=id:yes=1", families=families))
    with pytest.raises(OutputError, match="holds the input"):
        inspect_pool(path, tmp_path, settings=settings())
    assert set(files(tmp_path)) == {"p.jsonl"}


def test_it_is_a_public_name() -> None:
    assert auditkit.inspect_pool is inspect_pool
    assert auditkit.InspectSettings is InspectSettings
