"""A sentence-transformers folder with a tiny random model: nothing is downloaded."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "how", "do", "i", "bake", "bread", "cat", "dog", "the", "a"]


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder saved by sentence-transformers: one layer of BERT, 16 wide, at most 12 tokens."""
    torch = pytest.importorskip("torch")
    from sentence_transformers import SentenceTransformer

    with warnings.catch_warnings():
        # The name that versions before 6 have; later ones still have it.
        warnings.simplefilter("ignore", DeprecationWarning)
        from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    base, folder = tmp_path_factory.mktemp("bert"), tmp_path_factory.mktemp("encoder")
    (base / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    torch.manual_seed(7)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=16, **sizes)).save_pretrained(base)
    BertTokenizerFast(str(base / "vocab.txt")).save_pretrained(base)
    layers = Transformer(str(base), max_seq_length=12)
    SentenceTransformer(modules=[layers, Pooling(16)], device="cpu").save(str(folder))
    return folder
