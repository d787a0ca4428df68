"""Addresses of texts: one spelling each, and a change that touches nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.errors import FieldError
from auditkit.formats.fields import TURN, build_path, get_text, parse_path, replace_text

KEYS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", ".", "a.b", "[0]", "[]", "0", '"', "\\", '["x"]', " a", "a ", "\x1b[31m", "\u202e", "नाम", "表"]
    ),
)
RECORD = {
    "text": "plain",
    "messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": [{"text": "zero"}, {"text": "one"}]}],
    "a.b": {"": ["x", ("k", "v")]},
}


@given(KEYS, st.lists(st.one_of(KEYS, st.integers(0, 99)), max_size=5), st.integers(0, 6))
def test_a_path_has_one_spelling(first: str, rest: list[str | int], at: int) -> None:
    parts: list[Any] = [first, *rest]
    if at <= len(parts) and at:
        parts.insert(at, TURN)
    path = build_path(parts)
    assert parse_path(path) == parts
    assert path.isprintable()


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (["text"], "text"),
        (["messages", TURN, "content"], "messages[].content"),
        (["conversations", TURN, "value"], "conversations[].value"),
        (["messages", TURN, "content", 1, "text"], "messages[].content[1].text"),
        (["messages", TURN, "tool_calls", 0, "function", "arguments"], "messages[].tool_calls[0].function.arguments"),
        (["a.b"], '["a.b"]'),
        (["x", ""], 'x[""]'),
        (["0", "0", 0], "0.0[0]"),
        (["user text"], "user text"),
        (["चैट"], "चैट"),
        (['say "x"'], '["say \\"x\\""]'),
        (["\x1b[1m"], '["\\u001b[1m"]'),
    ],
)
def test_paths_by_hand(parts: list[Any], path: str) -> None:
    assert build_path(parts) == path
    assert parse_path(path) == parts


@pytest.mark.parametrize(
    "path",
    ["", ".", ".a", "a.", "a..b", "a[", "a[01]", "a[-1]", "a[][]", "[0]", "[]", '["a"]', 'a["b"', '["\\x"]', "a]b"],
)
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(FieldError, match=r"expected|not a JSON string"):
        parse_path(path)


@pytest.mark.parametrize(
    ("field", "turn", "text"),
    [
        ("text", None, "plain"),
        ("messages[].content", 0, "hi"),
        ("messages[].content[1].text", 1, "one"),
        ('["a.b"][""][0]', None, "x"),
        ('["a.b"][""][1][1]', None, "v"),
    ],
)
def test_get_and_replace(field: str, turn: int | None, text: str) -> None:
    before = copy.deepcopy(RECORD)
    assert get_text(RECORD, field, turn) == text
    changed = replace_text(RECORD, field, turn, "new")
    assert before == RECORD
    assert get_text(changed, field, turn) == "new"
    assert replace_text(changed, field, turn, text) == RECORD


@pytest.mark.parametrize(
    ("field", "turn", "message"),
    [
        ("txt", None, "field 'txt': the record has nothing at txt; is it the same record?"),
        ("messages[].content", 7, "field 'messages[].content', turn 7: the record has nothing at [7]; "
         "is it the same record?"),
        ("messages[].content", 1, "field 'messages[].content', turn 1: holds list, expected text; "
         "is it the same record?"),
        ("messages[].content", None, "field 'messages[].content': turn is None; expected a number"),
        ("text", 0, "field 'text': turn is 0; expected none"),
        ("text[0]", None, "field 'text[0]': the record has nothing at [0]; is it the same record?"),
    ],
)  # fmt: skip
def test_wrong_addresses(field: str, turn: int | None, message: str) -> None:
    for call in (lambda: get_text(RECORD, field, turn), lambda: replace_text(RECORD, field, turn, "new")):
        with pytest.raises(FieldError) as error:
            call()
        assert str(error.value) == message
