"""A study's result as files and back: study.json, metrics.parquet, and timing.json beside them.

Equal studies give equal bytes of the first two: wall times, of stages too, stand in timing.json.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from auditkit.errors import InputError
from auditkit.report import files, parse
from auditkit.report.as_json import file_digest, json_bytes, parquet, plain
from auditkit.report.safe import shown
from auditkit.study_records.results import StudyResult
from auditkit.tables import METRICS, check

FORMAT = "auditkit-study"
FORMAT_VERSION = 1
STUDY, METRIC_FILE, TIMING = "study.json", "metrics.parquet", "timing.json"
#: Fields of a result whose entries hold wall times.
LEDGERS = ("ledger", "raw_ledger")
_AGAIN = "write it again with auditkit study --report-only"


def write(result: StudyResult, folder: Path, extra: Mapping[str, bytes] | None = None) -> None:
    """Write study.json, metrics.parquet and timing.json (and `extra` files) into `folder`, study.json last.

    Raises:
        OutputError: the folder cannot be written.
    """
    metrics = parquet(check(result.metrics, METRICS, "study metrics"))
    stages = {name: [[s.seconds for s in entry.stages] for entry in getattr(result, name)] for name in LEDGERS}
    contents = {
        METRIC_FILE: metrics,
        TIMING: json_bytes({"seconds": plain(result.seconds), "stages": plain(stages)}),
        **(extra or {}),
        STUDY: dumps(result, {METRIC_FILE: file_digest(metrics)}),
    }
    files.publish(folder, contents, last=STUDY)


def dumps(result: StudyResult, digests: Mapping[str, str]) -> bytes:
    """Return the bytes of study.json: all but frames and wall times. NaN and infinity are null in it."""
    skipped = ("metrics", "seconds")
    body = {f.name: plain(getattr(result, f.name)) for f in fields(result) if f.name not in skipped}
    for entry in (entry for name in LEDGERS for entry in body[name]):
        for stage in entry["stages"]:
            del stage["seconds"]
    return json_bytes({"format": FORMAT, "format_version": FORMAT_VERSION, **body, "files": dict(digests)})


def load(folder: Path | str) -> StudyResult:
    """Return the result that was written into `folder`, equal to the one given to `write`.

    Without timing.json nothing but the wall times is lost: they are 0.

    Raises:
        InputError: there is none, it is not of auditkit, of another version, or its metrics are not those it was
            written with.
    """
    folder = Path(folder)
    raw = _read(folder)
    metrics = _metrics(folder, raw.pop("files", None))
    timing = _timing(folder)
    body = {key: thing for key, thing in raw.items() if key not in ("format", "format_version")}
    stages = timing.get("stages")
    for name in LEDGERS:
        _put_seconds(body.get(name), stages.get(name) if isinstance(stages, dict) else None)
    seconds = timing.get("seconds")
    more = {"metrics": metrics, "seconds": seconds if isinstance(seconds, dict) else {}}
    return parse.record(StudyResult, body | more, str(folder / STUDY))


def _read(folder: Path) -> dict[str, Any]:
    path = folder / STUDY
    where = shown(str(path))
    if not path.is_file():
        raise InputError(
            f"{shown(str(folder))}: {STUDY} is missing, so this is not a finished study; "
            "run auditkit study with --out on this folder"
        )
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{where}: not readable as JSON ({shown(str(error))}); {_AGAIN}") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InputError(f'{where}: not a study of auditkit (no "format": "{FORMAT}"); name a study\'s folder')
    if raw.get("format_version") != FORMAT_VERSION:
        seen = shown(str(raw.get("format_version")))
        raise InputError(f"{where}: study format {seen}, this auditkit reads {FORMAT_VERSION}; {_AGAIN}")
    return raw


def _metrics(folder: Path, digests: Any) -> pl.DataFrame:
    path = folder / METRIC_FILE
    where = shown(str(path))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{where}: {error.strerror}; {STUDY} needs it, {_AGAIN}") from None
    if not isinstance(digests, dict) or digests.get(METRIC_FILE) != file_digest(content):
        raise InputError(f"{where}: not the file that {STUDY} was written with (digest differs); {_AGAIN}")
    try:
        return check(pl.read_parquet(io.BytesIO(content)), METRICS, METRIC_FILE)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{where}: not a table of this auditkit: {shown(str(error))}") from None


def _timing(folder: Path) -> dict[str, Any]:
    """Return the wall times, or none where timing.json was not kept: nothing else depends on them."""
    try:
        raw = json.loads((folder / TIMING).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return raw if isinstance(raw, dict) else {}


def _put_seconds(ledger: Any, stages: Any) -> None:
    """Put the wall times of stages back; anything that is no ledger is left for `parse` to name."""
    for place, entry in enumerate(ledger if isinstance(ledger, list) else []):
        records = entry.get("stages") if isinstance(entry, dict) else None
        for index, record in enumerate(records if isinstance(records, list) else []):
            if isinstance(record, dict):
                record["seconds"] = _second(stages, place, index)


def _second(stages: Any, place: int, index: int) -> float:
    try:
        return float(stages[place][index])
    except (TypeError, LookupError, ValueError):
        return 0.0
