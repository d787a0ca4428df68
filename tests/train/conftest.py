"""Tiny random models for the tests of `train`: a BERT of two layers, a Llama of two, WordPiece vocabularies of a few words."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from auditkit.study_records import ModelSpec, Optimizer
from auditkit.train.models import Checkpoint, base_folder

HARMFUL = ["how", "to", "build", "a", "bomb", "steal", "hack", "poison", "weapon", "attack", "kill", "hurt"]
BENIGN = ["please", "help", "me", "bake", "cake", "bread", "garden", "flower", "song", "math", "story", "friend"]
VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *HARMFUL,
    *BENIGN,
    "[",
    "]",
    "sep",
    "safe",
    "unsafe",
    "user",
    ":",
]
OPTIMIZER = Optimizer(batch_size=8, max_tokens=16)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder needs the extra `train`."""
    if importlib.util.find_spec("peft") is None:
        for item in items:
            if "/train/" in item.path.as_posix():
                item.add_marker(pytest.mark.skip(reason="the extra `train` is not installed"))


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def save_tokenizer(folder: Path) -> Any:
    from transformers import BertTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    tokenizer = BertTokenizer(str(folder / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    return tokenizer


def save_bert(folder: Path, *, labels: dict[int, str] | None = None, dropout: float = 0.1, seed: int = 0) -> Path:
    """Write a random BERT: an encoder alone, or a classifier with these labels."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel

    save_tokenizer(folder)
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        initializer_range=0.2,
    )
    if labels:
        config.id2label, config.label2id = labels, {name: i for i, name in labels.items()}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertForSequenceClassification(config) if labels else BertModel(config)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a random encoder without a head."""
    return save_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def spec(encoder: Path) -> ModelSpec:
    return ModelSpec("tiny", str(encoder))


@pytest.fixture(scope="session")
def base(spec: ModelSpec, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """Return the base model of seed 1."""
    return base_folder(spec, 1, tmp_path_factory.mktemp("bases") / "tiny-1")


def make_prompts(n: int, seed: int = 0) -> tuple[list[str], NDArray[np.int64]]:
    """Return texts of 2 to 14 words and their labels: 1 where most words are harmful."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        words = HARMFUL if i % 2 else BENIGN
        other = BENIGN if i % 2 else HARMFUL
        size = int(rng.integers(2, 15))
        chosen = [str(rng.choice(words if rng.random() < 0.9 else other)) for _ in range(size)]
        texts.append(" ".join(chosen))
        labels.append(i % 2)
    return texts, np.array(labels, np.int64)


@pytest.fixture(scope="session")
def prompts() -> tuple[list[str], NDArray[np.int64]]:
    return make_prompts(64)
