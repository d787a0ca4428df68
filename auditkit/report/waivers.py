"""A waiver file: findings that a person has accepted, each with a reason and an expiry date.

[[waiver]]
benchmark = "xstest"
item_id = "v2-17"            # or item = 17 (0-based), or digest = "..." as in items.parquet
pool = "train"               # optional: only matches in this source
row = 204                    # optional, needs pool: only this row
reason = "public proverb, kept on purpose"
expires = 2026-12-31         # the last day on which it counts
"""

from __future__ import annotations

import contextlib
import tomllib
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl

from auditkit.errors import UsageError, nearest
from auditkit.report.safe import shown

_IDENTITIES: dict[str, type] = {"item_id": str, "item": int, "digest": str}
_KNOWN: dict[str, type] = {"benchmark": str, **_IDENTITIES, "pool": str, "row": int, "reason": str, "expires": date}


@dataclass(frozen=True)
class Waiver:
    """One accepted finding. `place` is its 1-based place in the file; `expires` is the last day on which it counts."""

    place: int
    benchmark: str
    reason: str
    expires: date
    item_id: str | None = None
    item: int | None = None
    digest: str | None = None
    pool: str | None = None
    row: int | None = None

    def covers(self) -> pl.Expr:
        """Return whether a row of (benchmark, item, item_id, digest, pool, row) is waived, null read as no."""
        names = ("benchmark", *_IDENTITIES, "pool", "row")
        wanted = [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]
        return pl.all_horizontal([pl.col(name).eq_missing(pl.lit(value)) for name, value in wanted])

    def described(self) -> str:
        """Return "waiver 3 (xstest item 17, pool train, row 204; reason: ...; until 2026-12-31)"."""
        named = [f"{name} {getattr(self, name)}" for name in (*_IDENTITIES, "pool", "row") if _is_set(self, name)]
        return shown(
            f"waiver {self.place} ({self.benchmark} {', '.join(named)}; reason: {self.reason}; "
            f"until {self.expires.isoformat()})"
        )


def load(path: Path) -> tuple[Waiver, ...]:
    """Return the waivers of a TOML file, expired ones included.

    Raises:
        UsageError: the file cannot be read, or an entry lacks a benchmark, item, reason or expiry date, or has a key
            that is not known; the message names file and entry.
    """
    where = f"waiver file {shown(str(path))}"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{where}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # TOML and UTF-8 errors both
        raise UsageError(f"{where}: not TOML: {shown(str(error))}") from None
    odd = sorted(set(raw) - {"waiver"})
    entries = raw.get("waiver", [])
    if odd or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        seen = f"key {shown(odd[0])!r}" if odd else "a 'waiver' that is no list"
        raise UsageError(f"{where}: {seen}, expected only [[waiver]] entries")
    return tuple(_waiver(entry, place, f"{where}, waiver {place}") for place, entry in enumerate(entries, 1))


def _waiver(entry: dict[str, Any], place: int, where: str) -> Waiver:
    for key in entry:
        if key not in _KNOWN:
            raise UsageError(f"{where}: unknown key {shown(key)!r}{nearest(key, _KNOWN)}; known: {', '.join(_KNOWN)}")
    values = {key: _value(key, raw, where) for key, raw in entry.items()}
    for key in ("benchmark", "reason", "expires"):
        if key not in values:
            raise UsageError(f"{where}: no {key}; every waiver needs benchmark, item, reason and expires")
    if not any(key in values for key in _IDENTITIES):
        raise UsageError(f"{where}: names no item; add item_id, item (0-based) or digest")
    if "row" in values and "pool" not in values:
        raise UsageError(f"{where}: row without pool; a row number means nothing without its source")
    return Waiver(place=place, **values)


def _value(key: str, raw: Any, where: str) -> Any:
    kind = _KNOWN[key]
    if kind is date:
        return _date(raw, where)
    if kind is str:
        is_good, expected = isinstance(raw, str) and bool(raw.strip()), "a text that is not empty"
    else:
        is_good, expected = type(raw) is int and 0 <= raw < 2**63, "a whole number from 0"
    if not is_good:
        raise UsageError(f"{where}: {key} is {shown(repr(raw))}, expected {expected}")
    return raw


def _date(raw: Any, where: str) -> date:
    if isinstance(raw, str):
        with contextlib.suppress(ValueError):  # still a str, and named below
            raw = date.fromisoformat(raw)
    if not isinstance(raw, date) or isinstance(raw, datetime):
        raise UsageError(f"{where}: expires is {shown(repr(raw))}, expected a date such as 2026-12-31")
    return raw


def _is_set(waiver: Waiver, name: str) -> bool:
    return getattr(waiver, name) is not None
