"""Typed access to the tables of a TOML file, with errors that name the place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from auditkit.errors import UsageError, nearest
from auditkit.formats.remote import is_remote


class Section:
    """Typed access to one table of the file; what nobody asked for is refused at the end."""

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, Mapping):
            raise UsageError(f"{where} is {values!r}, expected a table")
        self.values, self.where, self.asked = values, where, set[str]()

    def _get(self, name: str, default: Any) -> Any:
        self.asked.add(name)
        if name in self.values:
            return self.values[name]
        if default is None:
            raise UsageError(f"{self.where}: '{name}' is missing{nearest(name, self.values)}")
        return default

    def _wrong(self, name: str, expected: str) -> UsageError:
        return UsageError(f"{self.where}.{name} is {self.values[name]!r}, expected {expected}")

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; without a default it must be there and not be blank."""
        value = self._get(name, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self._wrong(name, "a text")
        return value

    def texts(self, name: str, default: Sequence[str] | None = None) -> list[str]:
        """Return a list of texts; one text alone is a list of one."""
        value = self._get(name, default)
        several: list[Any] = (
            [value] if isinstance(value, str) else list(value) if isinstance(value, (list, tuple)) else [None]
        )
        if any(not isinstance(one, str) or not one for one in several) or (default is None and not several):
            raise self._wrong(name, "a text or a list of texts")
        return several

    def choice(self, name: str, known: Sequence[str], default: str | None) -> str:
        """Return one of the known values."""
        value = self._get(name, default)
        if value not in known:
            raise UsageError(
                f"{self.where}.{name} is {value!r}, expected one of {', '.join(known)}{nearest(str(value), known)}"
            )
        return str(value)

    def number(self, name: str, default: float, least: float, most: float) -> float:
        """Return a number of [least, most]."""
        value = self._get(name, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not least <= value <= most
            or value == math.inf
        ):
            raise self._wrong(name, f"a number from {least:g}{'' if most == math.inf else f' to {most:g}'}")
        return float(value)

    def whole(self, name: str, default: int, least: int) -> int:
        """Return a whole number of at least `least`."""
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._wrong(name, f"a whole number of at least {least}")
        return value

    def whole_numbers(self, name: str, default: Sequence[int]) -> list[int]:
        """Return a list of whole numbers of at least 0."""
        value = self._get(name, default)
        if not isinstance(value, (list, tuple)) or any(
            isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in value
        ):
            raise self._wrong(name, "a list of whole numbers")
        return list(value)

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self._get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return a table as it is; empty where it is missing."""
        return Section(self._get(name, {}), f"{self.where}.{name}").values

    def section(self, name: str, *, is_required: bool = True) -> Section:
        """Return a table within this one."""
        return Section(self._get(name, None if is_required else {}), f"{self.where}.{name}")

    def sections(self) -> list[tuple[str, Section]]:
        """Return every table within this one with its name; all names are allowed."""
        self.asked.update(self.values)
        return [(name, Section(value, f"{self.where}.{name}")) for name, value in self.values.items()]

    def tables(self, name: str, *, is_required: bool = True) -> list[Section]:
        """Return a list of tables; it may be missing, but not empty, where it is not required."""
        if not is_required and name not in self.values:
            self.asked.add(name)
            return []
        value = self._get(name, None)
        if not isinstance(value, list) or not value:
            raise self._wrong(name, "a list of tables")
        return [Section(one, f"{self.where}.{name}[{i + 1}]") for i, one in enumerate(value)]

    def refuse_rest(self) -> None:
        """Refuse keys that nobody asked for."""
        for name in self.values:
            if name not in self.asked:
                raise UsageError(f"{self.where}: unknown key '{name}'{nearest(name, self.asked)}")


def beside(name: str, folder: Path) -> str:
    """Return an input that a file in `folder` names, as seen from here; names that are no relative paths stay."""
    return name if is_remote(name) or name.startswith(("hf:", "~")) else str(folder / name)
