"""Spans of a record's texts replaced by a token; everything else stays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from auditkit.errors import StaleAuditError
from auditkit.formats.fields import get_text, replace_text
from auditkit.split.condemn import Span


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return half-open spans in order, those that overlap or touch as one; empty ones are left out."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def masked_text(text: str, spans: Iterable[tuple[int, int]], token: str) -> str:
    """Return `text` with `token` in place of each span (characters, half open)."""
    pieces, at = [], 0
    for start, end in merged(spans):
        pieces += [text[at:start], token]
        at = end
    return "".join([*pieces, text[at:]])


def masked_record(record: dict[str, Any], spans: Iterable[Span], token: str, where: str) -> dict[str, Any]:
    """Return a copy of a record with the spans of its texts masked; a span without bounds is the whole text.

    Args:
        record: the record, as read.
        spans: (field, turn, start, end); characters of the text as read.
        token: what stands for each span.
        where: the row, for the error.

    Raises:
        StaleAuditError: a span ends beyond its text.
        FieldError: the record has no text at a field and turn.
    """
    by_text: dict[tuple[str, int | None], list[tuple[int | None, int | None]]] = {}
    for field, turn, start, end in spans:
        by_text.setdefault((field, turn), []).append((start, end))
    for (field, turn), found in by_text.items():
        text = get_text(record, field, turn)
        bounded = [(0, len(text)) if start is None or end is None else (start, end) for start, end in found]
        if any(start < 0 or end > len(text) for start, end in bounded):
            raise StaleAuditError(f"{where}: a match ends beyond the text of {field}; audit the pool again")
        record = replace_text(record, field, turn, masked_text(text, bounded, token))
    return record
