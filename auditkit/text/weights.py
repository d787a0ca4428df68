"""What a model is: digests of weights, layers and tokenizer, and the refusal of others."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditkit.errors import InputError, UsageError


@dataclass(frozen=True)
class Identity:
    """What a model is, whether or not it is in memory.

    Attributes:
        name: that the user gave ("minilm").
        source: where the weights came from.
        digest: of the weights, "sha256:...".
        fingerprint: digest of all that a result depends on: weights, layers, tokenizer.
        max_tokens: texts of more tokens are cut by the model, and counted.
    """

    name: str
    source: str
    digest: str
    fingerprint: str
    max_tokens: int

    def facts(self) -> tuple[str, str, str, str, int]:
        """Return the attributes in their order: what another process has to be told."""
        return self.name, self.source, self.digest, self.fingerprint, self.max_tokens

    def check_same(self, fingerprint: str, digest: str, kind: str) -> None:
        """Check that the model that this machine has under the name is this one; `kind` names it in errors.

        Raises:
            InputError: it is another.
        """
        if fingerprint != self.fingerprint:
            raise InputError(
                f"{kind} '{self.name}' is not the same on all machines: its digest here is {digest[:20]}, "
                f"expected {self.digest[:20]}; install the same versions and weights on each"
            )


def fingerprint(model: Any, digest: str, max_tokens: int) -> str:
    """Return a digest of weights, layers and tokenizer: equal weights are pooled in several ways."""
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    rules = tokenizer.to_str() if tokenizer is not None else repr(sorted(model.tokenizer.get_vocab().items()))
    return hashlib.sha256("\0".join((digest, str(max_tokens), repr(model), rules)).encode()).hexdigest()


def tensors_digest(model: Any) -> str:
    """Return the sha256 of a loaded model's tensors, by name: the same for equal weights wherever they came from."""
    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(key.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return f"tensors-sha256:{digest.hexdigest()}"


def folder_digest(folder: Path, kind: str) -> str:
    """Return the sha256 of a folder's safetensors; `kind` names the model in errors.

    Raises:
        UsageError: it has none.
    """
    weights = sorted(folder.rglob("*.safetensors"))
    if not weights:
        raise UsageError(f"{kind} folder {folder} holds no *.safetensors; save the model with safe serialization")
    digest = hashlib.sha256()
    for path in weights:
        digest.update(path.read_bytes())
    return f"sha256:{digest.hexdigest()}"


def check_digest(path: Path, expected: str, package: str) -> None:
    """Check the weights that a package ships.

    Raises:
        InputError: they are not the expected ones.
    """
    with path.open("rb") as handle:
        seen = hashlib.file_digest(handle, "sha256").hexdigest()
    if seen != expected:
        raise InputError(
            f"the weights in package {package} have sha256 {seen[:12]}..., expected {expected[:12]}...; reinstall the "
            "package, or name an encoder by its Hub name"
        )


def loaded(kind: str, source: str, what: str, expected: str, **options: Any) -> Any:
    """Return a model of sentence-transformers in memory, in float32: weights as safetensors, no code of its own.

    Args:
        kind: "SentenceTransformer" or "CrossEncoder".
        source: folder or Hub name.
        what, expected: how errors name it, and what they tell the user to give.
        options: further arguments of the class.

    Raises:
        UsageError: it cannot be loaded.
    """
    import sentence_transformers
    import torch
    from transformers.utils import logging

    # Its bar would draw over ours, and stand in the log of a job.
    logging.disable_progress_bar()
    try:
        return getattr(sentence_transformers, kind)(
            source,
            device="cuda" if torch.cuda.is_available() else "cpu",
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
            **options,
        ).float()
    except Exception as error:  # the Hub client and the loaders raise many kinds
        raise UsageError(
            f"{what} cannot be loaded: {first_line(error)}; give {expected}a folder saved by "
            "sentence-transformers, or a Hub name that is cached or can be reached (weights as safetensors)"
        ) from None


def first_line(error: Exception) -> str:
    """Return the first line of what a loader raised, at most 200 characters; the error's kind where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
