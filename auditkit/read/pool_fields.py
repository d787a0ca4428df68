"""Fields that are asked for of a pool of several sources: each must be in one of them at least."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from auditkit.errors import FieldError
from auditkit.formats import read_records
from auditkit.read.columns import nearest_column, show_name
from auditkit.read.plan import FIRST_RECORDS
from auditkit.read.selectors import select
from auditkit.read.values import names_of
from auditkit.records import ReadSettings, Source

_FIRST_BYTES = 1 << 20


def check_fields(sources: Sequence[Source], settings: ReadSettings) -> None:
    """Return where every field is in one source at least. Of most sources only the first records are read.

    Raises:
        FieldError: a field is in none of them.
        BadRecordError: a broken record, where `settings.bad_rows` is "error".
    """
    missing = list(settings.fields)
    columns: dict[str, None] = {}
    for source in sources:
        if not missing:
            return
        missing, names = _missing(source, missing, settings)
        columns.update(dict.fromkeys(names))
    # A column may come later than the first records, which is worth a look before an error.
    late = [name for name in missing if not any(_comes_late(source, name, settings) for source in sources)]
    if late and columns:
        raise FieldError(
            f"none of the {len(sources)} sources has a field '{show_name(late[0])}'{nearest_column(late[0], columns)}"
        )


def _missing(source: Source, fields: Sequence[str], settings: ReadSettings) -> tuple[list[str], list[str]]:
    """Return which fields the first records of a source do not have, and the columns that they have."""
    batch = next(iter(read_records(source, settings.bad_rows, _FIRST_BYTES)))
    records = list(islice(batch.rows(), FIRST_RECORDS))
    names = names_of(batch)
    return select(fields, records, names).missing, names


def _comes_late(source: Source, name: str, settings: ReadSettings) -> bool:
    """Return whether a column comes after the first records: only where each record has columns of its own."""
    if source.format not in ("jsonl", "json", "list"):
        return False
    return any(name in names_of(batch) for batch in read_records(source, settings.bad_rows, settings.shard_bytes))
