"""Pairs of texts from a file: an item and the same in other words."""

from __future__ import annotations

from pathlib import Path

from auditkit.errors import FieldError
from auditkit.formats import read_records
from auditkit.read.cache import file_source

COLUMNS = ("original", "rephrased")


def read_pairs(path: str | Path) -> list[tuple[str, str]]:
    """Return (original, rephrased) of every record of a file that has both texts.

    Raises:
        FieldError: no record has the two columns as text.
        InputError: the file cannot be read.
    """
    source = file_source(Path(path).stem, path)
    rows = (row for batch in read_records(source) for row in batch.rows())
    pairs = [tuple(row.get(name) if isinstance(row, dict) else None for name in COLUMNS) for row in rows]
    whole = [(a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, str) and a and b]
    if not whole:
        raise FieldError(f"{path}: no record with the columns {' and '.join(COLUMNS)} as text; name the columns so")
    return whole
