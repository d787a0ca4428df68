"""Tiny random models with a WordPiece vocabulary of a few words, and prompts made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.study_records.settings import Optimizer, Stage
from auditkit.train.labels import SoftLabels
from auditkit.train.ledger import data_digest
from auditkit.train.record import StageRun

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


def stage_run(
    stage: Stage, hard: NDArray[np.int64] | None, out: Path, soft: NDArray[Any] | None = None, **changes: Any
) -> StageRun:
    """Return a run of a stage with the optimizer above and seed 1; soft labels are those of a column."""
    said = None
    if soft is not None:
        said = SoftLabels(np.asarray(soft, np.float64), data_digest([], np.asarray(soft)), "column p")
    options: dict[str, Any] = {"optimizer": OPTIMIZER, "seed": 1} | changes
    return StageRun(stage, hard, said, out=out, **options)


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
