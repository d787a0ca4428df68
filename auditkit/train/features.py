"""Frozen features of prompts, cached: the mean of an encoder's last hidden states, as sentence-transformers pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.train.cache import Facts, kept
from auditkit.train.folders import encoder_digest
from auditkit.train.ledger import data_digest, score_key
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
)
from auditkit.train.models import head_names
from auditkit.train.score import length_batches


@dataclass(frozen=True)
class Features:
    """Features of texts, in their order.

    Attributes:
        vectors: float32 [n, d]: unit vectors times sqrt(d), so that a coordinate's size is about 1.
        digest: of encoder, tokenizer, texts and max_tokens. encoder_digest: of encoder and tokenizer alone.
        n_encoder_parameters: parameters of the frozen encoder.
        max_tokens: texts were cut to this many tokens; n_truncated of them were longer.
    """

    vectors: NDArray[np.float32]
    digest: str
    encoder_digest: str
    n_encoder_parameters: int
    max_tokens: int
    n_truncated: int


def features(folder: Path, texts: Sequence[str], *, max_tokens: int, cache: Path, batch_size: int = 64) -> Features:
    """Return the features of `texts` by the encoder of a model folder, from `cache` where they were computed before.

    Models that differ in the head only share one cache entry, so seeds need no embedding of their own.

    Raises:
        MissingExtraError: the extra `train` is not installed.
        UsageError: the model cannot be loaded. OutputError: the cache cannot be written. InputError: it is broken.
    """
    require_training("the head trainer")
    model = load_classifier(str(folder)).model
    tokenizer = load_tokenizer(str(folder))
    check_tokens(model, tokenizer, max_tokens, str(folder))
    encoder = encoder_digest(folder, frozenset(head_names(model)))
    key = score_key(checkpoint_digest=encoder, texts_digest=data_digest(texts), max_tokens=max_tokens)
    count = sum(parameter.numel() for parameter in model.base_model.parameters())

    def make() -> tuple[NDArray[np.float32], Facts]:
        rows, is_cut = cut_rows(tokenizer, token_rows(tokenizer, texts), max_tokens)
        return _pooled(model, tokenizer, rows, batch_size), {"n_truncated": str(int(is_cut.sum()))}

    path = cache / f"{key.split(':')[1][:32]}.safetensors"
    vectors, facts = kept(path, "features", len(texts), make)
    return Features(vectors, key, encoder, count, max_tokens, int(facts["n_truncated"]))


def _pooled(model: Any, tokenizer: Any, rows: list[list[int]], batch_size: int) -> NDArray[np.float32]:
    import torch

    where = device()
    encoder = model.base_model.to(where)
    width = int(model.config.hidden_size)
    out = np.zeros((len(rows), width), np.float32)
    with seeded(0), torch.inference_mode():
        for batch in length_batches(rows, batch_size):
            inputs = padded(tokenizer, [rows[i] for i in batch], where)
            hidden = encoder(**inputs).last_hidden_state
            mask = inputs["attention_mask"].unsqueeze(-1).float()
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            unit = torch.nn.functional.normalize(mean, dim=1)
            out[batch] = (unit * width**0.5).cpu().numpy()
    return out
