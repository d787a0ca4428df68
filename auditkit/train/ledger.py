"""The ledger: which versions and data made an arm, keys that change with any of it, and JSON both ways."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import InputError
from auditkit.study_records.ledger import LedgerEntry, StageRecord
from auditkit.study_records.settings import Optimizer, Stage
from auditkit.train.folders import write_json

PACKAGES = ("benchmark-auditkit", "torch", "transformers", "peft", "safetensors", "tokenizers", "numpy")
#: Modules whose code decides weights or scores; their bytes are part of every key.
_CODE = (
    "batches",
    "features",
    "generative",
    "head",
    "labels",
    "loading",
    "loss",
    "models",
    "record",
    "score",
    "stages",
    "steps",
    "trainable",
)
LEDGER_FILE, STAGE_FILE = "ledger.json", "stage.json"


def training_versions() -> dict[str, str]:
    """Return name -> version of what trains, Python's and the digest of the training code included."""
    found = {"python": platform.python_version(), "code": code_digest()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def code_digest() -> str:
    """Return the first 16 hex digits of the sha256 over the modules that decide weights and scores."""
    here = Path(__file__).parent
    parts = [(here / f"{name}.py").read_bytes() for name in _CODE]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def data_digest(texts: Sequence[str], *arrays: NDArray[Any] | None) -> str:
    """Return "sha256:..." of texts in order and arrays beside them (labels, ids); None differs from empty."""
    digest = hashlib.sha256(f"{len(texts)}|".encode())
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(raw)}|".encode() + raw)
    for array in arrays:
        digest.update(b"none|" if array is None else f"{array.dtype}|{array.shape}|".encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    return f"sha256:{digest.hexdigest()}"


def stage_key(
    *,
    base_digest: str,
    seed: int,
    earlier: Sequence[str],
    data_digest: str,
    teacher_key: str,
    stage: Stage,
    optimizer: Optimizer,
    trainer: str = "finetune",
    versions: Mapping[str, str] | None = None,
) -> str:
    """Return "sha256:..." of everything that decides a stage's weights.

    Args:
        base_digest: Checkpoint.digest of the base model: weights, tokenizer and config.
        earlier: keys of the stages before it, in order.
        data_digest: of the training texts and hard labels, `data_digest(texts, hard)`.
        teacher_key: key of the teacher's last stage, digest of its weights or of its column; "" without a teacher.
        versions: `training_versions()` where None; it holds the digest of the training code.
    """
    return _key(
        "stage",
        {
            "base": base_digest,
            "seed": seed,
            "earlier": list(earlier),
            "data": data_digest,
            "teacher": teacher_key,
            "stage": asdict(stage),
            "optimizer": asdict(optimizer),
            "trainer": trainer,
            "versions": dict(versions if versions is not None else training_versions()),
        },
    )


def score_key(
    *, checkpoint_digest: str, texts_digest: str, max_tokens: int, threshold_rule: str = "", seed: int = 0
) -> str:
    """Return "sha256:..." of everything that decides cached scores and the decisions made of them."""
    return _key(
        "score",
        {
            "checkpoint": checkpoint_digest,
            "texts": texts_digest,
            "max_tokens": max_tokens,
            "threshold_rule": threshold_rule,
            "seed": seed,
            "versions": training_versions(),
        },
    )


def _key(kind: str, parts: dict[str, Any]) -> str:
    text = json.dumps({"kind": kind, **parts}, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def entry_to_json(entry: LedgerEntry) -> dict[str, Any]:
    """Return a ledger entry as plain JSON values."""
    return asdict(entry) | {"optimizer": dict(entry.optimizer), "versions": dict(entry.versions)}


def entry_from_json(value: Mapping[str, Any], where: str = LEDGER_FILE) -> LedgerEntry:
    """Return the ledger entry that `entry_to_json` wrote.

    Raises:
        InputError: a key is missing or unknown.
    """
    try:
        stages = tuple(record_from_json(stage, where) for stage in value["stages"])
        return LedgerEntry(**{**value, "stages": stages})
    except (KeyError, TypeError) as error:
        raise InputError(f"{where}: is no ledger entry of auditkit's ({error}); run the study again") from None


def record_from_json(value: Mapping[str, Any], where: str = STAGE_FILE) -> StageRecord:
    """Return the stage record that asdict made.

    Raises:
        InputError: a key is missing or unknown.
    """
    try:
        lists = {f.name: tuple(value[f.name]) for f in fields(StageRecord) if f.name in ("trainable_names", "losses")}
        return StageRecord(**{**value, **lists})
    except (KeyError, TypeError) as error:
        raise InputError(f"{where}: is no stage record of auditkit's ({error}); train the stage again") from None


def write_stage(folder: Path, record: StageRecord) -> None:
    """Write stage.json into a stage's folder."""
    write_json(folder / STAGE_FILE, asdict(record))


def finished_stage(out: Path) -> StageRecord | None:
    """Return the record of a finished stage in `out`, None where there is none.

    Raises:
        InputError: its record is broken.
    """
    return None if not (out / STAGE_FILE).is_file() else record_from_json(_read(out / STAGE_FILE), str(out))


def read_entry(folder: Path) -> LedgerEntry:
    """Return the ledger entry of an arm's folder.

    Raises:
        InputError: it is missing or broken.
    """
    return entry_from_json(_read(folder / LEDGER_FILE), str(folder / LEDGER_FILE))


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); train the arm again") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: holds no JSON object; train the arm again")
    return value
