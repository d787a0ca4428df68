"""Tables of any nested mapping: whatever a study's parts hold, no key of it is left out of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditkit.report import study_words as words
from auditkit.report.grids import Grid

#: Keys that a person expects in this order; all others follow by name (files of JSON keep no order of their own).
_FIRST = (
    "widest",
    "narrowest",
    "value",
    "benchmark",
    "parent",
    "n_items",
    "n_found",
    "leak_rate",
    "n_trainable",
    "share",
    "before",
    "after",
    "move",
    "clean",
    "raw",
    "change",
)


def of_mapping(mapping: Mapping[str, Any], first: str, caption: str = "") -> list[tuple[str, Grid]]:
    """Return (caption, table) for all of a nested mapping: no key of it is left out, whatever it is called.

    A mapping of flat mappings is one table with a row for each; plain values are pairs; deeper ones follow, named.
    """
    nested = {key: thing for key, thing in mapping.items() if isinstance(thing, Mapping) and thing}
    plain = words.in_order(set(mapping) - set(nested), _FIRST)
    pairs = [(words.title(key), words.of_key(key, mapping[key] if mapping[key] != {} else [])) for key in plain]
    found = [(caption, Grid(("", "value"), tuple(pairs), 2))] if pairs else []
    flat = {
        key: thing for key, thing in nested.items() if not any(isinstance(part, Mapping) for part in thing.values())
    }
    found += [(f"{caption}, by {first}" if pairs else caption, _rows(flat, first))] if flat else []
    for key in words.in_order(set(nested) - set(flat), _FIRST):
        found += of_mapping(nested[key], first, f"{caption}: {words.title(key)}" if caption else words.title(key))
    return found


def _rows(flat: Mapping[str, Mapping[str, Any]], first: str) -> Grid:
    """Return a row for each; columns of words stand before columns of numbers."""
    keys = words.in_order({key for row in flat.values() for key in row}, _FIRST)
    texts = [key for key in keys if any(isinstance(row.get(key), str) for row in flat.values())]
    keys = texts + [key for key in keys if key not in texts]
    rows = [(_row_title(name), *_cells(name, flat[name], keys)) for name in words.in_order(flat, _FIRST)]
    if set(flat) <= set(words.RATES):
        # Rates have a column for each benchmark, whose name is nobody's to change.
        return Grid(("rate", *keys), tuple(rows), len(texts) + 1)
    return Grid((first, *map(words.title, keys)), tuple(rows), len(texts) + 1)


def _row_title(name: str) -> str:
    return words.title(name) if name in words.RATES else name


def _cells(name: str, row: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """Return a row's cells; in a row of rates every number is one."""
    rate = name if name in words.RATES else ""
    return [words.of_key(rate or key, row[key]) if key in row else words.UNDEFINED for key in keys]


def flattened(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping whose mappings of plain values are part of it: {"move": {"x": 1}} is {"move: x": 1}."""
    made: dict[str, Any] = {}
    for key, thing in mapping.items():
        if isinstance(thing, Mapping) and thing:
            made |= {f"{words.title(key)}: {part}": value for part, value in thing.items()}
        else:
            made[key] = thing
    return made
