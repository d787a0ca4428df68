"""Records of a benchmark -> ITEMS: which columns are parts of an item, their kind, the item's id, label and slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from auditkit.formats.fields import build_path, resolve
from auditkit.read.ids import short_id
from auditkit.read.labels import DEFAULT_VALUES, UNMAPPED, label_of, value_text
from auditkit.read.registry import Kind, LabelSource, SliceColumn
from auditkit.read.tally import Tally
from auditkit.read.walk import Walker
from auditkit.records import LabelRule
from auditkit.tables import ITEMS, check

#: Roles of a chat whose turns are parts, by the kind of the column.
_ROLES: dict[str, frozenset[str]] = {
    "question": frozenset({"user"}),
    "answer": frozenset({"assistant"}),
    "context": frozenset(),
}


@dataclass(frozen=True)
class PartColumn:
    """A column, as the records spell it, whose texts are parts of an item; `blank` values are no text."""

    column: str
    kind: Kind
    blank: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """How records become items. Columns are spelt as in the records.

    Attributes:
        parts: text columns, in the order in which parts are listed.
        id_column: None where there is none.
        where: column -> values, casefolded, that make a record an item.
        notes: what the reader of a report must know about these choices.
    """

    parts: tuple[PartColumn, ...]
    id_column: str | None = None
    label: LabelSource = field(default_factory=LabelSource)
    slices: tuple[SliceColumn, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Built:
    """Items of one benchmark: frame of tables.ITEMS, number of items (those without text included), notes."""

    items: pl.DataFrame
    n_items: int
    notes: tuple[str, ...]


def build_items(name: str, records: Sequence[Mapping[str, Any]], plan: Plan) -> Built:
    """Return the items of `records`; `item` is the 0-based number among the records that `plan.where` keeps.

    One row per text part. Texts that are empty or only spaces are no parts. Nothing else is left out in silence: items
    without text, values that are no text and chat turns of other roles are counted in the notes.
    """
    kept = list(kept_records(records, plan.where))
    tally = Tally(set())
    rows: list[tuple[Any, ...]] = []
    n_textless = 0
    for number, record in enumerate(kept):
        texts = list(_parts(record, plan, tally))
        n_textless += not texts
        shared = (_item_id(record, plan), _slice(record, plan.slices))
        label = item_label(record, plan.label)
        rows += [(name, number, *shared, part, kind, text, label) for part, kind, text in texts]
    frame = pl.DataFrame(rows, schema=_ROW_ORDER, orient="row").select(list(ITEMS))
    return Built(check(frame, ITEMS, "build_items"), len(kept), (*plan.notes, *_notes(tally, n_textless, len(kept))))


_ROW_ORDER = {
    key: ITEMS[key] for key in ("benchmark", "item", "item_id", "slice", "part", "kind", "text", "label")
}  # fmt: skip


def kept_records(
    records: Sequence[Mapping[str, Any]], where: Mapping[str, tuple[str, ...]]
) -> Iterator[Mapping[str, Any]]:
    """Yield the records that are items, in their order."""
    for record in records:
        if all(value_text(record.get(column)) in values for column, values in where.items()):
            yield record


def _parts(record: Mapping[str, Any], plan: Plan, tally: Tally) -> Iterator[tuple[str, Kind, str]]:
    for part in plan.parts:
        value = record.get(part.column)
        if value is None:
            continue
        for path, text in _texts(part, value, tally):
            if text.strip() and text.strip() not in part.blank:
                yield path, part.kind, text


def _texts(part: PartColumn, value: Any, tally: Tally) -> list[tuple[str, str]]:
    """Return (part name, text): the column itself, or the path of each text inside a list, struct or chat."""
    if isinstance(value, str):
        return [(part.column, value)]
    walker = Walker(tally, _ROLES[part.kind])
    walker.walk(0, part.column, value)
    found = walker.found
    return [
        (build_path(resolve(path, turn)), text)
        for path, turn, text in zip(found.path, found.turn, found.text, strict=True)
    ]


def item_label(record: Mapping[str, Any], source: LabelSource) -> int | None:
    """Return 1, 0, or None where the label is unknown: no label, a null, or a value that no map names."""
    if source.constant is not None or not source.columns:
        return source.constant
    if len(source.columns) > 1:
        return _any_flag([value_text(record.get(column)) for column in source.columns])
    label = label_of(record.get(source.columns[0]), LabelRule("", "", source.values))
    return label if isinstance(label, int) else None


def _any_flag(flags: Sequence[str | None]) -> int | None:
    """Return 1 if any flag is 1, 0 if all are 0, else None: a flag that is left out is unknown, not 0."""
    values = [DEFAULT_VALUES.get(flag) if flag is not None else None for flag in flags]
    if 1 in values:
        return 1
    return None if None in values else 0


def are_labels(records: Sequence[Mapping[str, Any]], column: str, values: Mapping[str, int]) -> bool:
    """Return whether a column holds a label at all, and no value that the map does not name."""
    rule = LabelRule("", "", values)
    seen = {label_of(record.get(column), rule) for record in records}
    return UNMAPPED not in seen and bool(seen - {None})


def _slice(record: Mapping[str, Any], slices: Sequence[SliceColumn]) -> str | None:
    names = [_slice_part(record.get(part.column), part.values) for part in slices]
    return "-".join(name for name in names if name) if names and all(names) else None


def _slice_part(value: Any, values: Mapping[str, str]) -> str | None:
    text = value_text(value)
    if not text:
        return None
    return values.get(text, str(value) if isinstance(value, str) else text)


def _item_id(record: Mapping[str, Any], plan: Plan) -> str | None:
    value = None if plan.id_column is None else record.get(plan.id_column)
    if value is None or isinstance(value, (list, tuple, Mapping)):
        return None
    text = value if isinstance(value, str) else value_text(value)
    return None if text is None else short_id(text)


def _notes(tally: Tally, n_textless: int, n_items: int) -> Iterator[str]:
    if n_textless:
        yield f"{n_textless} of {n_items} items have no text"
    for reason, n in sorted(Counter(tally.counts).items()):
        yield f"not parts of items: {reason} ({n})"
