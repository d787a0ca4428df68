"""Scores of a classifier: P(flagged) of each text, whatever the batch size or the order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditkit.train.loading import (
    check_tokens,
    cut_rows,
    device,
    load_classifier,
    load_tokenizer,
    padded,
    require_training,
    seeded,
    token_rows,
    verdict_columns,
)


class Scores(NamedTuple):
    """Scores of texts, in their order.

    Attributes:
        probabilities: P(flagged), float64 [n]. logits: of not flagged and flagged, float64 [n, 2].
        n_truncated: texts cut at max_tokens (`token_counts` says which).
    """

    probabilities: NDArray[np.float64]
    logits: NDArray[np.float64]
    n_truncated: int


def score(
    checkpoint: Path | str, texts: Sequence[str], *, max_tokens: int, batch_size: int = 64, revision: str = ""
) -> Scores:
    """Return the scores of `texts` by a classifier: an arm's folder, any folder, or a Hub name.

    Texts are sorted by length and padded on the right in fp32, so batch size and order move a probability by less
    than 1e-6. A classifier of more than two labels is read as "not flagged" against the rest.

    Raises:
        MissingExtraError: the extra `train` is not installed.
        UsageError: the model cannot be loaded, its labels do not tell, or max_tokens is out of its range.
    """
    require_training("scoring with a model")
    source = str(checkpoint)
    model = load_classifier(source, revision).model
    tokenizer = load_tokenizer(source, revision)
    check_tokens(model, tokenizer, max_tokens, source)
    safe, flagged = verdict_columns(model.config, source)
    rows, is_cut = cut_rows(tokenizer, token_rows(tokenizer, texts), max_tokens)
    raw = _raw_logits(model, tokenizer, rows, batch_size)
    logits = np.stack([_log_sum(raw[:, safe]), _log_sum(raw[:, flagged])], axis=1)
    return Scores(flagged_probability(logits), logits, int(is_cut.sum()))


def token_counts(checkpoint: Path | str, texts: Sequence[str], revision: str = "") -> NDArray[np.int64]:
    """Return the number of tokens of each text, special ones included, uncut."""
    require_training("counting tokens")
    rows = token_rows(load_tokenizer(str(checkpoint), revision), texts)
    return np.array([len(row) for row in rows], np.int64)


def truncated_by_band(counts: NDArray[np.int64], max_tokens: int) -> dict[str, tuple[int, int]]:
    """Return length band in tokens -> (texts, texts cut at max_tokens); powers of two, empty ones left out."""
    edges = [0, *(2**power for power in range(5, 14)), np.iinfo(np.int64).max]
    bands = {}
    for low, high in itertools.pairwise(edges):
        inside = counts[(counts > low) & (counts <= high)]
        if len(inside):
            name = f"{low + 1}-{high}" if high < 2**20 else f"over {low}"
            bands[name] = (len(inside), int((inside > max_tokens).sum()))
    return bands


def flagged_probability(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return softmax(logits)[:, 1] in float64, without overflow."""
    gap = logits[:, 1] - logits[:, 0]
    small = np.exp(-np.abs(gap))
    return np.where(gap >= 0, 1.0, small) / (1.0 + small)


def length_batches(rows: Sequence[Sequence[int]], batch_size: int) -> list[NDArray[np.int64]]:
    """Return batches of row indices, longest first, so that memory runs out at once or not at all."""
    order = np.argsort([-len(row) for row in rows], kind="stable")
    return [order[i : i + batch_size] for i in range(0, len(order), batch_size)]


def _raw_logits(model: Any, tokenizer: Any, rows: list[list[int]], batch_size: int) -> NDArray[np.float64]:
    import torch

    out = np.zeros((len(rows), int(model.config.num_labels)), np.float64)
    where = device()
    model = model.to(where)
    with seeded(0), torch.inference_mode():
        for batch in length_batches(rows, batch_size):
            out[batch] = model(**padded(tokenizer, [rows[i] for i in batch], where)).logits.cpu().numpy()
    return out


def _log_sum(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    if logits.shape[1] == 1:
        return logits[:, 0]
    top = logits.max(axis=1)
    result: NDArray[np.float64] = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    return result
