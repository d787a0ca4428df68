"""JSON values back to frozen records, each field checked against its declared type."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from auditkit.errors import InputError
from auditkit.report.safe import shown

R = TypeVar("R")


def record(cls: Callable[..., R], raw: Mapping[str, Any], where: str) -> R:
    """Return a `cls` made of `raw`; lists become tuples where the record declares one.

    Raises:
        InputError: a field is missing, unknown, or of another type; the message names file and field.
    """
    kinds = _kinds(cls)
    odd = sorted(set(raw) ^ set(kinds))
    if odd:
        raise InputError(
            f"{shown(where)}: written by another auditkit (field {shown(odd[0])} is missing or unknown in "
            f"{getattr(cls, '__name__', cls)}); write the report again"
        )
    return cls(**{name: _as(kind, raw[name], f"{where}: {name}") for name, kind in kinds.items()})


@functools.cache
def _kinds(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _as(kind: Any, raw: Any, where: str) -> Any:
    """Return `raw` as the declared `kind`, or raise InputError."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or (isinstance(kind, type) and issubclass(kind, pl.DataFrame | Path)):
        return raw
    if origin is typing.Literal and raw in arguments:
        return raw
    if origin in (typing.Union, types.UnionType):
        return None if raw is None else _as(next(k for k in arguments if k is not type(None)), raw, where)
    if origin is tuple and isinstance(raw, list):
        return tuple(_as(arguments[0], part, f"{where}[{place}]") for place, part in enumerate(raw))
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(raw, dict):
        return {key: _as(arguments[1], part, f"{where}.{key}") for key, part in raw.items()}
    if is_dataclass(kind) and isinstance(kind, type) and isinstance(raw, dict):
        return record(kind, raw, where)
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if kind in (str, int, float, bool) and type(raw) is kind:
        return raw
    raise InputError(
        f"{shown(where)} is {shown(repr(raw)[:60])}, not what a report holds there; write the report again"
    )
