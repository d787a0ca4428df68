"""What of a row is a prompt: the one meaning that families, splits, label reports and studies share."""

from __future__ import annotations

import polars as pl
import pytest

from auditkit import tables
from auditkit.read.prompts import prompt_texts
from auditkit.records import ReadSettings

CHAT = [("messages[].content", 0, "system"), ("messages[].content", 1, "user"), ("messages[].content", 2, "assistant")]
FLAT = [("prompt", None, None), ("response", None, None), ("system", None, None)]


def texts_of(*rows: list[tuple[str, int | None, str | None]]) -> pl.DataFrame:
    """Return frame tables.TEXTS; each text says its field and role."""
    table = [
        ("pool", row, None, field, turn, role, f"{field} {role}")
        for row, texts in enumerate(rows)
        for field, turn, role in texts
    ]
    return pl.DataFrame(table, schema=tables.TEXTS, orient="row")


def prompts(rows: pl.DataFrame, **settings: tuple[str, ...]) -> list[str]:
    return prompt_texts(rows, ReadSettings(**settings))["text"].to_list()  # type: ignore[arg-type]


@pytest.mark.parametrize("fields", [(), ("messages",)])
def test_of_a_chat_the_users_turns_are_prompts_whether_it_was_named_or_not(fields: tuple[str, ...]) -> None:
    assert prompts(texts_of(CHAT), fields=fields) == ["messages[].content user"]


def test_a_chat_without_a_user_is_taken_whole() -> None:
    assert len(prompts(texts_of([CHAT[0], CHAT[2]]))) == 2


def test_roles_that_were_asked_for_are_prompts() -> None:
    assert len(prompts(texts_of(CHAT), roles=("user", "assistant"))) == 3


def test_answers_and_system_prompts_stand_beside_a_prompt() -> None:
    assert prompts(texts_of(FLAT)) == ["prompt None"]


def test_a_field_that_was_asked_for_is_a_prompt_whatever_it_is_called() -> None:
    assert prompts(texts_of(FLAT[1:]), fields=("response",)) == ["response None", "system None"]


def test_a_row_of_answers_alone_is_taken_whole() -> None:
    assert prompts(texts_of(FLAT, FLAT[1:2])) == ["prompt None", "response None"]
