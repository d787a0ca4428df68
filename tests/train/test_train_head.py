"""The head trainer: cached features, heads by stages, and the same labels, loss and records as fine-tuning."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from train_support import OPTIMIZER, make_prompts, stage_run

from auditkit.errors import InputError, OutputError, UsageError
from auditkit.study_records.settings import ModelSpec, Stage, Teacher, Trainable
from auditkit.train.features import Features, features
from auditkit.train.head import HEAD_EPOCHS, HEAD_RATE, head_stage, read_head, score_head, train_head_stage
from auditkit.train.ledger import finished_stage
from auditkit.train.models import Checkpoint, base_folder

Prompts = tuple[list[str], NDArray[np.int64]]
STAGE = Stage("A", trainable=Trainable("head"), epochs=10, learning_rate=0.1)


@pytest.fixture(scope="module")
def found(base: Checkpoint, prompts: Prompts, tmp_path_factory: pytest.TempPathFactory) -> Features:
    return features(base.folder, prompts[0], max_tokens=16, cache=tmp_path_factory.mktemp("cache"))


def test_features_are_means_over_real_tokens(base: Checkpoint, prompts: Prompts, found: Features) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(base.folder).eval(), AutoTokenizer.from_pretrained(base.folder)
    for i in (0, 7, 20):
        with torch.inference_mode():
            hidden = model(**tokenizer(prompts[0][i], return_tensors="pt")).last_hidden_state[0].numpy()
        mean = hidden.mean(axis=0)
        assert found.vectors[i] == pytest.approx(mean / np.linalg.norm(mean) * 32**0.5, abs=1e-5)
    assert found.vectors.dtype == np.float32


def test_features_are_cached_and_shared_by_heads_of_other_seeds(
    base: Checkpoint, spec: ModelSpec, prompts: Prompts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = base_folder(spec, 2, tmp_path / "other")
    first = features(base.folder, prompts[0], max_tokens=16, cache=tmp_path / "cache")
    monkeypatch.setattr("auditkit.train.features._pooled", lambda *args: pytest.fail("embedded again"))
    again = features(other.folder, prompts[0], max_tokens=16, cache=tmp_path / "cache")
    assert again.digest == first.digest
    assert np.array_equal(again.vectors, first.vectors)
    assert (again.n_truncated, again.n_encoder_parameters) == (first.n_truncated, first.n_encoder_parameters)


def test_the_cache_key_covers_texts_and_tokens(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    one = features(base.folder, prompts[0][:4], max_tokens=16, cache=tmp_path)
    other = features(base.folder, prompts[0][1:5], max_tokens=16, cache=tmp_path)
    short = features(base.folder, prompts[0][:4], max_tokens=4, cache=tmp_path)
    assert len({one.digest, other.digest, short.digest}) == 3
    assert len(list(tmp_path.iterdir())) == 3
    assert short.n_truncated > one.n_truncated == 0


def test_a_broken_cache_is_one_line(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    features(base.folder, prompts[0][:4], max_tokens=16, cache=tmp_path)
    next(tmp_path.iterdir()).write_bytes(b"broken")
    with pytest.raises(InputError, match="cached features cannot be read"):
        features(base.folder, prompts[0][:4], max_tokens=16, cache=tmp_path)


def test_a_head_learns_and_its_share_is_that_of_the_whole_model(
    base: Checkpoint, found: Features, prompts: Prompts, tmp_path: Path
) -> None:
    record = train_head_stage(None, found, stage_run(STAGE, prompts[1], tmp_path / "a"))
    texts, labels = make_prompts(40, seed=5)
    new = features(base.folder, texts, max_tokens=16, cache=tmp_path / "cache")
    scores = score_head(tmp_path / "a", new)
    assert ((scores.probabilities >= 0.5) == labels).mean() > 0.9
    assert record.n_trainable == 2 * 32 + 2
    assert record.n_parameters == base.n_parameters
    assert record.trainable.startswith("head: 66 of ")
    assert record.n_steps == 80
    head = read_head(tmp_path / "a", found.encoder_digest)
    assert scores.logits == pytest.approx(new.vectors @ head.weight.T + head.bias, abs=1e-5)


def test_the_same_seed_gives_the_same_head(found: Features, prompts: Prompts, tmp_path: Path) -> None:
    records = [
        train_head_stage(None, found, stage_run(STAGE, prompts[1], tmp_path / name, seed=seed))
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert records[0].weights_digest == records[1].weights_digest != records[2].weights_digest
    assert (tmp_path / "a/head.safetensors").read_bytes() == (tmp_path / "b/head.safetensors").read_bytes()


def test_stages_continue_and_the_last_one_decides(found: Features, prompts: Prompts, tmp_path: Path) -> None:
    first = train_head_stage(None, found, stage_run(STAGE, prompts[1], tmp_path / "a"))
    second = train_head_stage(tmp_path / "a", found, stage_run(STAGE, 1 - prompts[1], tmp_path / "b"))
    assert second.start_digest == first.weights_digest
    flags = score_head(tmp_path / "b", found).probabilities >= 0.5
    assert (flags == (prompts[1] == 0)).mean() > 0.8


def test_a_patch_of_few_steps_stays_near_its_parent(found: Features, prompts: Prompts, tmp_path: Path) -> None:
    train_head_stage(None, found, stage_run(STAGE, prompts[1], tmp_path / "a"))
    patch = dataclasses.replace(STAGE, epochs=1.0, share=0.25, learning_rate=0.01)
    record = train_head_stage(tmp_path / "a", found, stage_run(patch, 1 - prompts[1], tmp_path / "p"))
    assert (record.n_rows, record.n_steps) == (16, 2)
    moved = score_head(tmp_path / "p", found).probabilities - score_head(tmp_path / "a", found).probabilities
    assert 0 < np.abs(moved).max() < 0.2


def test_soft_hardened_and_shuffled_labels_reach_the_head(found: Features, prompts: Prompts, tmp_path: Path) -> None:
    soft = np.random.default_rng(0).random(64)
    digests = set()
    for n, changes in enumerate(
        [{}, {"is_hardened": True}, {"is_shuffled": True}, {"weight": 0.1}, {"temperature": 5.0}]
    ):
        stage = dataclasses.replace(STAGE, teacher=Teacher(column="p", **changes))  # type: ignore[arg-type]
        record = train_head_stage(None, found, stage_run(stage, prompts[1], tmp_path / str(n), soft))
        digests.add(record.weights_digest)
    assert len(digests) == 5


def test_a_finished_head_is_reused_and_another_refused(found: Features, prompts: Prompts, tmp_path: Path) -> None:
    out = tmp_path / "a"
    first = train_head_stage(None, found, stage_run(STAGE, prompts[1], out))
    assert train_head_stage(None, found, stage_run(STAGE, prompts[1], out)) == first
    assert finished_stage(out) == first
    with pytest.raises(OutputError, match="its settings or data differ"):
        train_head_stage(None, found, stage_run(STAGE, prompts[1], out, seed=2))


def test_features_of_another_encoder_are_refused(found: Features, prompts: Prompts, tmp_path: Path) -> None:
    train_head_stage(None, found, stage_run(STAGE, prompts[1], tmp_path / "a"))
    other = dataclasses.replace(found, encoder_digest="sha256:" + "0" * 64)
    with pytest.raises(InputError, match="its head belongs to the encoder"):
        score_head(tmp_path / "a", other)
    with pytest.raises(InputError, match="holds no head"):
        score_head(tmp_path / "none", found)


def test_a_loss_that_is_no_number_leaves_nothing(found: Features, prompts: Prompts, tmp_path: Path) -> None:
    broken = dataclasses.replace(found, vectors=np.full_like(found.vectors, np.nan))
    with pytest.raises(UsageError, match="the loss is nan at step 1 of 80"):
        train_head_stage(None, broken, stage_run(STAGE, prompts[1], tmp_path / "a"))
    assert list(tmp_path.iterdir()) == []


def test_a_stage_for_fine_tuning_is_turned_into_one_for_a_head() -> None:
    stage = head_stage(Stage("A", trainable=Trainable("lora"), epochs=2, learning_rate=1e-3))
    assert stage.trainable.part == "head"
    assert (stage.epochs, stage.learning_rate) == (2 * HEAD_EPOCHS, pytest.approx(1e-3 * HEAD_RATE))


def test_a_whole_arm_takes_well_under_a_second_of_work(tmp_path: Path) -> None:
    """5,000 rows of 384 features, five epochs, counted in the time of this process."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(5000, 384)).astype(np.float32)
    hard = (vectors[:, 0] + rng.normal(size=5000) > 0).astype(np.int64)
    wide = Features(vectors, "d", "e", 22_713_216, 128, 0)
    stage, optimizer = dataclasses.replace(STAGE, epochs=5), dataclasses.replace(OPTIMIZER, batch_size=32)
    began = time.process_time()
    record = train_head_stage(None, wide, stage_run(stage, hard, tmp_path / "a", optimizer=optimizer))
    assert record.n_steps == 785
    assert time.process_time() - began < 3.0
