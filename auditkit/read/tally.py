"""Counts of what was not examined, by reason. Names come from hostile data, so reasons are escaped and bounded."""

from __future__ import annotations

import re
from collections import Counter

from auditkit.read.columns import show_name

#: Distinct names that are counted one by one in a source; the others share one reason.
MAX_NAMES = 200
_INDEXES = re.compile(r"\[\d+\]")


class Tally:
    """Counts of one batch; `known` is shared by the batches of a source.

    Attributes:
        counts: reason -> number.
    """

    def __init__(self, known: set[str]) -> None:
        self.counts: Counter[str] = Counter()
        self._known = known

    def add(self, reason: str, n: int = 1) -> None:
        """Count `n` under a reason that holds no text of the pool."""
        if n:
            self.counts[reason] += n

    def field(self, before: str, path: str, n: int = 1, after: str = "") -> None:
        """Count `n` under "BEFORE PATH AFTER"; list indexes of the path are left out."""
        if not n:
            return
        name = _INDEXES.sub("[*]", path)
        if name not in self._known:
            if len(self._known) >= MAX_NAMES:
                name = f"(beyond the first {MAX_NAMES} names)"
            else:
                self._known.add(name)
        self.counts[f"{before} {name}{' ' if after else ''}{after}"] += n

    def excluded(self, path: str, n: int = 1) -> None:
        """Count texts of a field that is neither a usual one nor asked for."""
        self.field("excluded field", path, n)

    def metadata(self, path: str, n: int = 1) -> None:
        """Count texts of an id, label or category."""
        self.field("field", path, n, "(metadata)")

    def null(self, path: str, n: int = 1) -> None:
        """Count nulls of a text field."""
        self.field("null field", path, n)

    def not_text(self, path: str, n: int = 1, what: str = "not text") -> None:
        """Count values of a text field that are no text."""
        self.field("field", path, n, what)


def column_path(name: str) -> str:
    """Return the path of a column as reasons show it: escaped, 80 characters at most."""
    return show_name(name)
