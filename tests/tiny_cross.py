"""A cross-encoder of one layer with a tiny vocabulary, saved as a folder: nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "how", "do", "i", "bake", "bread", "cat", "dog", "the", "a"]
#: What the model reads of a pair, special tokens included.
MAX_TOKENS = 16


def save(folder: Path, *, logit: float | None = None, n_labels: int = 1) -> Path:
    """Return a folder with a cross-encoder; with `logit`, every pair has that one, else weights are random."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    torch.manual_seed(11)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(
        vocab_size=len(WORDS), max_position_embeddings=MAX_TOKENS, num_labels=n_labels, initializer_range=0.5, **sizes
    )
    model = BertForSequenceClassification(config)
    if logit is not None:
        with torch.no_grad():
            model.classifier.weight.zero_()
            model.classifier.bias.fill_(logit)
    model.save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=MAX_TOKENS).save_pretrained(folder)
    return folder
