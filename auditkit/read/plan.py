"""Which columns of a source are scanned: decided once, from its first records, whatever the size of the shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from auditkit.errors import FieldError
from auditkit.formats import RecordBatch
from auditkit.read import columns, selectors
from auditkit.read.chats import is_chat, wanted_roles
from auditkit.read.label_columns import LabelColumn, label_column, missing_label
from auditkit.read.labels import check_rules
from auditkit.read.values import MISSING, names_of
from auditkit.read.walk import count_texts
from auditkit.records import ReadSettings, Source

#: Records that decide; a fixed number, so that shards of any size decide the same.
FIRST_RECORDS = 100

Use = Literal["scan", "metadata", "exclude"]


@dataclass
class Plan:
    """What is read of a source.

    Attributes:
        location: of the source.
        names: columns of the first records, in order.
        roles: chat roles to keep; empty means all.
        selectors: the fields asked for, None for all text.
        id_name: the id column, None where there is none.
        labels: the declared label columns.
        only_text: the one column that is scanned though its name says nothing.
        may_lack_fields: whether fields that never come are no error.
    """

    location: str
    names: list[str]
    roles: frozenset[str]
    selectors: selectors.Selectors | None
    id_name: str | None
    labels: list[LabelColumn]
    only_text: str | None = None
    may_lack_fields: bool = False

    def use(self, name: str) -> Use:
        """Return what is done with a column."""
        if self.selectors is not None and name in self.selectors.columns:
            return "scan"
        if name == self.id_name or any(label.path == (name,) for label in self.labels) or columns.is_metadata(name):
            return "metadata"
        if self.selectors is not None:
            return "exclude"
        return "scan" if name == self.only_text or columns.kind_of(name) == "text" else "exclude"

    def ordered(self, names: Sequence[str]) -> list[str]:
        """Return columns in an order that no batch changes: as the first records have them, then by name."""
        ranks = {name: rank for rank, name in enumerate(self.names)}
        return sorted(names, key=lambda name: (ranks.get(name, len(ranks)), name))

    def has_no_field(self, seen: set[str]) -> bool:
        """Return whether none of the fields that were asked for has come, given all columns of the source."""
        chosen = self.selectors
        return chosen is not None and len(chosen.missing) == len(chosen.parts) and seen.isdisjoint(chosen.columns)

    def check_end(self, seen: set[str]) -> None:
        """Raise where something that was asked for never came, given all columns of the source.

        Raises:
            FieldError, LabelError: a field or a label column is missing.
        """
        names = self.ordered(list(seen))
        for field in self.selectors.missing if self.selectors is not None and not self.may_lack_fields else ():
            if names and field not in seen:
                raise selectors.missing_field(self.location, field, names)
        for label in self.labels:
            if names and not label.is_seen:
                raise missing_label(self.location, label.rule, names)


def make_plan(
    source: Source, settings: ReadSettings, first: Sequence[RecordBatch], is_all: bool, may_lack_fields: bool = False
) -> Plan:
    """Return the plan for a source.

    Args:
        source: what is read.
        settings: what is asked for.
        first: the batches that hold the first records.
        is_all: whether these are all batches of the source.
        may_lack_fields: whether a missing field is no error.

    Raises:
        FieldError: no column is clearly text, or a field or the id column is missing.
        LabelError: a label column is missing.
        UsageError: a policy is declared twice, or a role is unknown.
    """
    check_rules(settings.labels)
    records = list(islice((record for batch in first for record in batch.rows()), FIRST_RECORDS))
    names = _names(first, records)
    is_whole = first[0].table is not None or (is_all and _all_rows(first) <= FIRST_RECORDS) or _alike(records)
    chosen = selectors.select(settings.fields, records, names) if settings.fields else None
    if chosen is not None and chosen.missing and is_whole and names and not may_lack_fields:
        raise selectors.missing_field(source.location, chosen.missing[0], names)
    labels = [label_column(rule, names, records, is_whole, source.location) for rule in settings.labels]
    roles, id_name = wanted_roles(settings.roles), _id_name(source, settings, names)
    plan = Plan(source.location, names, roles, chosen, id_name, labels, may_lack_fields=may_lack_fields)
    if chosen is None and records:
        plan.only_text = _only_text(plan, records)
    return plan


def _names(first: Sequence[RecordBatch], records: Sequence[Mapping[str, Any]]) -> list[str]:
    if first[0].table is not None:
        return names_of(first[0])
    return list(dict.fromkeys(name for record in records for name in record))


def _all_rows(batches: Sequence[RecordBatch]) -> int:
    return sum(len(batch.numbers) for batch in batches)


def _alike(records: Sequence[Mapping[str, Any]]) -> bool:
    return len(records) > 1 and len({frozenset(record) for record in records}) == 1


def _id_name(source: Source, settings: ReadSettings, names: Sequence[str]) -> str | None:
    name = columns.id_column(names, settings.id_column)
    if name is None and settings.id_column and names:
        nearest = columns.nearest_column(settings.id_column, names)
        raise FieldError(f"{source.location}: no id column '{columns.show_name(settings.id_column)}'{nearest}")
    return name


def _only_text(plan: Plan, records: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the one column that holds text though its name says nothing; None where usual columns or chats do.

    Raises:
        FieldError: it is not clear which column is text.
    """
    values = {name: [record.get(name, MISSING) for record in records] for name in plan.names}
    if any(_may_be_text(values[name]) for name in plan.names if plan.use(name) == "scan"):
        return None
    others = [name for name in plan.names if plan.use(name) == "exclude"]
    if any(is_chat(value) for name in others for value in values[name]):
        return None
    texts = [name for name in others if any(count_texts(value) for value in values[name])]
    if len(texts) == 1:
        return texts[0]
    what = "which of several columns is text is not clear" if texts else "no column holds text that is not metadata"
    raise FieldError(
        f"{plan.location}: {what} (columns: {columns.show_columns(plan.names)}); name the text columns with --fields"
    )


def _may_be_text(values: Sequence[Any]) -> bool:
    """Return whether a column holds strings, or only nulls."""
    return all(value is None or value is MISSING for value in values) or any(
        isinstance(value, str) or count_texts(value) for value in values
    )
