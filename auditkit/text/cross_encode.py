"""Pairs of texts -> how sure a cross-encoder is that both say the same. torch is imported only when one is made.

A cross-encoder reads both texts of a pair at once, so it sees what two vectors cannot, and costs one pass of the model
a pair (Reimers and Gurevych 2019, section 1). Any of sentence-transformers with one score a pair can be named; which
scores mean the same is the user's to know. Like encoders (text/encode.py) it is safe in threads, and pickles as its
name and digest.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import MissingExtraError, UsageError
from auditkit.text.encode import CPU_BATCH, GPU_BATCH, is_available
from auditkit.text.weights import Identity, fingerprint, folder_digest, loaded, tensors_digest

#: Tokens of a model that names no maximum.
USUAL_TOKENS = 512
#: Maxima from here on are a tokenizer's way of saying that it knows none.
NO_MAXIMUM = 1 << 20

_LOADING = threading.Lock()

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class PairScores:
    """What a cross-encoder says of n pairs.

    Attributes:
        scores: in [0, 1], float64 [n].
        are_cut: whether a pair has more tokens than the model reads, bool [n].
    """

    scores: NDArray[np.float64]
    are_cut: NDArray[np.bool_]


class CrossEncoder(Protocol):
    """A way of scoring pairs; what it is says Identity."""

    @property
    def digest(self) -> str:
        """Digest of the weights."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of all that a score depends on."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return name, source, digest and max_tokens."""
        ...

    def score(self, pairs: Pairs) -> PairScores:
        """Return the scores of pairs."""
        ...


@dataclass(frozen=True)
class _Described(Identity):
    def describe(self) -> dict[str, Any]:
        """Return name, source, digest and max_tokens."""
        return {"name": self.name, "source": self.source, "digest": self.digest, "max_tokens": self.max_tokens}


@dataclass(frozen=True)
class NamedCrossEncoder(_Described):
    """What a cross-encoder is in another process: its name, and what must be found there under that name."""

    def score(self, pairs: Pairs) -> PairScores:
        """Return the scores of pairs.

        Raises:
            InputError: this machine has another model under that name.
        """
        with _LOADING:
            found = load_cross_encoder(self.name)
        self.check_same(found.fingerprint, found.digest, "cross-encoder")
        return found.score(pairs)


@dataclass(frozen=True)
class LoadedCrossEncoder(_Described):
    """A model of sentence-transformers in memory, in fp32, used by one thread at a time."""

    model: Any = field(repr=False)
    lock: Any = field(default_factory=threading.RLock, repr=False, compare=False)

    def score(self, pairs: Pairs) -> PairScores:
        """Return the scores of pairs: the mean over both orders, so that neither side is the query.

        The logit goes through the logistic function whatever the model's own last step is. Pairs are batched by length;
        scores are rounded to four decimals, as cosines are, since they differ by about 1e-7 with the batch.
        """
        from torch.nn import Sigmoid

        if not len(pairs):
            return PairScores(np.empty(0), np.empty(0, np.bool_))
        both = [*pairs, *((b, a) for a, b in pairs)]
        size = CPU_BATCH if self.model.device.type == "cpu" else GPU_BATCH
        with self.lock:
            found = self.model.predict(both, batch_size=size, activation_fn=Sigmoid(), show_progress_bar=False)
            are_cut = self._are_cut(pairs)
        scores = np.asarray(found, np.float64).reshape(2, len(pairs)).mean(axis=0).round(4)
        return PairScores(scores, are_cut)

    def _are_cut(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Return which pairs the model cuts. A token has at least one character, so short ones are not tokenised."""
        are_cut = np.zeros(len(pairs), np.bool_)
        long = [i for i, (a, b) in enumerate(pairs) if len(a) + len(b) > self.max_tokens - 4]
        if long:
            ids = self.model.tokenizer([pairs[i] for i in long], truncation=False, verbose=False)["input_ids"]
            are_cut[long] = [len(row) > self.max_tokens for row in ids]
        return are_cut

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedCrossEncoder, self.facts()


@functools.lru_cache(maxsize=2)
def load_cross_encoder(name: str) -> CrossEncoder:
    """Return the cross-encoder of that name, a folder or a Hub name; loaded once a process.

    Raises:
        MissingExtraError: the extra `embed` is not installed.
        UsageError: no such model in the cache, on disk, or on the Hub; or one of several scores a pair.
    """
    if not is_available():
        raise MissingExtraError(f"the cross-encoder '{name}'", "embed")
    digest = folder_digest(Path(name), "cross-encoder") if Path(name).is_dir() else ""
    model = loaded("CrossEncoder", name, f"cross-encoder '{name}'", "")
    n_scores = int(model.config.num_labels)
    if n_scores != 1:
        raise UsageError(
            f"cross-encoder '{name}' gives {n_scores} scores a pair, expected one; name a model of similarity, "
            "duplicates or relevance, not one of classes"
        )
    digest, max_tokens = digest or tensors_digest(model), _max_tokens(model)
    return LoadedCrossEncoder(name, name, digest, fingerprint(model, digest, max_tokens), max_tokens, model)


def _max_tokens(model: Any) -> int:
    """Return how many tokens of a pair the model reads, special ones included."""
    known = int(model.tokenizer.model_max_length)
    return known if known < NO_MAXIMUM else int(getattr(model.config, "max_position_embeddings", USUAL_TOKENS))
