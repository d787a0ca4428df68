"""Chats of every form, by hand."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from read_support import addresses, read

from auditkit.errors import UsageError
from auditkit.formats.fields import get_text, replace_text
from auditkit.read.chats import canonical_role, is_chat, wanted_roles

OPENAI = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
        {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": {"city": "Rome", "days": 3}}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "rain"},
]  # fmt: skip


def test_openai_with_tools() -> None:
    texts, counted = read([{"messages": OPENAI}])
    assert addresses(texts) == [
        (0, "messages[].content", 0, "system", "be kind"),
        (0, "messages[].content", 1, "user", "weather?"),
        (0, "messages[].tool_calls[0].function.arguments", 2, "assistant", '{"city": "Oslo"}'),
        (0, "messages[].tool_calls[1].function.arguments.city", 2, "assistant", "Rome"),
        (0, "messages[].content", 3, "tool", "rain"),
    ]
    assert counted == {
        "null field messages[].content": 1,
        "field messages[].tool_calls[*].function.name (metadata)": 2,
    }


def test_parts_and_what_is_not_text() -> None:
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg", "format": "wav"}},
        {"type": "file", "file": {"file_data": "JVBERi0", "filename": "secret.pdf"}},
        {"type": "video_url", "video_url": {"url": "v"}},
        {"type": "text", "text": "and say"},
        "bare",
    ]
    texts, counted = read([{"messages": [{"role": "user", "content": content, "name": "eve"}]}])
    assert addresses(texts) == [
        (0, "messages[].content[0].text", 0, "user", "look"),
        (0, "messages[].content[5].text", 0, "user", "and say"),
        (0, "messages[].content[6]", 0, "user", "bare"),
    ]
    assert counted == {"image": 1, "audio": 1, "file": 1, "video": 1, "field messages[].name (metadata)": 1}


@pytest.mark.parametrize(
    ("chat", "field", "roles"),
    [
        ([{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}], "c[].value", ["user", "assistant"]),
        ([{"from": "system", "value": "q"}, {"from": "tool", "value": "a"}], "c[].value", ["system", "tool"]),
        ([{"value": "q", "from": "human", "weight": 1}, {"from": "x", "value": "a"}], "c[].value", ["user", "other"]),
        ([{"role": "user", "body": "q"}, {"source": "assistant", "body": "a"}], "c[].body", ["user", "assistant"]),
        ([{"source": "user", "content": "q"}, {"source": "ipython", "content": "a"}], "c[].content", ["user", "tool"]),
        ([{"role": "user", "text": "q"}, {"role": "Model", "text": "a"}], "c[].text", ["user", "assistant"]),
        ([{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": [{"text": "a"}]}],
         "c[].parts[0].text", ["user", "assistant"]),
        ([{"role": None, "content": "q"}, {"role": "developer", "content": "a"}], "c[].content", [None, "system"]),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "function_call": {"name": "f", "arguments": "a"}}],
         "", ["user", "assistant"]),
    ],
)  # fmt: skip
def test_forms_under_any_name(chat: list[Any], field: str, roles: list[str | None]) -> None:
    texts, _ = read([{"c": chat}])
    assert texts["text"].to_list() == ["q", "a"]
    assert texts["turn"].to_list() == [0, 1]
    assert texts["role"].to_list() == roles
    assert not field or set(texts["field"]) == {field}


def test_odd_turns_are_read_too() -> None:
    chat = [{"role": "user", "content": "q"}, "loose", None, {"note": "n"}, {"role": "user", "content": ["x", 3]}]
    texts, counted = read([{"messages": chat}])
    assert addresses(texts) == [
        (0, "messages[].content", 0, "user", "q"),
        (0, "messages[]", 1, None, "loose"),
        (0, "messages[].note", 3, None, "n"),
        (0, "messages[].content[0]", 4, "user", "x"),
    ]
    assert counted == {"null field messages[]": 1, "field messages[].content[*] not text": 1}


def test_chosen_and_rejected_as_chats_and_as_strings() -> None:
    chat = [{"role": "user", "content": "q"}]
    texts, _ = read([{"prompt": "p", "chosen": chat, "rejected": "no"}])
    assert addresses(texts) == [
        (0, "prompt", None, None, "p"),
        (0, "chosen[].content", 0, "user", "q"),
        (0, "rejected", None, None, "no"),
    ]


@pytest.mark.parametrize(
    "text",
    ["<s>[INST] <<SYS>>\nbe kind\n<</SYS>>\n\nhello [/INST] hi </s>", "<|start_header_id|>user<|end_header_id|>\n\nhi"],
)
def test_markup_stays_one_text(text: str) -> None:
    texts, counted = read([{"prompt": text}])
    assert addresses(texts) == [(0, "prompt", None, None, text)]
    assert counted == {}


def test_a_chat_as_json_string_is_said() -> None:
    text = json.dumps(OPENAI)
    texts, counted = read([{"messages": text}, {"messages": "[1, 2]"}, {"messages": "[not json"}])
    assert texts["text"].to_list() == [text, "[1, 2]", "[not json"]
    assert counted == {"chat stored as a JSON string, scanned as text": 1}


def test_one_message_and_a_list_of_chats() -> None:
    texts, _ = read(
        [{"message": {"role": "user", "content": "q"}, "conversations": [[{"role": "user", "content": "r"}]]}]
    )
    assert addresses(texts) == [
        (0, "message.content", None, "user", "q"),
        (0, "conversations[0][].content", 0, "user", "r"),
    ]


BY_ROLE = [
    {"system": "be kind", "user": "q", "assistant": "a"},
    {"Human": "r", "assistant": None},
    {"user": ["x", {"text": "y"}], "assistant": {"content": "b"}},
]


@pytest.mark.parametrize("column", ["messages", "c"])
@pytest.mark.parametrize("as_frame", [True, False])
def test_dicts_from_role_to_content(column: str, as_frame: bool) -> None:
    rows = [{"id": 1, column: BY_ROLE[:2]}, {"id": 2, column: [{"assistant": "lone"}]}]
    texts, counted = read(pl.DataFrame(rows) if as_frame else rows, fields=() if column == "messages" else ("c",))
    assert addresses(texts) == [
        (0, f"{column}[].system", 0, "system", "be kind"),
        (0, f"{column}[].user", 0, "user", "q"),
        (0, f"{column}[].assistant", 0, "assistant", "a"),
        (0, f"{column}[].Human", 1, "user", "r"),
        (1, f"{column}[0].assistant", None, None, "lone"),
    ]
    assert counted.get("row without text", 0) == 0


@pytest.mark.parametrize("as_frame", [True, False])
def test_dicts_from_role_to_content_are_a_chat_under_any_name(as_frame: bool) -> None:
    rows = [{"c": BY_ROLE[:2], "note": "n"}, {"c": None, "note": "n"}]
    texts, counted = read(pl.DataFrame(rows) if as_frame else rows, roles=("user",))
    assert texts["text"].to_list() == ["q", "r"]
    assert counted["excluded role assistant"] == counted["excluded role system"] == 1


def test_dicts_from_role_to_content_keep_addresses() -> None:
    record = {"c": BY_ROLE}
    texts, _ = read([record])
    assert [(field, turn, role) for _, field, turn, role, _ in addresses(texts)][-3:] == [
        ("c[].user[0]", 2, "user"), ("c[].user[1].text", 2, "user"), ("c[].assistant.content", 2, "assistant"),
    ]  # fmt: skip
    for _, field, turn, _, text in addresses(texts):
        assert get_text(record, field, turn) == text
        changed = replace_text(record, field, turn, "new")
        assert get_text(changed, field, turn) == "new"
        assert replace_text(changed, field, turn, text) == record


def test_roles_narrow_chats_only() -> None:
    texts, counted = read([{"prompt": "p", "messages": OPENAI}], roles=("user", "human", "system"))
    assert texts["text"].to_list() == ["p", "be kind", "weather?"]
    assert counted == {"excluded role assistant": 1, "excluded role tool": 1}


def test_roles_have_spellings() -> None:
    assert [canonical_role(role) for role in ("Human", " gpt ", "DEVELOPER", "eve", 3, None)] == [
        "user", "assistant", "system", "other", "other", None,
    ]  # fmt: skip
    assert wanted_roles(("gpt", "other")) == {"assistant", "other"}
    with pytest.raises(UsageError, match=r"role 'usr' is unknown; did you mean 'user'\?; expected one of system, user"):
        wanted_roles(("usr",))


def test_what_is_no_chat() -> None:
    for value in (
        [],
        "x",
        [{"role": "user"}],
        [{"from": "a@b", "body": "x"}],
        [{"source": "wiki", "text": "x"}],
        [{"model": "gpt-4"}],
        [{"user": "q", "score": 1}],
        [{"user": "q"}, "x"],
        [{}],
        [3],
        None,
    ):
        assert not is_chat(value)
