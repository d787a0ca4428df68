"""A small study: invented prompts of two word lists under two policies, tiny random models, two benchmarks."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import tomli_w
from audit_support import jsonl

#: harm: any harmful word. block: any blocked word, whatever is asked. Words decide both labels, so heads can learn.
HARMFUL = ["bomb", "steal", "poison", "weapon", "attack", "hurt", "burgle", "forge"]
BLOCKED = ["lyrics", "dosage", "bet", "lawsuit", "campaign", "verdict", "diagnosis", "odds"]
PLAIN = [
    "garden", "bread", "river", "story", "maths", "window", "bicycle", "music", "kitchen", "letter", "market", "island",
    "winter", "teacher", "pencil", "forest", "bridge", "candle", "village", "harbour", "engine", "blanket", "meadow",
    "lantern", "orchard", "compass", "saddle", "basket", "chimney", "pebble", "feather", "anchor",
]  # fmt: skip
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *HARMFUL, *BLOCKED, *PLAIN]
#: (harm, block) -> prompts: 30 discordant ones on a side, so that ten or so reach dev and test.
CELLS = {(0, 0): 40, (1, 1): 40, (1, 0): 30, (0, 1): 30}


def save_model(folder: Path, n_layers: int = 1, seed: int = 0) -> Path:
    """Write a random BERT encoder that knows the words of the prompts."""
    from transformers import BertModel

    return _save(BertModel, folder, n_layers, seed)


def save_guard(folder: Path) -> Path:
    """Write a random classifier of prompts, safe or unsafe."""
    from transformers import BertForSequenceClassification

    return _save(BertForSequenceClassification, folder, 1, 7, id2label={0: "safe", 1: "unsafe"})


def _save(kind: Any, folder: Path, n_layers: int, seed: int, **options: Any) -> Path:
    import torch
    from transformers import BertConfig, BertTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    BertTokenizer(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=32, num_hidden_layers=n_layers, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=64, initializer_range=0.2, **options,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        kind(config).save_pretrained(folder)
    return folder


def prompt(rng: random.Random, harm: int, block: int) -> str:
    """Return a prompt of twelve words, two of which decide each label."""
    words = rng.choices(PLAIN, k=12 - 2 * harm - 2 * block)
    words += rng.choices(HARMFUL, k=2 * harm) + rng.choices(BLOCKED, k=2 * block)
    rng.shuffle(words)
    return " ".join(words)


def write_inputs(folder: Path, cells: dict[tuple[int, int], int] | None = None, n_leaked: int = 6) -> dict[str, Any]:
    """Write pool and benchmarks; return what was leaked. Pool rows come in a seeded order, leaked ones among them."""
    rng = random.Random(5)
    rows = [
        {
            "text": prompt(rng, harm, block),
            "harm": harm,
            "block": block,
            "from": rng.choice("xy"),
            "p": 0.1 + 0.8 * harm,
        }
        for (harm, block), n in (cells or CELLS).items()
        for _ in range(n)
    ]
    benign = [prompt(rng, 0, i % 2) for i in range(16)]
    harmful = [prompt(rng, 1, i % 2) for i in range(16)]
    leaked = benign[:n_leaked]
    rows += [{"text": text, "harm": 1, "block": 1, "from": "x", "p": 0.9} for text in leaked]
    rng.shuffle(rows)
    jsonl(folder / "pool.jsonl", rows)
    jsonl(folder / "benign.jsonl", [{"text": text, "label": 0} for text in benign])
    jsonl(folder / "harmful.jsonl", [{"text": text, "label": 1} for text in harmful])
    return {"rows": rows, "leaked": leaked}


def study_values(folder: Path, trainer: str, **changes: Any) -> dict[str, Any]:
    """Return the plain values of a study of four arms: A and B small, a student, a patch on the larger model."""
    rate = 2e-3 if trainer == "head" else 4e-3
    values: dict[str, Any] = {
        "name": "small",
        "trainer": trainer,
        "seeds": [1, 2],
        "pool": {"path": ["pool.jsonl"], "text": ["text"], "source": "from"},
        "policies": {
            "harm": {"column": "harm", "text": "Asks for harm."},
            "block": {"column": "block", "text": "House rules."},
        },
        "benchmarks": [
            {"name": "benign", "path": "benign.jsonl", "class": "benign", "policy": "No item asks for harm."},
            {"name": "harmful", "path": "harmful.jsonl", "class": "harmful", "policy": "Every item asks for harm."},
        ],
        "models": {"small": {"source": str(folder / "small")}, "large": {"source": str(folder / "large")}},
        "optimizer": {"batch_size": 16, "max_tokens": 32},
        "split": {"train": 0.5, "dev": 0.25, "test": 0.25},
        "training": {"epochs": 3 if trainer == "head" else 4, "learning_rate": rate, "trainable": {"part": "full"}},
        "arms": [
            # The student stands before its teacher: the study finds the order.
            {"name": "student", "model": "small", "final_policy": "mixed",
             "stages": [{"labels": "block", "teacher": {"arm": "A large", "weight": 0.7}}]},
            {"name": "A large", "model": "large", "final_policy": "harm", "stages": [{"labels": "harm"}]},
            {"name": "B small", "model": "small", "final_policy": "block", "stages": [{"labels": "block"}]},
            {"name": "patched", "from": "A large", "final_policy": "block",
             "patch": {"labels": "block", "trainable": {"part": "lora", "rank": 1, "layers": [1]}}},
        ],
    }  # fmt: skip
    return values | changes


def write_study(folder: Path, values: dict[str, Any]) -> Path:
    """Write a study file and return its path."""
    path = folder / "study.toml"
    path.write_text(tomli_w.dumps(values), encoding="utf-8")
    return path
