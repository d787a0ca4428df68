"""Cross-encoders from folders: scores, what is cut, what is refused, and another process."""

from __future__ import annotations

import hashlib
import importlib.util
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_cross

from auditkit.errors import InputError, MissingExtraError, UsageError
from auditkit.text.cross_encode import load_cross_encoder

PAIR = ("how do i bake bread", "the cat")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    yield
    load_cross_encoder.cache_clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return tiny_cross.save(tmp_path_factory.mktemp("cross"))


@pytest.mark.embed
def test_a_score_is_the_mean_of_both_orders_through_the_logistic(folder: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        logits = [model(**tokenizer(a, b, return_tensors="pt")).logits.item() for a, b in (PAIR, PAIR[::-1])]
    expected = np.mean([1 / (1 + np.exp(-logit)) for logit in logits])
    assert abs(logits[0] - logits[1]) > 0.01
    found = load_cross_encoder(str(folder)).score([PAIR, PAIR[::-1]])
    assert found.scores == pytest.approx([expected, expected], abs=6e-5)
    assert found.scores.tolist() == found.scores.round(4).tolist()
    assert found.are_cut.tolist() == [False, False]


@pytest.mark.embed
def test_the_batch_and_the_order_change_no_score(folder: Path) -> None:
    encoder = load_cross_encoder(str(folder))
    pairs = [(" ".join(tiny_cross.WORDS[5 : 5 + n]), PAIR[1]) for n in range(1, 9)] * 5
    together = encoder.score(pairs).scores
    assert together.tolist() == encoder.score(pairs[::-1]).scores.tolist()[::-1]
    assert together[:8].tolist() == [encoder.score([pair]).scores[0] for pair in pairs[:8]]


@pytest.mark.embed
@pytest.mark.parametrize(("n_words", "is_cut"), [(11, False), (12, True), (40, True)])
def test_pairs_of_more_tokens_than_the_model_reads_are_marked(folder: Path, n_words: int, is_cut: bool) -> None:
    # Of 16 tokens three are special: [CLS] row [SEP] item [SEP], and the item has two.
    found = load_cross_encoder(str(folder)).score([("cat " * n_words, "the dog")])
    assert found.are_cut.tolist() == [is_cut]
    assert 0 <= found.scores[0] <= 1


@pytest.mark.embed
def test_no_pairs_have_no_scores(folder: Path) -> None:
    found = load_cross_encoder(str(folder)).score([])
    assert (found.scores.shape, found.are_cut.shape) == ((0,), (0,))


@pytest.mark.embed
def test_it_says_what_it_is(folder: Path) -> None:
    weights = (folder / "model.safetensors").read_bytes()
    assert load_cross_encoder(str(folder)).describe() == {
        "name": str(folder),
        "source": str(folder),
        "digest": f"sha256:{hashlib.sha256(weights).hexdigest()}",
        "max_tokens": tiny_cross.MAX_TOKENS,
    }


@pytest.mark.embed
def test_it_pickles_without_its_model_and_another_is_refused(folder: Path) -> None:
    encoder = load_cross_encoder(str(folder))
    sent = pickle.dumps(encoder)
    assert len(sent) < 1000
    again = pickle.loads(sent)
    assert again.score([PAIR]).scores.tolist() == encoder.score([PAIR]).scores.tolist()
    assert (again.describe(), again.fingerprint) == (encoder.describe(), encoder.fingerprint)
    with pytest.raises(InputError, match=r"cross-encoder '.*' is not the same on all machines: its digest here is sha"):
        replace(again, fingerprint="another").score([PAIR])


@pytest.mark.embed
def test_a_model_of_classes_is_refused(tmp_path: Path) -> None:
    tiny_cross.save(tmp_path, n_labels=3)
    with pytest.raises(UsageError, match="gives 3 scores a pair, expected one; name a model of similarity"):
        load_cross_encoder(str(tmp_path))


@pytest.mark.embed
def test_a_folder_without_safetensors_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(UsageError, match=r"cross-encoder folder .* holds no \*\.safetensors"):
        load_cross_encoder(str(tmp_path))


@pytest.mark.embed
def test_an_unknown_name_without_a_network_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"cross-encoder 'no-such/model' cannot be loaded: .*; give a folder") as found:
        load_cross_encoder("no-such/model")
    assert "\n" not in str(found.value)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda wanted, *a: None if wanted == "torch" else find(wanted, *a))
    with pytest.raises(MissingExtraError, match="the cross-encoder 'any/model' needs the extra 'embed'"):
        load_cross_encoder("any/model")
