"""An audit's records as files and back: report.json, matches.parquet, items.parquet, and timing.json beside them.

Equal audits give equal bytes of the first three. Wall times differ from run to run, so they stand in timing.json.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from auditkit.errors import InputError
from auditkit.records import AuditReport
from auditkit.report import files, parse
from auditkit.report.safe import UNSAFE, shown
from auditkit.tables import ITEM_RESULTS, MATCHES, Schema, check

FORMAT = "auditkit-report"
FORMAT_VERSION = 1
REPORT, TIMING, MATCH_FILE, ITEM_FILE = "report.json", "timing.json", "matches.parquet", "items.parquet"
#: Files of a power that was measured; the report carries it as well.
POWER, PLANT_FILE = "power.json", "power.parquet"

#: Not in report.json: frames have files of their own, times are not comparable, the folder is where it lies.
_ELSEWHERE = ("matches", "items", "seconds", "run", "folder")
#: Mappings whose order means something (rules are tried in it); all others are sorted by key.
_ORDERED = ("rules",)


def write(report: AuditReport, folder: Path, extra: Mapping[str, bytes] | None = None) -> None:
    """Write report.json, timing.json, matches.parquet and items.parquet (and `extra` files) into `folder`.

    Each file is written beside its place and renamed, report.json last: where it exists, the audit is complete. The
    files of a power that this report does not carry, of an audit before, are taken away.

    Raises:
        OutputError: the folder cannot be written.
    """
    contents = {
        MATCH_FILE: parquet(check(report.matches, MATCHES, "report matches")),
        ITEM_FILE: parquet(check(report.items, ITEM_RESULTS, "report items")),
        TIMING: json_bytes({"seconds": plain(report.seconds), "run": plain(report.run)}),
        **(extra or {}),
    }
    digests = {name: file_digest(contents[name]) for name in (MATCH_FILE, ITEM_FILE)}
    contents[REPORT] = dumps(report, digests)
    files.publish(folder, contents, last=REPORT)
    for name in () if report.power else (POWER, PLANT_FILE):
        (folder / name).unlink(missing_ok=True)


def dumps(report: AuditReport, digests: Mapping[str, str]) -> bytes:
    """Return the bytes of report.json; `digests` are those of the two tables that belong to it."""
    body = {
        field.name: plain(getattr(report, field.name), is_ordered=field.name in _ORDERED)
        for field in fields(report)
        if field.name not in _ELSEWHERE
    }
    return json_bytes({"format": FORMAT, "format_version": FORMAT_VERSION, **body, "files": dict(digests)})


def load(folder: Path | str) -> AuditReport:
    """Return the report that was written into `folder`, its `folder` set; equal to the one given to `write`.

    Raises:
        InputError: there is none, it is not of auditkit, of another version, or its tables are not those it was
            written with.
    """
    folder = Path(folder)
    raw = _read_json(folder)
    matches = _table(folder, MATCH_FILE, MATCHES, raw)
    if "pool_labels" not in matches.columns:  # Parquet has no struct without fields; this audit had no policy
        matches = matches.with_columns(pl.lit(None, dtype=pl.Struct({})).alias("pool_labels"))
    items = _table(folder, ITEM_FILE, ITEM_RESULTS, raw)
    body = {key: thing for key, thing in raw.items() if key not in ("format", "format_version", "files")}
    more = {**_timing(folder), "matches": matches, "items": items, "folder": folder}
    return parse.record(AuditReport, body | more, str(folder / REPORT))


def load_items(folder: Path) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """Return items.parquet and the raw content of report.json: all that a baseline needs, without matches.parquet.

    Raises:
        InputError: as `load`.
    """
    raw = _read_json(folder)
    return _table(folder, ITEM_FILE, ITEM_RESULTS, raw), raw


def _read_json(folder: Path) -> dict[str, Any]:
    path = folder / REPORT
    if not folder.is_dir():
        raise InputError(
            f"{shown(str(folder))}: no such folder; name the folder that was given to auditkit audit --out"
        )
    if not path.is_file():
        raise InputError(
            f"{shown(str(folder))}: {REPORT} is missing, so this is not a finished audit; "
            "run auditkit audit with --out on this folder"
        )
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{shown(str(path))}: not readable as JSON ({shown(str(error))}); run the audit again"
        ) from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InputError(
            f'{shown(str(path))}: not a report of auditkit (no "format": "{FORMAT}"); name an audit\'s folder'
        )
    if raw.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{shown(str(path))}: report format {shown(str(raw.get('format_version')))}, this auditkit reads "
            f"{FORMAT_VERSION}; run the audit again"
        )
    return raw


def _table(folder: Path, name: str, schema: Schema, raw: Mapping[str, Any]) -> pl.DataFrame:
    path = folder / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{shown(str(path))}: {error.strerror}; {REPORT} needs it, run the audit again") from None
    wanted = raw["files"].get(name) if isinstance(raw.get("files"), dict) else None
    if file_digest(content) != wanted:
        raise InputError(
            f"{shown(str(path))}: not the file that {REPORT} was written with (digest differs); run the audit again"
        )
    try:
        return check(pl.read_parquet(io.BytesIO(content)), schema, name)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{shown(str(path))}: not a table of this auditkit: {shown(str(error))}") from None


def _timing(folder: Path) -> dict[str, dict[str, Any]]:
    """Return wall times and how it was run, or nothing where timing.json was not kept: nothing else depends on them."""
    try:
        raw = json.loads((folder / TIMING).read_text(encoding="utf-8"))
        seconds = {str(name): float(value) for name, value in raw["seconds"].items()}
        return {"seconds": seconds, "run": dict(raw.get("run", {}))}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {"seconds": {}, "run": {}}


def parquet(frame: pl.DataFrame) -> bytes:
    """Return the frame as a Parquet file, without structs that have no field, which Parquet lacks."""
    without_fields = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct) and not dtype.fields]
    buffer = io.BytesIO()
    frame.drop(without_fields).write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


def file_digest(content: bytes) -> str:
    """Return "sha256:..." of a file's content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def json_bytes(value: Any) -> bytes:
    r"""Return UTF-8 JSON. Invisible characters and lone surrogates (odd file names) are written as \uXXXX."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return (_escape(text) + "\n").encode("utf-8")


def _escape(text: str) -> str:
    """Return JSON text with the characters of safe.UNSAFE, which occur only inside its strings, as JSON escapes."""
    return UNSAFE.sub(lambda match: match.group() if match.group() == "\n" else json.dumps(match.group())[1:-1], text)


def plain(thing: Any, *, is_ordered: bool = False) -> Any:
    """Return `thing` as JSON values: records as objects, tuples as lists, paths as text, NaN and infinity as null."""
    if thing is None or isinstance(thing, bool | int | str):
        return thing
    if isinstance(thing, float):
        return thing if thing - thing == 0 else None
    if isinstance(thing, Mapping):
        keys = list(thing) if is_ordered else sorted(thing, key=str)
        return {str(key): plain(thing[key], is_ordered=is_ordered) for key in keys}
    if isinstance(thing, list | tuple):
        return [plain(part, is_ordered=is_ordered) for part in thing]
    if isinstance(thing, Path):
        return str(thing)
    if hasattr(thing, "__dataclass_fields__"):
        return {field.name: plain(getattr(thing, field.name), is_ordered=is_ordered) for field in fields(thing)}
    raise TypeError(f"report value {thing!r} is no plain value")  # a defect of the caller, not of the input
