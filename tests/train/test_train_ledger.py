"""Ledger entries there and back, model cards, and keys that change with whatever decides weights or scores."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auditkit.errors import InputError
from auditkit.study_records.ledger import LedgerEntry, StageRecord
from auditkit.study_records.settings import Optimizer, Stage, Teacher, Trainable
from auditkit.train import ledger
from auditkit.train.card import model_card, write_entry
from auditkit.train.ledger import data_digest, entry_from_json, entry_to_json, read_entry, score_key, stage_key

RECORD = StageRecord(
    key="sha256:k",
    labels="harm",
    teacher="guard",
    teacher_digest="sha256:t",
    temperature=2.0,
    weight=0.5,
    is_hardened=False,
    is_shuffled=True,
    trainable="lora rank 1 on query: 64 of 21,538 parameters (0.2972 %)",
    n_trainable=64,
    n_parameters=21538,
    trainable_names=("bert.encoder.layer.0.attention.self.query.weight",),
    n_rows=1000,
    n_truncated=3,
    epochs=1.0,
    learning_rate=5e-4,
    losses=(0.7, 0.2),
    seconds=1.5,
    n_unlabelled=2,
    n_steps=32,
    teacher_source="org/guard@0123abcd",
    template_digest="sha256:p",
)
ENTRY = LedgerEntry(
    arm="a|b\n# **arm**",
    seed=3,
    model="small",
    model_source="sentence-transformers/all-MiniLM-L6-v2@1110a243",
    model_digest="sha256:m",
    final_policy="mixed",
    parent="first",
    control="shuffled",
    stages=(RECORD, dataclasses.replace(RECORD, teacher="", teacher_digest="")),
    optimizer=dataclasses.asdict(Optimizer()),
    data_digest="sha256:d",
    weights_digest="sha256:w",
    folder="arms/a",
    versions={"torch": "2.13"},
)


def test_an_entry_goes_there_and_back() -> None:
    assert entry_from_json(json.loads(json.dumps(entry_to_json(ENTRY)))) == ENTRY


def test_an_arms_folder_gets_ledger_and_card(tmp_path: Path) -> None:
    write_entry(tmp_path, ENTRY)
    assert read_entry(tmp_path) == ENTRY
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == model_card(ENTRY)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "ledger.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stages": [{}]}', json.dumps({**entry_to_json(ENTRY), "odd": 1})])
def test_a_broken_ledger_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(InputError, match=r"ledger\.json"):
        read_entry(tmp_path)


def test_a_card_has_front_matter_and_says_where_everything_came_from() -> None:
    yaml = pytest.importorskip("yaml")
    card = model_card(ENTRY)
    _, front, body = card.split("---\n", 2)
    meta = yaml.safe_load(front)
    assert meta["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert meta["library_name"] == "transformers"
    for fact in (
        "seed 3",
        "mixed",
        "shuffled within hard-label class; temperature 2, weight 0.5",
        "sha256:t",
        "| read from | org/guard@0123abcd |",
        "| template's digest | sha256:p |",
        "sha256:d",
    ):
        assert fact in body
    assert "3 of them cut" in body
    assert "64 of 21,538 parameters (0.2972 %)" in body
    # Names from a study file are no markup: one heading line, no table cell of its own.
    assert body.lstrip().splitlines()[0] == r"# a\|b \# \*\*arm\*\*, seed 3"


def test_a_card_names_no_folder_as_base_model() -> None:
    entry = dataclasses.replace(ENTRY, model_source="/home/me/model")
    assert "base_model" not in model_card(entry)


def test_a_card_says_that_its_arm_was_trained_on_the_contaminated_pool() -> None:
    said = "trained on the contaminated pool, benchmark items included"
    assert said not in model_card(ENTRY)
    card = model_card(dataclasses.replace(ENTRY, is_raw=True))
    assert said in card
    assert "- contaminated" in card
    assert "| training data | the contaminated pool |" in card


# ---------------------------------------------------------------- keys

KEY: dict[str, Any] = {
    "base_digest": "sha256:b",
    "seed": 1,
    "earlier": (),
    "data_digest": "sha256:d",
    "teacher_key": "",
    "stage": Stage("A", Teacher(arm="t")),
    "optimizer": Optimizer(),
    "versions": {"torch": "2.13", "code": "c"},
}


@pytest.mark.parametrize(
    "change",
    [
        {"base_digest": "sha256:c"},  # weights, tokenizer and config of the base
        {"seed": 2},
        {"earlier": ("sha256:k",)},
        {"data_digest": "sha256:e"},
        {"teacher_key": "sha256:t"},
        {"stage": Stage("B", Teacher(arm="t"))},
        {"stage": Stage("A", Teacher(arm="t", temperature=3.0))},
        {"stage": Stage("A", Teacher(arm="t"), Trainable(rank=1))},
        {"stage": Stage("A", Teacher(arm="t"), epochs=2.0)},
        {"optimizer": Optimizer(weight_decay=0.0)},
        {"optimizer": Optimizer(max_tokens=64)},
        {"trainer": "head"},
        {"versions": {"torch": "2.14", "code": "c"}},
        {"versions": {"torch": "2.13", "code": "d"}},
    ],
    ids=str,
)
def test_a_stages_key_changes_with_whatever_decides_its_weights(change: dict[str, Any]) -> None:
    assert stage_key(**KEY) == stage_key(**KEY)
    assert stage_key(**(KEY | change)) != stage_key(**KEY)


def test_the_order_of_earlier_stages_counts() -> None:
    assert stage_key(**(KEY | {"earlier": ("a", "b")})) != stage_key(**(KEY | {"earlier": ("b", "a")}))


def test_the_code_is_part_of_the_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ledger.training_versions()
    assert {"code", "torch", "transformers", "peft", "python"} <= set(before)
    key = stage_key(**(KEY | {"versions": None}))
    monkeypatch.setattr(ledger, "code_digest", lambda: "edited")
    assert stage_key(**(KEY | {"versions": None})) != key


def test_every_module_that_decides_numbers_is_part_of_the_code_digest(root: Path) -> None:
    modules = {path.stem for path in (root / "auditkit/train").glob("*.py")}
    assert modules - set(ledger._CODE) == {"__init__", "cache", "card", "folders", "ledger", "teachers"}


@pytest.mark.parametrize(
    "change",
    [
        {"checkpoint_digest": "sha256:x"},
        {"texts_digest": "sha256:x"},
        {"max_tokens": 64},
        {"threshold_rule": "best F1 on dev, >="},
        {"seed": 2},
    ],
    ids=str,
)
def test_a_key_of_scores_covers_weights_texts_tokens_and_threshold_rule(change: dict[str, Any]) -> None:
    key = {"checkpoint_digest": "sha256:c", "texts_digest": "sha256:t", "max_tokens": 128}
    assert score_key(**key) == score_key(**key)  # type: ignore[arg-type]
    assert score_key(**(key | change)) != score_key(**key)  # type: ignore[arg-type]


def test_data_digests_see_borders_order_and_missing_labels() -> None:
    zeros, ones = np.zeros(2, np.int64), np.ones(2, np.int64)
    digests = [
        data_digest(["ab", "c"]),
        data_digest(["a", "bc"]),
        data_digest(["c", "ab"]),
        data_digest(["ab", "c"], zeros),
        data_digest(["ab", "c"], ones),
        data_digest(["ab", "c"], zeros.astype(np.float64)),
        data_digest(["ab", "c"], None),
        data_digest(["ab", "c"], zeros, None),
        data_digest(["ab", "c"], None, zeros),
        data_digest([]),
    ]
    assert len(set(digests)) == len(digests)
    assert data_digest(["ab", "c"], zeros) == data_digest(["ab", "c"], zeros.copy())
