"""Checkpoint folders: written beside and renamed, digested by tensor, so equal weights have equal digests."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from auditkit.errors import InputError, OutputError
from auditkit.formats.streams import writing

#: What a tokenizer may consist of; copied from stage to stage byte for byte.
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "chat_template.jinja",
)
#: What these keys of config.json say changes no logit.
_IDLE_KEYS = ("transformers_version", "_name_or_path", "architectures", "dtype", "torch_dtype", "use_cache")


@contextmanager
def fresh_folder(out: Path) -> Iterator[Path]:
    """Yield an empty folder beside `out` that becomes `out` when the block ends well, and is removed when it does not.

    Raises:
        OutputError: `out` exists already, or cannot be written (no space left, no permission).
    """
    if out.exists():
        raise OutputError(f"{out}: exists already; name a new folder, or remove this one")
    spare = out.with_name(f".{out.name}.auditkit-part")
    try:
        with writing(out), _safetensors_errors(out):
            # What a killed run left is of no use: a half-finished stage is trained anew from its start.
            shutil.rmtree(spare, ignore_errors=True)
            spare.mkdir(parents=True)
            yield spare
            spare.replace(out)
    finally:
        shutil.rmtree(spare, ignore_errors=True)


@contextmanager
def _safetensors_errors(out: Path) -> Iterator[None]:
    """Turn safetensors' own error (it wraps the system's, no space left for one) into an OutputError."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "SafetensorError":
            raise
        reason = str(error).splitlines()[0][:200]
        raise OutputError(f"{out}: cannot be written ({reason}); free space or choose another output folder") from None


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copy the tokenizer's files, unchanged."""
    for name in TOKENIZER_FILES:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)


def tensors(folder: Path) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield name and values of every tensor in the folder's *.safetensors, by name; bf16 is widened to float32.

    Raises:
        InputError: no safetensors file, or one that is broken.
    """
    from safetensors import SafetensorError, safe_open

    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise InputError(f"{folder}: holds no *.safetensors; give a model saved as safetensors")
    try:
        where = {}
        for path in files:
            with safe_open(path, framework="pt") as handle:
                where.update(dict.fromkeys(handle.keys(), path))
        for name in sorted(where):
            with safe_open(where[name], framework="pt") as handle:
                tensor = handle.get_tensor(name)
                yield name, (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    except (SafetensorError, OSError) as error:
        raise InputError(f"{folder}: its weights cannot be read ({str(error).splitlines()[0][:200]})") from None


def model_digest(folder: Path) -> str:
    """Return "sha256:..." of a model folder: its tensors by name, its tokenizer, and what of its config decides logits.

    Raises:
        InputError: no config.json, or no readable safetensors.
    """
    digest = hashlib.sha256(_config_bytes(folder))
    for name in TOKENIZER_FILES:
        if (folder / name).is_file():
            digest.update(name.encode() + b"\0" + hashlib.sha256((folder / name).read_bytes()).digest())
    _update(digest, folder, lambda name: True)
    return f"sha256:{digest.hexdigest()}"


def encoder_digest(folder: Path, head_names: frozenset[str]) -> str:
    """Return "sha256:..." of a model folder's encoder and tokenizer: equal for models that differ in the head only."""
    digest = hashlib.sha256()
    for name in TOKENIZER_FILES:
        if (folder / name).is_file():
            digest.update(name.encode() + b"\0" + hashlib.sha256((folder / name).read_bytes()).digest())
    _update(digest, folder, lambda name: name not in head_names)
    return f"sha256:{digest.hexdigest()}"


def _update(digest: Any, folder: Path, wanted: Any) -> None:
    for name, values in tensors(folder):
        if wanted(name):
            digest.update(f"{name}|{values.dtype}|{values.shape}|".encode())
            digest.update(np.ascontiguousarray(values).tobytes())


def _config_bytes(folder: Path) -> bytes:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); give a folder saved by transformers") from None
    return json.dumps({key: config[key] for key in sorted(config) if key not in _IDLE_KEYS}, sort_keys=True).encode()


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON with sorted keys, beside and renamed."""
    spare = path.with_name(f".{path.name}.auditkit-part")
    with writing(path):
        spare.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        spare.replace(path)
