"""Models and tokenizers read with transformers: safetensors only, no remote code, fp32, one clear line on failure."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import MissingExtraError, UsageError

#: Names of labels that mean "not flagged" and "flagged", lower case.
SAFE_NAMES = frozenset({"safe", "benign", "not flagged", "harmless", "ok", "neutral", "non-toxic", "legit", "normal"})
FLAGGED_NAMES = frozenset(
    {"flagged", "unsafe", "harmful", "toxic", "jailbreak", "injection", "malicious", "hate", "offensive", "blocked"}
)


def require_training(what: str) -> None:
    """Raise MissingExtraError unless torch, transformers and peft are installed; imports none of them."""
    # Read when torch is first imported: its threads then sleep at barriers instead of spinning. Where other work
    # shared two cores, training went from 8 to 39 rows a second by it.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers", "peft", "safetensors")):
        raise MissingExtraError(what, "train")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' bars, reports and notes to developers: what users need stands in our records."""
    import warnings

    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Run a block with torch's generators set to `seed` and deterministic kernels; both are put back afterwards."""
    import torch
    import torch.utils.deterministic as deterministic

    # cuBLAS repeats itself only with a fixed workspace, which it reads when it is first used.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    was, filled = torch.are_deterministic_algorithms_enabled(), deterministic.fill_uninitialized_memory
    devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True, warn_only=True)
        # Filling fresh memory only guards against kernels that read it unset, and costs a tenth of the time.
        deterministic.fill_uninitialized_memory = False
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(was)
            deterministic.fill_uninitialized_memory = filled


def device() -> str:
    """Return "cuda" where there is a GPU, else "cpu"."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Loaded:
    """A classifier and what the load left open: names of tensors that the source lacks or has in another shape."""

    model: Any
    fresh_names: tuple[str, ...]


def load_classifier(source: str, revision: str = "", *, new_labels: int = 0) -> Loaded:
    """Return a sequence classifier in fp32, on the CPU, in eval mode.

    Args:
        new_labels: give it this many labels, with a new head where its own has another number; 0 keeps its own.

    Raises:
        UsageError: it cannot be loaded: unknown name, no network, no safetensors, or code of its own.
    """
    from transformers import AutoModelForSequenceClassification

    options: dict[str, Any] = {"num_labels": new_labels, "ignore_mismatched_sizes": True} if new_labels else {}
    with quiet(), one_line(source):
        model, info = AutoModelForSequenceClassification.from_pretrained(
            source,
            revision=revision or None,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            **options,
        )
    mismatched = [key if isinstance(key, str) else key[0] for key in info["mismatched_keys"]]
    return Loaded(model.float().eval(), tuple(sorted({*info["missing_keys"], *mismatched})))


def load_tokenizer(source: str, revision: str = "") -> Any:
    """Return the tokenizer of a model; one that has no padding token pads with its end-of-text token.

    Raises:
        UsageError: it cannot be loaded, or has neither token.
    """
    from transformers import AutoTokenizer

    with quiet(), one_line(source):
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision or None, trust_remote_code=False)
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise UsageError(f"model '{source}': its tokenizer has neither a padding nor an end token; give it one")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


@contextmanager
def one_line(source: str) -> Iterator[None]:
    """Turn what the Hub client and the loaders raise (many kinds) into one UsageError."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(
            f"model '{source}' cannot be loaded: {text[:240]}; give 'minilm', 'minilm-3', a folder saved by "
            "transformers, or a Hub name that is cached or can be reached (weights as safetensors, no code of its own)"
        ) from None


def refuse_revision(folder: str, revision: str) -> None:
    """Raise UsageError where a revision is asked of a folder, which has none."""
    if revision:
        raise UsageError(f"model '{folder}' is a folder and has no revision '{revision}'; leave the revision out")


def token_limit(model: Any, tokenizer: Any) -> int:
    """Return the largest number of tokens that the model reads; 10^9 where it states none."""
    stated = [getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length]
    return min((int(n) for n in stated if n and 0 < n < 10**9), default=10**9)


def check_tokens(model: Any, tokenizer: Any, max_tokens: int, source: str) -> None:
    """Raise UsageError unless the model reads `max_tokens` tokens."""
    limit = token_limit(model, tokenizer)
    if not 3 <= max_tokens <= limit:
        raise UsageError(f"max_tokens is {max_tokens}, and model '{source}' reads 3 to {limit}; set it in that range")


def token_rows(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Return the token ids of each text, uncut. A special token written out in a text is read as plain characters."""
    if not texts:
        return []
    # Prompts are hostile: "[SEP]" or "<|eot_id|>" in one must not become the token of that name.
    rows = tokenizer(list(texts), truncation=False, padding=False, split_special_tokens=True, verbose=False)
    return [list(row) or [tokenizer.pad_token_id] for row in rows["input_ids"]]


def cut_rows(tokenizer: Any, rows: list[list[int]], max_tokens: int) -> tuple[list[list[int]], NDArray[np.bool_]]:
    """Return rows of at most `max_tokens` ids, cut before the closing special tokens, and which ones were cut."""
    is_cut = np.array([len(row) > max_tokens for row in rows], np.bool_)
    n_closing = _n_closing(tokenizer)
    cut = [
        row[: max_tokens - n_closing] + row[len(row) - n_closing :] if long else row
        for row, long in zip(rows, is_cut, strict=True)
    ]
    return cut, is_cut


def _n_closing(tokenizer: Any) -> int:
    """Return how many special tokens the tokenizer sets after a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    for start in range(len(full) - len(bare) + 1):
        if full[start : start + len(bare)] == bare:
            return len(full) - start - len(bare)
    return 0


def padded(tokenizer: Any, rows: Sequence[list[int]], where: str) -> dict[str, Any]:
    """Return input ids and attention mask of a batch as tensors on device `where`, padded to its longest row."""
    import torch

    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), tokenizer.pad_token_id, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
    return {"input_ids": ids.to(where), "attention_mask": mask.to(where)}


def verdict_columns(config: Any, source: str) -> tuple[list[int], list[int]]:
    """Return the label indices that mean "not flagged" and "flagged".

    LABEL_0 and LABEL_1 are read as not flagged and flagged. With more than two labels exactly one must be a known
    name for "not flagged"; all others then mean flagged.

    Raises:
        UsageError: the labels are not exclusive, or their names do not tell.
    """
    names = {int(i): str(name).strip().lower() for i, name in (config.id2label or {}).items()}
    known = f"{sorted(names.values())[:6]}"
    if getattr(config, "problem_type", None) == "multi_label_classification" or len(names) < 2:
        raise UsageError(
            f"model '{source}': its labels {known} are not two exclusive verdicts; score the prompts with it yourself "
            "and name the column of probabilities"
        )
    if names == {0: "label_0", 1: "label_1"}:
        return [0], [1]
    safe = [i for i in sorted(names) if names[i] in SAFE_NAMES]
    flagged = [i for i in sorted(names) if names[i] in FLAGGED_NAMES]
    if len(safe) != 1 and len(names) == 2 and len(flagged) == 1:
        safe = [i for i in names if i not in flagged]
    if len(safe) != 1:
        raise UsageError(
            f"model '{source}': its labels {known} do not say which one means safe; rename them 'safe' and 'flagged' "
            "in its config.json"
        )
    return safe, [i for i in sorted(names) if i not in safe]
