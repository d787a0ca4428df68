"""Stages of fine-tuning: what changes, what reaches the loss, and that a run can be repeated to the bit."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from train_support import OPTIMIZER, make_prompts, stage_run

from auditkit.errors import LabelError, OutputError, UsageError
from auditkit.study_records.ledger import StageRecord
from auditkit.study_records.settings import Part, Stage, Teacher, Trainable
from auditkit.train.folders import fresh_folder, model_digest
from auditkit.train.ledger import finished_stage
from auditkit.train.models import Checkpoint
from auditkit.train.score import score
from auditkit.train.stages import changed_names, train_stage

Prompts = tuple[list[str], NDArray[np.int64]]
QUICK = Stage("A", trainable=Trainable("lora", rank=2), epochs=1, learning_rate=0.01)


def run(base: Checkpoint, prompts: Prompts, out: Path, stage: Stage = QUICK, **kwargs: object) -> StageRecord:
    options: dict[str, Any] = {"hard": prompts[1]} | kwargs
    return train_stage(base.folder, prompts[0], stage_run(stage, out=out, **options))


# ---------------------------------------------------------------- what changes

PARTS = [
    Trainable("full"),
    Trainable("lora", rank=2),
    Trainable("lora", rank=1, layers=(1,), is_head_trained=False),
    Trainable("ia3"),
    Trainable("ia3", targets=("key", "output.dense"), is_head_trained=False),
    Trainable("bias"),
    Trainable("layer_norm"),
    Trainable("head"),
]


@pytest.mark.parametrize("trainable", PARTS, ids=lambda t: f"{t.part}-{t.is_head_trained}-{len(t.layers)}")
def test_changed_tensors_are_a_subset_of_the_declared_ones(
    base: Checkpoint, prompts: Prompts, tmp_path: Path, trainable: Trainable
) -> None:
    stage = dataclasses.replace(QUICK, trainable=trainable)
    record = run(base, prompts, tmp_path / "out", stage)
    changed = changed_names(base.folder, tmp_path / "out")
    assert changed
    assert set(changed) <= set(record.trainable_names)
    assert record.n_trainable > 0
    assert f"{record.n_trainable:,} of {record.n_parameters:,} parameters" in record.trainable
    is_head_declared = any(name.startswith("classifier") for name in record.trainable_names)
    assert is_head_declared == (trainable.is_head_trained or trainable.part in ("head", "full"))
    if trainable.layers:
        assert all(".layer.1." in name for name in record.trainable_names)


def test_training_learns(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    stage = Stage("A", trainable=Trainable("full"), epochs=12, learning_rate=3e-3)
    record = run(base, prompts, tmp_path / "out", stage)
    texts, labels = make_prompts(40, seed=5)
    found = score(tmp_path / "out", texts, max_tokens=16)
    assert ((found.probabilities >= 0.5) == labels).mean() > 0.9
    assert record.losses[-1] < 0.5 * record.losses[0]
    assert len(record.losses) == 20
    assert record.n_steps == 96


# ---------------------------------------------------------------- labels reach the loss


def test_soft_labels_reach_the_loss(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    stage = dataclasses.replace(QUICK, teacher=Teacher(column="p", weight=0.5, temperature=2.0))
    soft = np.where(prompts[1] == 1, 0.9, 0.1)
    first = run(base, prompts, tmp_path / "a", stage, soft=soft)
    other = run(base, prompts, tmp_path / "b", stage, soft=1 - soft)
    assert first.losses != other.losses
    assert first.weights_digest != other.weights_digest
    assert first.key != other.key
    assert first.teacher_digest != other.teacher_digest
    assert (first.teacher, first.temperature, first.weight) == ("p", 2.0, 0.5)


def test_the_first_loss_is_the_hand_computed_one(base: Checkpoint, tmp_path: Path) -> None:
    """One batch, dropout off: the recorded loss is that of the base's own scores."""
    from test_train_loss import by_hand

    folder = shutil.copytree(base.folder, tmp_path / "still")
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    texts, hard = make_prompts(8)
    teacher = np.random.default_rng(0).normal(size=(8, 2))
    stage = dataclasses.replace(QUICK, teacher=Teacher(arm="t", weight=0.3, temperature=3.0))
    record = train_stage(folder, texts, stage_run(stage, hard, tmp_path / "out", teacher))
    logits = score(folder, texts, max_tokens=16).logits
    assert record.losses[0] == pytest.approx(
        by_hand(logits.tolist(), hard.tolist(), teacher.tolist(), 3.0, 0.3), abs=2e-6
    )


def test_only_a_teacher_speaks(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    stage = Stage("", Teacher(column="p", weight=0.5), Trainable("full"), epochs=6, learning_rate=3e-3)
    record = run(base, prompts, tmp_path / "out", stage, hard=None, soft=1.0 - prompts[1])
    assert record.weight == 1.0
    flags = score(tmp_path / "out", prompts[0], max_tokens=16).probabilities >= 0.5
    assert (flags == (prompts[1] == 0)).mean() > 0.8


def test_hardened_and_shuffled_labels_change_the_weights(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    soft = np.random.default_rng(0).random(64)
    digests = set()
    for n, (is_hardened, is_shuffled) in enumerate([(False, False), (True, False), (False, True)]):
        teacher = Teacher(column="p", is_hardened=is_hardened, is_shuffled=is_shuffled)
        stage = dataclasses.replace(QUICK, teacher=teacher)
        record = run(base, prompts, tmp_path / str(n), stage, soft=soft)
        assert (record.is_hardened, record.is_shuffled) == (is_hardened, is_shuffled)
        digests.add(record.weights_digest)
    assert len(digests) == 3


def test_truncated_and_unlabelled_rows_are_counted(base: Checkpoint, tmp_path: Path) -> None:
    texts, hard = make_prompts(16)
    texts[3] = " ".join(["bomb"] * 40)
    hard[0] = -1
    record = train_stage(base.folder, texts, stage_run(QUICK, hard, tmp_path / "out"))
    assert (record.n_rows, record.n_truncated, record.n_unlabelled) == (15, 1, 1)


# ---------------------------------------------------------------- the same again


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(
    base: Checkpoint, prompts: Prompts, tmp_path: Path
) -> None:
    import torch

    first = run(base, prompts, tmp_path / "a")
    torch.rand(5)
    again = run(base, prompts, tmp_path / "b")
    assert changed_names(tmp_path / "a", tmp_path / "b") == ()
    assert (first.key, first.losses, first.weights_digest) == (again.key, again.losses, again.weights_digest)
    other = run(base, prompts, tmp_path / "c", seed=2)
    assert other.weights_digest != first.weights_digest
    assert other.key != first.key


KILLED = """
import os, sys
import numpy as np
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_train_stages import QUICK
from train_support import make_prompts, stage_run
from auditkit.train.stages import train_stage
import torch
torch.set_num_threads(1)
texts, hard = make_prompts(64)
def on_step(step, n_steps, loss):
    if step == {kill_at}:
        os._exit(9)
start, out = Path({start!r}), Path({out!r})
train_stage(start, texts, stage_run(QUICK, hard, out, on_step=on_step))
"""


def test_killed_and_resumed_equals_straight_through(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    straight = run(base, prompts, tmp_path / "straight")
    script = KILLED.format(
        tests=str(Path(__file__).parent), kill_at=5, start=str(base.folder), out=str(tmp_path / "killed")
    )
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert killed.returncode == 9, killed.stderr
    assert not (tmp_path / "killed").exists()
    resumed = run(base, prompts, tmp_path / "killed")
    assert resumed.weights_digest == straight.weights_digest
    assert changed_names(tmp_path / "straight", tmp_path / "killed") == ()


def test_what_a_kill_left_half_written_is_no_checkpoint(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    spare = tmp_path / ".out.auditkit-part"
    spare.mkdir()
    (spare / "model.safetensors").write_bytes(b"half")
    run(base, prompts, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_finished_stage_is_not_trained_again(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    first = run(base, prompts, tmp_path / "out")
    steps: list[int] = []
    again = run(base, prompts, tmp_path / "out", on_step=lambda step, n, loss: steps.append(step))
    assert again == first == finished_stage(tmp_path / "out")
    assert steps == []
    with pytest.raises(OutputError, match="its settings or data differ"):
        run(base, prompts, tmp_path / "out", seed=2)


def test_the_last_step_is_the_checkpoint(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    record = run(base, prompts, tmp_path / "out", on_step=lambda step, n, loss: seen.append((step, n)))
    assert seen == [(step, 8) for step in range(1, 9)]
    assert record.n_steps == 8


# ---------------------------------------------------------------- loading again

RELOAD = """
import sys, json
from peft import PeftModel
from transformers import AutoModelForSequenceClassification, AutoTokenizer
start, texts = sys.argv[1], json.loads(sys.argv[2])
found = []
for folder in sys.argv[3:]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=16, return_tensors="pt")
    plain = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    base = AutoModelForSequenceClassification.from_pretrained(start)
    adapted = PeftModel.from_pretrained(base, folder + "/adapter").eval()
    found.append([model(**inputs).logits.tolist() for model in (plain, adapted)])
print(json.dumps(found))
"""


def test_a_fresh_process_reads_the_same_logits(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    """With plain transformers from the merged weights, and with plain peft from the adapter."""
    texts = [*prompts[0][:10], ""]
    before = score(base.folder, texts, max_tokens=16).logits
    parts: list[Part] = ["lora", "ia3"]
    for part in parts:
        stage = dataclasses.replace(QUICK, trainable=Trainable(part, rank=2), learning_rate=0.05)
        run(base, prompts, tmp_path / part, stage)
    folders = [str(tmp_path / part) for part in parts]
    command = [sys.executable, "-W", "ignore", "-c", RELOAD, str(base.folder), json.dumps(texts), *folders]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for folder, (plain, adapted) in zip(folders, found, strict=True):
        here = score(Path(folder), texts, max_tokens=16).logits
        assert np.abs(here - before).max() > 1e-2
        assert np.abs(np.array(plain) - here).max() < 1e-5
        assert np.abs(np.array(adapted) - here).max() < 1e-5


def test_a_stage_continues_from_the_stage_before(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    first = run(base, prompts, tmp_path / "one")
    second = train_stage(tmp_path / "one", prompts[0], stage_run(QUICK, 1 - prompts[1], tmp_path / "two"))
    assert first.start_digest == base.digest
    assert second.start_digest == first.weights_digest == model_digest(tmp_path / "one")
    assert second.weights_digest == model_digest(tmp_path / "two")


# ---------------------------------------------------------------- what goes wrong


def test_a_loss_that_is_no_number_is_one_line_and_nothing_is_lost(
    base: Checkpoint, prompts: Prompts, tmp_path: Path
) -> None:
    run(base, prompts, tmp_path / "one")
    stage = Stage("A", trainable=Trainable("full"), epochs=4, learning_rate=1e30)
    with pytest.raises(UsageError, match=r"the loss is (nan|inf) at step \d+ of 32 .*nothing was written") as caught:
        train_stage(tmp_path / "one", prompts[0], stage_run(stage, prompts[1], tmp_path / "two"))
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.mark.parametrize(
    ("trainable", "message"),
    [
        (Trainable("lora", targets=("q_proj",)), r"targets \['q_proj'\].*modules end with dense, key, query, value"),
        (Trainable("lora", layers=(7,)), r"layers \[7\].*layers are 0 to 1"),
        (Trainable("lora", rank=0), "rank is 0"),
        (Trainable("layer_norm", layers=(7,)), "selects no parameter"),
    ],
)
def test_a_part_that_selects_nothing_is_one_line(
    base: Checkpoint, prompts: Prompts, tmp_path: Path, trainable: Trainable, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        run(base, prompts, tmp_path / "out", dataclasses.replace(QUICK, trainable=trainable))
    assert not (tmp_path / "out").exists()


def test_more_tokens_than_the_model_reads_is_one_line(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"max_tokens is 65, and model .* reads 3 to 64"):
        run(base, prompts, tmp_path / "out", optimizer=dataclasses.replace(OPTIMIZER, max_tokens=65))


def test_one_class_only_is_one_line(base: Checkpoint, prompts: Prompts, tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="have the label 1 under 'A'"):
        run(base, prompts, tmp_path / "out", hard=np.ones(64, np.int64))


def test_no_space_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    from safetensors import SafetensorError

    def write(error: Exception) -> None:
        with fresh_folder(tmp_path / "out") as folder:
            (folder / "half").write_text("half")
            raise error

    for error in (OSError(28, "No space left on device"), SafetensorError("Error: No space left on device")):
        with pytest.raises(OutputError, match="No space left on device"):
            write(error)
        assert list(tmp_path.iterdir()) == []
