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


def claim_folder(folder: Path, inputs: Sequence[str], settings: Mapping[str, Any], overwrite: bool) -> None:
    """Make `folder` this run's, by plan.json.

    Args:
        folder: made where it is missing.
        inputs: names and digests of what is read.
        settings: all settings, as plain values.
        overwrite: take over the folder of another audit.

    Raises:
        OutputError: the folder holds something else, or an audit of other inputs or settings, or cannot be written.
    """
    digest = plan_digest(inputs, settings)
    seen = _plan_of(folder)
    if seen is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder} is in use and is no audit folder (it has no {PLAN}); choose another with --out")
    if seen is not None and seen != digest and not overwrite:
        raise OutputError(
            f"{folder} holds an audit of other inputs, settings or version (plan {seen[:12]}, this one {digest[:12]}); "
            "choose another folder with --out, or replace it with --overwrite"
        )
    spare = folder / f".{PLAN}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        spare.write_text(
            json.dumps({"plan": digest, "inputs": list(inputs)}, indent=2, ensure_ascii=False) + "\n", "utf-8"
        )
        spare.replace(folder / PLAN)
    except OSError as error:
        spare.unlink(missing_ok=True)
        raise OutputError(f"{folder} cannot be written: {error.strerror}; choose another folder with --out") from None


def _plan_of(folder: Path) -> str | None:
    """Return the plan of an audit folder, None where it has none; "" where it cannot be read."""
    try:
        return str(json.loads((folder / PLAN).read_text("utf-8"))["plan"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return "unreadable"
