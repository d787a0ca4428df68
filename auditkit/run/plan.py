"""Who an output folder belongs to: plan.json names inputs, settings and version of the run that may write there."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from auditkit.errors import OutputError

PLAN = "plan.json"


def plan_digest(inputs: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Return the sha256 of inputs, settings and version, as hexadecimal digits."""
    version = importlib.metadata.version("benchmark-auditkit")
    body = json.dumps([version, list(inputs), settings], sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(body.encode()).hexdigest()


def claim_folder(
    folder: Path,
    inputs: Sequence[str],
    settings: Mapping[str, Any],
    overwrite: bool,
    more: Mapping[str, Any] | None = None,
    what: str = "an audit",
) -> bytes:
    """Return the content of this run's plan.json, to be written before all else, where it may write to `folder`.

    Nothing is written here: an audit that fails at once leaves no trace. That the folder can be written is seen
    beforehand.

    Args:
        folder: may be missing.
        inputs: names and digests of what is read.
        settings: all settings, as plain values.
        overwrite: take over the folder of another run.
        more: what plan.json holds beside; it must follow from inputs, settings and version.
        what: the kind of run, for messages.

    Raises:
        OutputError: the folder holds something else, or a run of other inputs or settings, or cannot be written.
    """
    digest = plan_digest(inputs, settings)
    is_there = _exists(folder)
    seen = _plan_of(folder)
    if seen is None and is_there and (not folder.is_dir() or _holds_something(folder)):
        raise OutputError(
            f"{folder} is in use and is no folder of {what} (it has no {PLAN}); choose another with --out"
        )
    if seen is not None and seen != digest and not overwrite:
        raise OutputError(
            f"{folder} holds {what} of other inputs, settings or version (plan {seen[:12]}, this one {digest[:12]}); "
            "choose another folder with --out, or replace it with --overwrite"
        )
    _check_writable(folder)
    content = {"plan": digest, "inputs": list(inputs), **(more or {})}
    # A lone surrogate (an odd file name) becomes its JSON escape.
    return (json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n").encode("utf-8", "backslashreplace")


def _exists(folder: Path) -> bool:
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise OutputError(f"{folder} cannot be used: {error.strerror}; choose another folder with --out") from None
    return True


def _holds_something(folder: Path) -> bool:
    try:
        return any(not _is_begun_plan(path) for path in folder.iterdir())
    except OSError as error:
        raise OutputError(f"{folder} cannot be read: {error.strerror}; choose another folder with --out") from None


def _is_begun_plan(path: Path) -> bool:
    """Return whether a file is a plan.json that a run was killed over (see store.py)."""
    return path.name.startswith(f".{PLAN}.") and path.suffix == ".tmp"


def _check_writable(folder: Path) -> None:
    """Check that the nearest folder that exists can be written to.

    Raises:
        OutputError: it cannot, or a file stands in the way.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise OutputError(f"{folder} cannot be made: {there} is a file; choose another folder with --out")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OutputError(f"{folder} cannot be written: no permission for {there}; choose another folder with --out")


def _plan_of(folder: Path) -> str | None:
    """Return the plan of an audit folder, None where it has none; "unreadable" where it cannot be read."""
    try:
        return str(json.loads((folder / PLAN).read_text("utf-8"))["plan"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return "unreadable"
