r"""Addresses of texts inside a record: a path string, and the position in a chat that its `[]` stands for.

    path  = key { part }
    key   = simple | quoted
    part  = "." simple | quoted | "[" number "]" | "[]"

`simple` is a key of printable characters without . [ ] " \ and without spaces at its ends; every other key is quoted:
`["a JSON string"]`. `[]` stands at most once and is the turn. Examples: text, messages[].content,
messages[].content[1].text, meta["a.b"][0], [""] (the empty key). Each address has exactly one spelling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import Enum
from typing import Any

from auditkit.errors import FieldError


class Turn(Enum):
    """The part of a path that the turn fills in."""

    TURN = "[]"


TURN = Turn.TURN
Part = str | int | Turn

_SPECIAL = re.compile(r'[.\[\]"\\]')
_PARTS = re.compile(
    r"""
    \[(?P<quoted>"(?:[^"\\]|\\.)*")\]
    | \[(?P<index>0|[1-9][0-9]*)\]
    | (?P<turn>\[\])
    | (?P<dot>\.)?(?P<simple>[^.\[\]"\\]+)
    """,
    re.VERBOSE | re.DOTALL,
)


def build_path(parts: Iterable[Part]) -> str:
    """Return the path of `parts`: keys (str), indexes of lists (int), and TURN."""
    path = ""
    for part in parts:
        path += _spell(part, is_first=not path)
    return path


def _spell(part: Part, is_first: bool) -> str:
    if part is TURN:
        return "[]"
    if isinstance(part, int):
        return f"[{part}]"
    if isinstance(part, str) and part.isprintable() and part and part.strip() == part and not _SPECIAL.search(part):
        return part if is_first else f".{part}"
    # Unprintable keys are spelt in ASCII, so that a path can be shown on a terminal.
    return f"[{json.dumps(part, ensure_ascii=not str(part).isprintable())}]"


def parse_path(path: str) -> list[Part]:
    """Return the parts of a path.

    Raises:
        FieldError: `path` is not the one spelling of an address.
    """
    parts: list[Part] = []
    at = 0
    while at < len(path):
        found = _PARTS.match(path, at)
        if found is None:
            raise FieldError(f"field {path!r}: cannot be read at character {at}; expected {_EXPECTED}")
        parts.append(_part_of(found))
        at = found.end()
    if not parts or not isinstance(parts[0], str) or parts.count(TURN) > 1 or build_path(parts) != path:
        raise FieldError(f"field {path!r}: not a path; expected {_EXPECTED}")
    return parts


_EXPECTED = 'a path such as text, a.b, messages[].content[1].text or ["a.b"]'


def _part_of(found: re.Match[str]) -> Part:
    if found["turn"]:
        return TURN
    if found["index"]:
        return int(found["index"])
    if found["quoted"] is None:
        return found["simple"]
    try:
        key: str = json.loads(found["quoted"], strict=False)
    except ValueError:
        raise FieldError(f"field {found.string!r}: {found['quoted']} is not a JSON string") from None
    return key


def resolve(field: str, turn: int | None) -> list[str | int]:
    """Return the keys and indexes of an address, the turn filled in.

    Raises:
        FieldError: bad path, or a turn where the path has none, or none where it has one.
    """
    parts = parse_path(field)
    if (TURN in parts) != (turn is not None):
        raise FieldError(f"field {field!r}: turn is {turn}; expected {'a number' if turn is None else 'none'}")
    return [turn if isinstance(part, Turn) and turn is not None else part for part in parts]  # type: ignore[misc]


def get_text(record: dict[str, Any], field: str, turn: int | None = None) -> str:
    """Return the text at an address of a record.

    Raises:
        FieldError: bad address, or the record has no text there.
    """
    value: Any = record
    for step in resolve(field, turn):
        value = _child(value, step, field, turn)
    if not isinstance(value, str):
        raise FieldError(f"{_where(field, turn)}: holds {type(value).__name__}, expected text; is it the same record?")
    return value


def replace_text(record: dict[str, Any], field: str, turn: int | None, new_text: str) -> dict[str, Any]:
    """Return a copy of `record` with another text at an address; `record` and all other values stay as they are.

    Containers on the way are copied, the others shared.

    Raises:
        FieldError: bad address, or the record has no text there.
    """
    get_text(record, field, turn)
    changed: dict[str, Any] = _replaced(record, resolve(field, turn), new_text)
    return changed


def _replaced(value: Any, steps: list[str | int], new_text: str) -> Any:
    if not steps:
        return new_text
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        return {**value, step: _replaced(value[step], rest, new_text)}
    assert isinstance(step, int)
    items = list(value)
    items[step] = _replaced(items[step], rest, new_text)
    return tuple(items) if isinstance(value, tuple) else items


def _child(value: Any, step: str | int, field: str, turn: int | None) -> Any:
    try:
        if isinstance(value, (list, tuple)) if isinstance(step, int) else isinstance(value, dict):
            return value[step]
    except (KeyError, IndexError):
        pass
    raise FieldError(f"{_where(field, turn)}: the record has nothing at {build_path([step])}; is it the same record?")


def _where(field: str, turn: int | None) -> str:
    return f"field {field!r}" + ("" if turn is None else f", turn {turn}")
