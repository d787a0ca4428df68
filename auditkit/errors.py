"""The exceptions auditkit raises on purpose. Each message says what was wrong, where, what was expected, what to do.

AuditkitError                  a person can mend it; the command line prints one line and exits with 2
├── UsageError                 wrong arguments or settings
│   └── RulesError             the rules file
├── InputError                 a pool or a benchmark cannot be read as it stands
│   ├── BadRecordError         one record of a file is broken (file and line known)
│   ├── FieldError             no text column, or not the one that was named
│   ├── LabelError             a label column or its value map
│   └── BenchmarkError         unknown, empty, not cached, gated, or of another size than registered
├── OutputError                the output folder is in use, is the input, or cannot be written
├── StaleAuditError            the pool or the benchmark is no longer the one that was audited
└── MissingExtraError          an optional package is not installed
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class AuditkitError(Exception):
    """Something a person can mend. The message is one line."""


class UsageError(AuditkitError):
    """Wrong arguments or settings."""


class RulesError(UsageError):
    """A rules file that cannot be used."""


class InputError(AuditkitError):
    """A pool or a benchmark that cannot be read as it stands."""


class BadRecordError(InputError):
    """One broken record.

    Attributes:
        location: the file, as the user named it.
        line: 1-based line (text formats) or record number (Parquet, JSON); None where the whole file is broken.
        reason: what is wrong with it, without the location.
    """

    def __init__(self, location: str, line: int | None, reason: str, hint: str = "") -> None:
        self.location, self.line, self.reason, self._hint = location, line, reason, hint
        where = location if line is None else f"{location}, line {line}"
        super().__init__(f"{where}: {reason}{'. ' + hint if hint else ''}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what it was made of: it may be raised on another machine."""
        return type(self), (self.location, self.line, self.reason, self._hint)


class FieldError(InputError):
    """No text column could be chosen, or the named one is missing."""


class LabelError(InputError):
    """A label column is missing, or its values cannot be read as labels."""


class BenchmarkError(InputError):
    """A benchmark that is unknown, empty, not cached, gated, or not as registered."""


class OutputError(AuditkitError):
    """An output folder that is in use, is the input, or cannot be written."""


class StaleAuditError(AuditkitError):
    """The pool or benchmark has changed since it was audited."""


class MissingExtraError(AuditkitError):
    """An optional package that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self._made_of = what, extra
        super().__init__(
            f"{what} needs the extra '{extra}', which is not installed; install it from the checkout with: "
            f"pip install '.[{extra}]' -c scripts/constraints.txt"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what it was made of: it may be raised on another machine."""
        return type(self), self._made_of


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the closest known name, or "" where none is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
