"""Soft labels of a teacher: another arm, a guard from a folder or the Hub, or a column of probabilities.

What a teacher says is passed to `train_stage` as it is; hardening and shuffling are the stage's (`labels.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import InputError, LabelError
from auditkit.train.cache import Facts, kept
from auditkit.train.features import Features
from auditkit.train.folders import model_digest
from auditkit.train.generative import Template, score_generative
from auditkit.train.head import score_head
from auditkit.train.labels import SoftLabels
from auditkit.train.ledger import data_digest, score_key
from auditkit.train.loading import one_line, refuse_revision, require_training
from auditkit.train.score import score


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
    return SoftLabels(found.logits, model_digest(folder), "", found.n_truncated)


def from_guard(
    model: str,
    texts: Sequence[str],
    *,
    max_tokens: int,
    revision: str = "",
    template: Template | None = None,
    cache: Path | None = None,
) -> SoftLabels:
    """Return the logits of a guard: a classifier, or a generative one by its verdict token.

    Args:
        revision: branch, tag or commit of a Hub guard; `source` of the result names the commit that it meant.
        template: what a generative guard reads around a text; its tokenizer's chat template where None.
        cache: folder in which logits are kept under the digests of guard and texts, and found again.

    Raises:
        UsageError: it cannot be loaded, or its labels or verdicts do not tell.
    """
    require_training("a teacher model")
    folder = local_folder(model, revision)
    digest = model_digest(folder)
    source = model if Path(model).is_dir() else f"{model}@{folder.name}"

    def make() -> tuple[NDArray[np.float64], Facts]:
        return _verdicts(folder, texts, max_tokens, template)

    if cache is None:
        logits, facts = make()
    else:
        guard = digest if template is None else f"{digest} {template.digest}"
        key = score_key(checkpoint_digest=guard, texts_digest=data_digest(texts), max_tokens=max_tokens)
        logits, facts = kept(cache / f"{key.split(':')[1][:32]}.safetensors", "logits", len(texts), make)
    return SoftLabels(logits, digest, source, int(facts["n_truncated"]), facts["template_digest"])


def _verdicts(
    folder: Path, texts: Sequence[str], max_tokens: int, template: Template | None
) -> tuple[NDArray[np.float64], Facts]:
    """Return a guard's logits, and beside them how many texts were cut and the digest of its template."""
    if template is None and not is_generative(folder):
        found = score(folder, texts, max_tokens=max_tokens)
        return found.logits, {"n_truncated": str(found.n_truncated), "template_digest": ""}
    said = score_generative(folder, texts, max_tokens=max_tokens, template=template)
    return said.logits, {"n_truncated": str(said.n_truncated), "template_digest": said.template_digest}


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
        UsageError: neither a folder nor a name the Hub or its cache has; a revision of a folder.
    """
    if Path(model).is_dir():
        refuse_revision(model, revision)
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
