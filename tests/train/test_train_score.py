"""Scores: whatever the batch size, the order or the padding; hostile prompts; labels that do not tell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from train_support import make_prompts, save_bert

from auditkit.errors import UsageError
from auditkit.train.models import Checkpoint
from auditkit.train.score import flagged_probability, score, token_counts, truncated_by_band


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [*make_prompts(60, seed=3)[0], "", "bomb", "zzz unknown words", " ".join(["cake"] * 50)]


def test_scores_do_not_depend_on_batch_size_or_order(base: Checkpoint, texts: list[str]) -> None:
    whole = score(base.folder, texts, max_tokens=32, batch_size=64)
    one = score(base.folder, texts, max_tokens=32, batch_size=1)
    order = np.random.default_rng(0).permutation(len(texts))
    mixed = score(base.folder, [texts[i] for i in order], max_tokens=32, batch_size=7)
    assert np.abs(whole.probabilities - one.probabilities).max() < 1e-6
    assert np.abs(whole.probabilities[order] - mixed.probabilities).max() < 1e-6
    assert whole.logits.shape == (64, 2)
    assert whole.logits.dtype == whole.probabilities.dtype == np.float64


def test_scores_do_not_depend_on_padding(base: Checkpoint) -> None:
    alone = score(base.folder, ["bomb cake"], max_tokens=64)
    padded = score(base.folder, ["bomb cake", " ".join(["cake"] * 60)], max_tokens=64)
    assert alone.probabilities[0] == pytest.approx(padded.probabilities[0], abs=1e-6)


def test_scores_are_those_of_plain_transformers(base: Checkpoint, texts: list[str]) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(base.folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(base.folder)
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=32, return_tensors="pt")
    with torch.inference_mode():
        expected = torch.softmax(model(**inputs).logits, dim=-1)[:, 1].numpy()
    assert score(base.folder, texts, max_tokens=32).probabilities == pytest.approx(expected, abs=1e-5)


def test_cut_prompts_are_counted_also_by_length(base: Checkpoint, texts: list[str]) -> None:
    assert score(base.folder, texts, max_tokens=32).n_truncated == 1
    counts = token_counts(base.folder, ["", "bomb", " ".join(["cake"] * 50), " ".join(["cake"] * 200)])
    assert counts.tolist() == [2, 3, 52, 202]
    assert truncated_by_band(counts, 64) == {"1-32": (2, 0), "33-64": (1, 0), "129-256": (1, 1)}


def test_a_special_token_written_in_a_prompt_is_plain_text(base: Checkpoint) -> None:
    plain = token_counts(base.folder, ["bomb [SEP] cake"])
    assert plain.tolist() == [7]


def test_no_texts_give_no_scores(base: Checkpoint) -> None:
    found = score(base.folder, [], max_tokens=16)
    assert found.logits.shape == (0, 2)
    assert len(found.probabilities) == found.n_truncated == 0


def test_probabilities_are_exact_and_do_not_overflow() -> None:
    logits = np.array([[0.0, 0.0], [0.0, np.log(3.0)], [1000.0, -1000.0], [-1000.0, 1000.0]])
    assert flagged_probability(logits).tolist() == pytest.approx([0.5, 0.75, 0.0, 1.0])


def test_reversed_labels_are_read_by_name(tmp_path: Path) -> None:
    ours = save_bert(tmp_path / "ours", labels={0: "safe", 1: "unsafe"}, seed=4)
    theirs = save_bert(tmp_path / "theirs", labels={0: "UNSAFE", 1: "SAFE"}, seed=4)
    first, second = (score(folder, ["bomb", "cake"], max_tokens=16).probabilities for folder in (ours, theirs))
    assert first == pytest.approx(1 - second, abs=1e-12)


def test_more_labels_are_safe_against_the_rest(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = save_bert(tmp_path / "guard", labels={0: "hate", 1: "safe", 2: "toxic"}, seed=4)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    inputs = AutoTokenizer.from_pretrained(folder)("bomb", return_tensors="pt")
    with torch.inference_mode():
        expected = 1 - torch.softmax(model(**inputs).logits[0], dim=-1)[1].item()
    assert score(folder, ["bomb"], max_tokens=16).probabilities[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("labels", [{0: "cat", 1: "dog"}, {0: "a", 1: "b", 2: "c"}])
def test_labels_that_do_not_tell_are_one_line(tmp_path: Path, labels: dict[int, str]) -> None:
    folder = save_bert(tmp_path / "guard", labels=labels)
    with pytest.raises(UsageError, match="do not say which one means safe"):
        score(folder, ["bomb"], max_tokens=16)


def test_labels_that_are_not_exclusive_are_one_line(tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "guard", labels={0: "safe", 1: "toxic"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"problem_type": "multi_label_classification"}))
    with pytest.raises(UsageError, match="not two exclusive verdicts"):
        score(folder, ["bomb"], max_tokens=16)
