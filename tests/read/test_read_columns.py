"""Columns by their names."""

from __future__ import annotations

import pytest

from auditkit.read.columns import (
    find_column,
    id_column,
    is_metadata,
    kind_of,
    nearest_column,
    show_columns,
    usual_text_columns,
)

TEXT = """
    text Text TEXT prompt instruction input question goal Goal query content response completion output answer chosen
    rejected messages conversations dialog behavior Behavior context ContextString system title body document
    forbidden_prompt test_case prompt_en user_input model_output CorrectAnswers choices queries replies turns
    canonical_solution target adversarial_prompt source_text question1 user-prompt
    """.split()  # noqa: SIM905
METADATA = """
    id ID row_id uid BehaviorID label label_gold source category split type prompt_id text_source input_ids is_safe
    answer_idx data_type prompt_harm_label __index_level_0__ url created_at num_turns model language prompt_tokens
    """.split()  # noqa: SIM905
UNKNOWN = ["en", "note", "focus", "x", "文本", "blob"]


@pytest.mark.parametrize("name", TEXT)
def test_text_names(name: str) -> None:
    assert kind_of(name) == "text"


@pytest.mark.parametrize("name", [*METADATA, "", "Unnamed: 0"])
def test_metadata_names(name: str) -> None:
    assert kind_of(name) == "metadata"
    assert is_metadata(name)


@pytest.mark.parametrize("name", UNKNOWN)
def test_names_that_say_nothing(name: str) -> None:
    assert kind_of(name) == "unknown"


def test_usual_columns_keep_their_order() -> None:
    assert usual_text_columns(["Goal", "id", "x", "answer"]) == ["Goal", "answer"]


def test_find_ignores_case_only_where_that_is_clear() -> None:
    assert find_column("goal", ["Goal", "x"]) == "Goal"
    assert find_column("Goal", ["goal", "Goal"]) == "Goal"
    assert find_column("GOAL", ["goal", "Goal"]) is None
    assert find_column("goals", ["goal"]) is None


def test_id_column() -> None:
    assert id_column(["text", "BehaviorID"]) == "BehaviorID"
    assert id_column(["idx", "Row_ID", "text"]) == "Row_ID"
    assert id_column(["text"]) is None
    assert id_column(["Key", "id"], "key") == "Key"
    assert id_column(["id"], "key") is None


def test_nearest_column_escapes_names() -> None:
    assert nearest_column("promt", ["Prompt", "x"]) == "; did you mean 'Prompt'? (columns: Prompt, x)"
    assert nearest_column("zzz", ["a\x1b[1m"]) == ' (columns: ["a\\u001b[1m"])'
    assert show_columns([str(n) for n in range(50)], limit=2) == "0, 1 and 48 more"
    assert show_columns([]) == "none"
