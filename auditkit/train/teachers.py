"""Soft labels of a teacher: another arm, a guard from a folder or the Hub, or a column of probabilities.

What a teacher says is passed to `train_stage` as it is; hardening and shuffling are the stage's (`labels.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import InputError, LabelError
from auditkit.train.features import Features
from auditkit.train.folders import model_digest
from auditkit.train.generative import Template, score_generative
from auditkit.train.head import score_head
from auditkit.train.ledger import data_digest
from auditkit.train.loading import one_line, require_training
from auditkit.train.score import score


@dataclass(frozen=True)
class SoftLabels:
    """What a teacher says of each text.

    Attributes:
        values: logits of not flagged and flagged [n, 2], or probabilities of flagged [n]; NaN where unknown. float64.
        digest: of the teacher's weights, or of the column. `source` says where it is from.
        template_digest: of a generative guard's template, "" without one.
    """

    values: NDArray[np.float64]
    digest: str
    source: str
    n_truncated: int = 0
    template_digest: str = ""


def from_arm(folder: Path, texts: Sequence[str], *, max_tokens: int, features: Features | None = None) -> SoftLabels:
    """Return the logits of another arm's checkpoint: a fine-tuned one from texts, a head from `features` of them.

    Raises:
        InputError: no finished arm in `folder`.
    """
    if features is not None:
        found = score_head(folder, features)
    else:
        if not (folder / "config.json").is_file():
            raise InputError(f"{folder}: holds no trained arm; train the teacher before its students")
        found = score(folder, texts, max_tokens=max_tokens)
    return SoftLabels(found.logits, model_digest(folder), f"arm in {folder.name}", found.n_truncated)


def from_guard(
    model: str,
    texts: Sequence[str],
    *,
    max_tokens: int,
    revision: str = "",
    template: Template | None = None,
) -> SoftLabels:
    """Return the logits of a guard: a classifier, or a generative one by its verdict token.

    Raises:
        UsageError: it cannot be loaded, or its labels or verdicts do not tell.
    """
    require_training("a teacher model")
    folder = local_folder(model, revision)
    where = f"{model}@{revision or folder.name}" if not Path(model).is_dir() else model
    if template is not None or is_generative(folder):
        verdicts = score_generative(folder, texts, max_tokens=max_tokens, template=template)
        digest = model_digest(folder)
        return SoftLabels(verdicts.logits, digest, where, verdicts.n_truncated, verdicts.template_digest)
    found = score(folder, texts, max_tokens=max_tokens)
    return SoftLabels(found.logits, model_digest(folder), where, found.n_truncated)


def from_column(values: Sequence[float | None] | NDArray[Any], name: str) -> SoftLabels:
    """Return a column of probabilities of "flagged"; None and NaN are unknown.

    Raises:
        LabelError: a value that is no number from 0 to 1; row and value are named.
    """
    out = np.full(len(values), np.nan, np.float64)
    for row, value in enumerate(values):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        if isinstance(value, str | bytes | bool) or not 0 <= float(value) <= 1:
            raise LabelError(
                f"column '{name}', row {row}: {value!r} is no probability from 0 to 1; a teacher's column holds "
                "P(flagged), not logits, percents or labels as text"
            )
        out[row] = float(value)
    return SoftLabels(out, data_digest([], out), f"column {name}")


def local_folder(model: str, revision: str = "") -> Path:
    """Return the folder that a model lies in: itself, or the Hub's snapshot in the cache (fetched where needed).

    Raises:
        UsageError: neither a folder nor a name the Hub or its cache has.
    """
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import snapshot_download

    with one_line(model):
        wanted = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja"]
        return Path(snapshot_download(model, revision=revision or None, allow_patterns=wanted))


def is_generative(folder: Path) -> bool:
    """Return whether a model folder's config names a causal language model.

    Raises:
        InputError: no config.json that can be read.
    """
    path = folder / "config.json"
    try:
        names = json.loads(path.read_text(encoding="utf-8")).get("architectures") or []
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); give a folder saved by transformers") from None
    return any(str(name).endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")) for name in names)
