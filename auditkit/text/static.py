"""A static model distilled from an encoder: one vector a token, a text being the weighted mean of its tokens.

Each token of the vocabulary is embedded alone, in four views (encode.SentenceEncoder.token_views); the views are
centred, scaled alike, and reduced together to their first principal components. Tokens are weighted by their rank in
the vocabulary: SIF (Arora, Liang and Ma 2017, algorithm 1) with Zipf's law for the frequencies, as model2vec does.
The table is made once a model, about half a minute on two cores, and kept in the user's cache folder.
"""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.bags import weighted_sums
from auditkit.text.encode import Encoder, NamedEncoder
from auditkit.text.vectors import PART, cache_folder

N_VIEWS = 4
WIDTH = 384
#: SIF's smoothing of token frequencies.
SMOOTHING = 1e-3
#: Larger vocabularies are not distilled: minutes to embed, and gigabytes of views.
MAX_VOCABULARY = 65_536


class TokenEncoder(Encoder, Protocol):
    """An encoder whose tokens can be looked at one by one."""

    @property
    def n_vocabulary(self) -> int:
        """Number of token ids."""
        ...

    def token_ids(self, texts: list[str]) -> list[list[int]]:
        """Return the token ids of each text, without special tokens, cut at the maximum length."""
        ...

    def token_views(self) -> NDArray[np.float32]:
        """Return float32 of shape [vocabulary, N_VIEWS * d]."""
        ...


@dataclass(frozen=True)
class Bags:
    """The tokens of some texts: text i has ids[offsets[i]:offsets[i + 1]]."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def loaded(encoder: Encoder) -> Encoder:
    """Return the encoder itself, where it is only named so far."""
    return encoder.loaded() if isinstance(encoder, NamedEncoder) else encoder


def as_token_encoder(encoder: Encoder) -> TokenEncoder | None:
    """Return the encoder if it can be distilled, else None."""
    found: Any = loaded(encoder)
    return found if getattr(found, "n_vocabulary", MAX_VOCABULARY + 1) <= MAX_VOCABULARY else None


def bags_of(encoder: TokenEncoder, texts: list[str]) -> Bags:
    """Return the tokens of texts."""
    ids = encoder.token_ids(texts)
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    flat = np.fromiter((token for text in ids for token in text), np.int32, int(lengths.sum()))
    return Bags(flat, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))


def rank_weights(n_vocabulary: int) -> NDArray[np.float32]:
    """Return SIF weights under Zipf's law: float32 of shape [n_vocabulary], rising with the rank."""
    share = 1 / np.arange(2, n_vocabulary + 2)
    return np.asarray(SMOOTHING / (SMOOTHING + share / share.sum()), np.float32)


def static_vectors(table: NDArray[np.float32], bags: Bags) -> NDArray[np.float32]:
    """Return one unit vector a text, float32 of shape [n, width]; zeros for a text without tokens."""
    return unit(weighted_sums(bags.ids, bags.offsets, rank_weights(len(table)), table))


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors divided by their lengths."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, np.float32(1e-9)))


def token_table(encoder: TokenEncoder) -> NDArray[np.float32]:
    """Return the static model, float32 of shape [vocabulary, at most WIDTH], from the cache if it was made before."""
    path = cache_folder("static", encoder).with_suffix(".npy")
    with contextlib.suppress(OSError, EOFError, ValueError):
        kept = np.load(path, allow_pickle=False)
        if kept.dtype == np.float32 and kept.ndim == 2 and len(kept) == encoder.n_vocabulary:
            return np.asarray(kept)
    table = _principal(encoder.token_views())
    # Without a cache it is made again the next time.
    with contextlib.suppress(OSError):
        _write(path, table)
    return table


def _principal(views: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the first principal components of the centred views, each scaled to a mean square length of one."""
    parts = np.split(views - views.mean(0), N_VIEWS, axis=1)
    scaled = np.concatenate([part / max(np.sqrt(np.square(part).sum(1).mean()), 1e-9) for part in parts], axis=1)
    _, directions = np.linalg.eigh(scaled.T @ scaled)
    return np.ascontiguousarray(scaled @ directions[:, ::-1][:, :WIDTH], np.float32)


def _write(path: Path, table: NDArray[np.float32]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{uuid.uuid4().hex}{PART}")
    try:
        with part.open("wb") as handle:
            np.save(handle, table, allow_pickle=False)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
