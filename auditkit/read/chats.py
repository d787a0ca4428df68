"""Chats recognised by shape, whatever their column is called: OpenAI, ShareGPT, Llama and Gemini messages.

A message is a dict with a role and a content; a chat is a list with at least one message, or a list of dicts from role
to content ([{"user": "...", "assistant": "..."}]: a turn may then hold several texts). Markup inside one string
(`[INST]`, `<|start_header_id|>`) is left as it is: spans refer to the text as read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson

from auditkit.errors import UsageError, nearest

#: Canonical role -> the spellings that mean it, casefolded.
ROLES: dict[str, tuple[str, ...]] = {
    "system": ("system", "developer", "system_prompt", "sys"),
    "user": ("user", "human", "prompter", "prompt", "instruction", "question", "customer", "client"),
    "assistant": ("assistant", "gpt", "model", "bot", "ai", "chatgpt", "gpt4", "gpt-4", "gpt-3.5", "claude", "bard",
                  "bing", "gemini", "llama", "agent", "chatbot", "response", "answer", "function_call", "tool_call"),
    "tool": ("tool", "function", "ipython", "observation", "tool_response", "tool_result", "function_response",
             "environment"),
}  # fmt: skip
#: A turn whose role is not one of these spellings.
OTHER = "other"
ROLE_NAMES: tuple[str, ...] = (*ROLES, OTHER)
_CANONICAL = {spelling: role for role, spellings in ROLES.items() for spelling in spellings}

CONTENT_KEYS: tuple[str, ...] = ("content", "value", "body", "text", "parts", "message")
CALL_KEYS: tuple[str, ...] = ("tool_calls", "function_call")
#: Keys of a message or part that only say how it is built.
STRUCTURE_KEYS = frozenset({"type", "id", "index", "tool_call_id", "call_id", "tool_use_id"})

_MEDIA: dict[str, str] = {
    "image": "image", "image_url": "image", "input_image": "image", "audio": "audio", "audio_url": "audio",
    "input_audio": "audio", "video": "video", "video_url": "video", "input_video": "video", "file": "file",
    "input_file": "file",
}  # fmt: skip


def canonical_role(role: Any) -> str | None:
    """Return "system", "user", "assistant", "tool" or "other" for a role as read; None for null."""
    if role is None:
        return None
    return _CANONICAL.get(role.strip().casefold(), OTHER) if isinstance(role, str) else OTHER


def wanted_roles(names: Sequence[str]) -> frozenset[str]:
    """Return the canonical roles that `names` (spellings allowed) mean.

    Raises:
        UsageError: a name that is no role.
    """
    wanted = set()
    for name in names:
        role = OTHER if name.strip().casefold() == OTHER else canonical_role(name)
        if role is None or (role == OTHER and name.strip().casefold() != OTHER):
            hint = nearest(name.casefold(), ROLE_NAMES)
            raise UsageError(f"role {name!r} is unknown{hint}; expected one of {', '.join(ROLE_NAMES)}")
        wanted.add(role)
    return frozenset(wanted)


def role_key(value: Any) -> str | None:
    """Return the key that holds the role where `value` is a message, else None."""
    if not isinstance(value, dict):
        return None
    if "role" in value and (value["role"] is None or isinstance(value["role"], str)):
        return "role" if any(key in value for key in (*CONTENT_KEYS, *CALL_KEYS)) else None
    if isinstance(value.get("from"), str) and ("value" in value or _is_role(value["from"])):
        return "from" if any(key in value for key in CONTENT_KEYS) else None
    for key in ("source", "speaker", "author"):
        if _is_role(value.get(key)) and any(content in value for content in CONTENT_KEYS):
            return key
    return None


def _is_role(role: Any) -> bool:
    return canonical_role(role) not in (None, OTHER)


def is_chat(value: Any) -> bool:
    """Return whether a value is a list with at least one message, or of dicts from role to content."""
    if not isinstance(value, (list, tuple)):
        return False
    return any(role_key(element) is not None for element in value) or is_by_role(value)


def is_by_role(value: Sequence[Any]) -> bool:
    """Return whether a list holds dicts from role to content only. Keys without a value do not count.

    Arrow gives every dict of a column the keys of all, so a null is as good as a key that is not there.
    """
    if not all(isinstance(element, dict) for element in value):
        return False
    return are_roles({key for element in value for key, content in element.items() if content is not None})


def are_roles(keys: Collection[str]) -> bool:
    """Return whether all keys are names of roles, and one of the user's among them ("model" alone is a category)."""
    roles = {canonical_role(key) for key in keys}
    return "user" in roles and OTHER not in roles


def media_kind(value: Mapping[str, Any]) -> str | None:
    """Return "image", "audio", "video" or "file" where a dict is one (a chat part, or a struct of `datasets`)."""
    kind = value.get("type")
    if isinstance(kind, str) and kind in _MEDIA:
        return _MEDIA[kind]
    return struct_media(value.keys())


def struct_media(keys: Collection[str]) -> str | None:
    """Return what a struct of these fields is where `datasets` keeps images and audio in such, else None."""
    if "sampling_rate" in keys and "array" in keys:
        return "audio"
    return "image or audio" if set(keys) == {"bytes", "path"} else None


def is_json_chat(text: str) -> bool:
    """Return whether a text is the JSON of a chat."""
    if not text.lstrip().startswith("["):
        return False
    try:
        return is_chat(orjson.loads(text))
    except orjson.JSONDecodeError:
        return False
