"""Texts of nested Python values: lists, structs, maps and chats. The slow path; flat columns go through flat.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from auditkit.formats.fields import build_path
from auditkit.read import chats
from auditkit.read.columns import kind_of
from auditkit.read.selectors import Selectors
from auditkit.read.tally import Tally

_kind_of = lru_cache(maxsize=4096)(kind_of)
_role = lru_cache(maxsize=1024)(chats.canonical_role)
_NO_KEYS = ("", "")
_PLAIN = {keys: ordered for ordered in (("role", "content"), ("from", "value")) for keys in (ordered, ordered[::-1])}
JSON_CHAT = "chat stored as a JSON string, scanned as text"


@lru_cache(maxsize=4096)
def _spell(key: str) -> str:
    """Return how a key continues a path."""
    return build_path(["x", key])[1:]


@dataclass
class Found:
    """Texts in the order they were found; parallel lists. `at` is the position of the record in its batch."""

    at: list[int] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    turn: list[int | None] = field(default_factory=list)
    role: list[str | None] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


@dataclass
class Walker:
    """Collects the texts of nested values.

    Attributes:
        tally: where what is not examined is counted.
        roles: canonical roles to keep; empty means all. Texts outside of a chat have no role and are kept.
        selectors: chosen fields, None for all.
        found: what was collected.
    """

    tally: Tally
    roles: frozenset[str] = frozenset()
    selectors: Selectors | None = None
    found: Found = field(default_factory=Found)
    _at: int = 0
    _turn: int | None = None
    _role: str | None = None

    def walk(self, at: int, name: str, value: Any) -> None:
        """Collect the texts of one value of column `name`."""
        self._at, self._turn, self._role = at, None, None
        self._value(value, build_path([name]), name)

    def leave_out(self, name: str, value: Any) -> None:
        """Count the texts of one value of a column that is not scanned."""
        media: Counter[str] = Counter()
        self.tally.excluded(build_path([name]), count_left_out(value, media))
        for kind, n in media.items():
            self.tally.add(kind, n)

    def _value(self, value: Any, path: str, key: str) -> None:
        """Collect below `value`; `key` is the nearest key above it."""
        if isinstance(value, str):
            self._text(value, path)
        elif isinstance(value, dict):
            self._dict(value, path)
        elif isinstance(value, (list, tuple)):
            self._list(value, path, key)
        elif _kind_of(key) == "text" or (self._turn is None and path == build_path([key])):
            self._no_text(value, path)

    def _no_text(self, value: Any, path: str) -> None:
        if value is None:
            self.tally.null(path)
        else:
            self.tally.not_text(path, what="binary" if isinstance(value, (bytes, bytearray)) else "not text")

    def _text(self, text: str, path: str) -> None:
        if self.selectors is not None and not self.selectors.take(path):
            self.tally.excluded(path, 1 if text else 0)
            return
        found = self.found
        found.at.append(self._at)
        found.path.append(path)
        found.turn.append(self._turn)
        found.role.append(self._role)
        found.text.append(text)
        if text[:1] == "[" and chats.is_json_chat(text):
            self.tally.add(JSON_CHAT)

    def _list(self, value: Sequence[Any], path: str, key: str) -> None:
        if self._turn is None and chats.is_chat(value):
            self._chat(value, path, key)
            return
        for index, element in enumerate(value):
            self._value(element, f"{path}[{index}]", key)

    def _chat(self, messages: Sequence[Any], path: str, key: str) -> None:
        path = f"{path}[]"
        if chats.role_key(messages[0]) is None and chats.is_by_role(messages):
            self._by_role(messages, path)
            return
        for turn, message in enumerate(messages):
            self._turn, self._role = turn, None
            role_key, content_key = _PLAIN.get(tuple(message), _NO_KEYS) if type(message) is dict else _NO_KEYS
            # Most messages are a role and a text; this does for them what `_dict` does, four times as fast.
            if role_key and type(message[role_key]) is str and type(message[content_key]) is str:
                self._role = _role(message[role_key])
                if self.roles and self._role not in self.roles:
                    self.tally.add(f"excluded role {self._role}")
                else:
                    self._text(message[content_key], f"{path}.{content_key}")
            else:
                self._value(message, path, key)
        self._turn = self._role = None

    def _by_role(self, turns: Sequence[dict[str, Any]], path: str) -> None:
        for turn, contents in enumerate(turns):
            self._turn = turn
            for key, content in contents.items():
                if content is None:
                    continue
                self._role = _role(key)
                if self.roles and self._role not in self.roles:
                    self.tally.add(f"excluded role {self._role}")
                else:
                    self._value(content, path + _spell(key), key)
        self._turn = self._role = None

    def _dict(self, value: dict[str, Any], path: str) -> None:
        media = chats.media_kind(value)
        if media is not None:
            self.tally.add(media)
            value = {key: value[key] for key in ("text", "caption") if isinstance(value.get(key), str)}
        role_key = chats.role_key(value) if self._role is None else None
        if role_key is None:
            self._children(value, path, None)
            return
        role = chats.canonical_role(value[role_key])
        if self.roles and role is not None and role not in self.roles:
            self.tally.add(f"excluded role {role}")
            return
        self._role = role
        self._children(value, path, role_key)
        self._role = None

    def _children(self, value: dict[str, Any], path: str, role_key: str | None) -> None:
        for key, child in value.items():
            if key == role_key or (child is None and not _counts_null(key, role_key)):
                continue
            below = path + _spell(key)
            if isinstance(child, str) and _kind_of(key) == "metadata" and not self._names(key):
                self._metadata(child, key, below)
            else:
                self._value(child, below, key)

    def _names(self, key: str) -> bool:
        return self.selectors is not None and key in self.selectors.keys

    def _metadata(self, text: str, key: str, path: str) -> None:
        is_structure = self._turn is not None and key in chats.STRUCTURE_KEYS and not any(map(str.isspace, text))
        if text and not is_structure:
            self.tally.metadata(path)


def _counts_null(key: str, role_key: str | None) -> bool:
    """Return whether a null is counted: a message's content, or text outside of a message (not an unused key)."""
    return key in chats.CONTENT_KEYS if role_key is not None else _kind_of(key) == "text"


def may_hold_text(key: str) -> bool:
    """Return whether what lies under a key inside a column can be text, by the key."""
    return key != "from" and _kind_of(key) != "metadata"


def count_left_out(value: Any, media: Counter[str]) -> int:
    """Return how many non-empty texts a value holds, and add its images and audio to `media`.

    Strings under keys that are metadata, and the roles of turns, are no texts.
    """
    if isinstance(value, str):
        return 1 if value else 0
    if isinstance(value, dict):
        kind = chats.struct_media(value.keys())
        if kind is not None:
            media[kind] += 1
            return 0
        return sum(count_left_out(child, media) for key, child in value.items() if may_hold_text(key))
    if isinstance(value, (list, tuple)):
        return sum(count_left_out(child, media) for child in value)
    return 0


def count_texts(value: Any) -> int:
    """Return how many non-empty texts a value holds, see `count_left_out`."""
    return count_left_out(value, Counter())
