"""Which texts `--fields` asks for: columns, dotted paths into structs, or paths as matches name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from auditkit.errors import FieldError
from auditkit.formats.fields import Part, parse_path
from auditkit.read.columns import find_column, nearest_column, show_name

Keys = tuple[str, ...]


@dataclass
class Selectors:
    """The chosen fields of one source.

    Attributes:
        parts: one path per field; a list index or turn that it leaves out matches any.
        missing: fields that the first records do not have.
    """

    parts: list[list[Part]]
    missing: list[str] = field(default_factory=list)
    _seen: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Return the columns that hold the chosen fields."""
        return frozenset(str(parts[0]) for parts in self.parts)

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return every key that a field names."""
        return frozenset(part for parts in self.parts for part in parts if isinstance(part, str))

    def take(self, path: str) -> bool:
        """Return whether the text at `path` is chosen."""
        known = self._seen.get(path)
        if known is None:
            steps = parse_path(path)
            known = any(_covers(parts, steps) for parts in self.parts)
            if len(self._seen) < 65536:
                self._seen[path] = known
        return known


def _covers(chosen: Sequence[Part], steps: Sequence[Part]) -> bool:
    at = 0
    for part in chosen:
        while at < len(steps) and steps[at] != part and not isinstance(steps[at], str):
            at += 1
        if at == len(steps) or steps[at] != part:
            return False
        at += 1
    return True


def select(fields: Sequence[str], records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Selectors:
    """Return the selectors for `fields`, spelt as the first records spell them (exactly, else case ignored)."""
    nested = key_paths(records)
    chosen = Selectors([])
    for name in fields:
        column = find_column(name, names)
        parts = [column] if column is not None else _nested_parts(name, nested)
        if parts is None:
            chosen.missing.append(name)
            # A column may appear later; until then it is looked for as it was written.
            chosen.parts.append([name])
        else:
            chosen.parts.append(list(parts))
    return chosen


def _nested_parts(name: str, nested: Iterable[Keys]) -> list[Part] | None:
    try:
        parts = parse_path(name)
    except FieldError:
        return None
    keys = tuple(part for part in parts if isinstance(part, str))
    known = set(nested)
    spelt = keys if keys in known else _only(keys, known)
    if spelt is None:
        return None
    spelling = iter(spelt)
    return [next(spelling) if isinstance(part, str) else part for part in parts]


def _only(keys: Keys, known: Iterable[Keys]) -> Keys | None:
    folded = [key.casefold() for key in keys]
    alike = [other for other in known if [key.casefold() for key in other] == folded]
    return alike[0] if len(alike) == 1 else None


def key_paths(records: Iterable[Mapping[str, Any]]) -> set[Keys]:
    """Return every path of keys in the records, list levels left out."""
    found: set[Keys] = set()
    stack: list[tuple[Keys, Any]] = [((), record) for record in records]
    while stack:
        path, value = stack.pop()
        if isinstance(value, Mapping):
            for key, child in value.items():
                found.add((*path, key))
                stack.append(((*path, key), child))
        elif isinstance(value, (list, tuple)):
            stack.extend((path, child) for child in value if isinstance(child, (Mapping, list, tuple)))
    return found


def missing_field(location: str, name: str, names: Sequence[str]) -> FieldError:
    """Return the error for a field that a source does not have."""
    return FieldError(f"{location}: no field '{show_name(name)}'{nearest_column(name, names)}")
