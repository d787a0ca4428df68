"""Prompts of a study: the same prompts as of a split, with two labels and a source, drawn in proportion."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from audit_support import jsonl

from auditkit import read
from auditkit.errors import InputError, LabelError
from auditkit.stories.pool_rows import read_rows
from auditkit.stories.study_data import PROMPTS, draw, read_prompts, read_settings, strata_of
from auditkit.stories.study_file import example, parse_study
from auditkit.study_records.settings import StudySettings


@pytest.fixture
def settings() -> StudySettings:
    """Return the bundled study; its pool's text columns and sources are found, not named."""
    bundled = parse_study(tomllib.loads(example()), "example", Path())
    return dataclasses.replace(bundled, text_fields=(), source_column="")


def chat(*turns: str) -> list[dict[str, str]]:
    return [{"role": role, "content": f"{role} {i}"} for i, role in enumerate(turns)]


def read_rows_of(folder: Path, rows: list[dict[str, Any]], settings: StudySettings) -> pl.DataFrame:
    jsonl(folder / "pool.jsonl", rows)
    return read_prompts(read.open_pool([folder / "pool.jsonl"]), settings)


ROWS = [
    {"prompt": "open", "response": "no", "harm": 1, "block": 0, "source": "x"},
    {"prompt": "  ", "response": "", "harm": 1, "block": 1, "source": "x"},
    {"prompt": "close", "response": "yes", "harm": 0, "block": 1, "source": None},
    {"prompt": "turn", "response": "yes", "harm": 0, "block": None, "source": "y"},
]


def test_a_prompt_has_its_labels_and_source_and_no_answer(settings: StudySettings, tmp_path: Path) -> None:
    found = read_rows_of(tmp_path, ROWS, dataclasses.replace(settings, source_column="source"))
    assert found.schema == PROMPTS
    assert found.drop("pool").rows() == [
        (0, "open", "x", 1, 0),
        (2, "close", None, 0, 1),
        (3, "turn", "y", 0, None),
    ]


def test_without_a_source_column_no_prompt_has_a_source(settings: StudySettings, tmp_path: Path) -> None:
    assert read_rows_of(tmp_path, ROWS, settings)["source"].null_count() == 3


def test_prompts_are_those_of_a_split(settings: StudySettings, tmp_path: Path) -> None:
    """Chats and columns of answers: what is trained on is what families are made of."""
    rows = [
        {"messages": chat("system", "user", "assistant", "user"), "harm": 1, "block": 0},
        {"messages": chat("assistant"), "harm": 0, "block": 1},
    ]
    found = read_rows_of(tmp_path, rows, settings)
    assert found["text"].to_list() == ["user 1\n\nuser 3", "assistant 0"]
    split = read_rows(read.open_pool([tmp_path / "pool.jsonl"]), read_settings(settings)).texts
    joined = split.group_by("row", maintain_order=True).agg(pl.col("text").str.join("\n\n"))
    assert joined["text"].equals(found["text"])


def test_nothing_to_train_on_is_one_line(settings: StudySettings, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no prompt with text in .*pool.jsonl$"):
        read_rows_of(tmp_path, [{**row, "prompt": "", "response": ""} for row in ROWS], settings)
    with pytest.raises(LabelError, match=r"policy 'harm' \(column harm\) has the labels \[1\], expected both"):
        read_rows_of(tmp_path, [{**row, "harm": 1} for row in ROWS], settings)


def test_a_draw_keeps_labels_in_proportion_where_there_are_no_sources() -> None:
    prompts = pl.DataFrame(
        {
            "pool": "p", "row": range(100), "text": "t", "source": None,
            "label_a": [1] * 80 + [0] * 20, "label_b": [0] * 40 + [1] * 50 + [None] * 10,
        },
        schema=PROMPTS,
    )  # fmt: skip
    for seed in range(5):
        drawn = draw(prompts, 20, seed)
        assert dict(strata_of(drawn).value_counts().iter_rows()) == {
            "1\x000\x00?": 8, "1\x001\x00?": 8, "0\x001\x00?": 2, "0\x00?\x00?": 2,
        }  # fmt: skip
        assert drawn["row"].is_sorted()
    assert draw(prompts, 0, 1) is prompts
    assert draw(prompts, 100, 1) is prompts
