"""One source -> one Benchmark: its records read, its columns chosen, its count checked against the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from auditkit.errors import BenchmarkError
from auditkit.formats import read_records
from auditkit.read.columns import find_column, show_columns
from auditkit.read.item_columns import column_names, forced_plan, guessed_plan, registered_plan
from auditkit.read.items import Built, Plan, build_items, kept_records
from auditkit.read.labels import label_of
from auditkit.read.registry import Registered, registered
from auditkit.records import Benchmark, LabelRule, Source

#: A benchmark's column that says which of its items are public text.
PUBLIC_COLUMN = "is_public"


def assemble(source: Source, entry: Registered | None = None, columns: Sequence[str] = ()) -> Benchmark:
    """Return the benchmark that a source holds, under the source's name.

    Args:
        source: what to read; a broken record is always an error.
        entry: the registered benchmark it is said to be; its columns and count are checked.
        columns: read exactly these columns.

    Raises:
        BenchmarkError: no record, no item with text, or not as registered.
        FieldError: no text column can be chosen, or a named one is missing.
        BadRecordError: a broken record.
    """
    records = [row for batch in read_records(source) for row in batch.rows()]
    where = f"benchmark {source.name}" if source.location == "memory" else source.location
    if not records:
        raise BenchmarkError(f"{where}: an empty benchmark: it has no record; expected at least one item")
    plan = _plan(records, where, entry, columns)
    built = build_items(source.name, records, plan)
    _check_text(built, plan, len(records), where)
    public = _public_items(records, plan)
    benchmark = Benchmark(source.name, source, built.items, built.n_items, notes=built.notes, public_items=public)
    return benchmark if entry is None else _as_registered(benchmark, entry, where)


def item_records(benchmark: Benchmark) -> Iterator[Mapping[str, Any]]:
    """Yield the original records of a benchmark's items, read again from its source; number n is item n."""
    records = [row for batch in read_records(benchmark.source) for row in batch.rows()]
    entry = registered().get(benchmark.name) if benchmark.is_registered else None
    names = column_names(records)
    where = {} if entry is None else {find_column(name, names) or "": values for name, values in entry.where.items()}
    where.pop("", None)
    yield from kept_records(records, where)


def _plan(
    records: Sequence[Mapping[str, Any]], location: str, entry: Registered | None, columns: Sequence[str]
) -> Plan:
    plan = None if entry is None else registered_plan(entry, column_names(records), location)
    if not columns:
        return plan or guessed_plan(records, location)
    forced = forced_plan(columns, records, location)
    return forced if plan is None else replace(plan, parts=forced.parts)


def _public_items(records: Sequence[Mapping[str, Any]], plan: Plan) -> frozenset[int]:
    """Return the items that the column `is_public` names; none where there is no such column."""
    column = find_column(PUBLIC_COLUMN, column_names(records))
    if column is None:
        return frozenset()
    rule = LabelRule("", column, {})
    kept = enumerate(kept_records(records, plan.where))
    return frozenset(number for number, record in kept if label_of(record.get(column), rule) == 1)


def _check_text(built: Built, plan: Plan, n_records: int, location: str) -> None:
    if built.n_items == 0:
        wanted = " and ".join(f"{column} in ({', '.join(values)})" for column, values in plan.where.items())
        raise BenchmarkError(f"{location}: an empty benchmark: none of its {n_records} records has {wanted}")
    if built.items.is_empty():
        columns = show_columns(part.column for part in plan.parts)
        raise BenchmarkError(f"{location}: an empty benchmark: none of its {built.n_items} items has text in {columns}")


def _as_registered(benchmark: Benchmark, entry: Registered, where: str) -> Benchmark:
    """Return the benchmark with the registry's facts.

    Raises:
        BenchmarkError: another number of items than the verified one.
    """
    notes = [*benchmark.notes]
    if entry.n_items is not None and benchmark.n_items != entry.n_items:
        seen = f"{benchmark.n_items:,} items, expected {entry.n_items:,}"
        if entry.is_count_verified:
            raise BenchmarkError(
                f"{where}: not {entry.name} as registered: it has {seen} ({entry.verified['items']}); it is another "
                "version or a part; to use it as it is, give it a name of your own (mine=PATH)"
            )
        notes.append(f"{seen} by a count that the registry could not verify")
    open_facts = [*(fact for fact in entry.reported if fact not in entry.verified), *entry.unverified]
    if open_facts:
        notes.append(f"not verified in the registry: {', '.join(open_facts)}")
    return replace(
        benchmark, revision=entry.revision, licence=entry.licence, policy=entry.policy, unit=entry.unit,
        klass=entry.klass, is_registered=True, notes=tuple(notes), public_note=entry.public,
    )  # fmt: skip
