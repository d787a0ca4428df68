"""Labels of a stage: left out, hardened, shuffled within class, shared out; and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from auditkit.errors import LabelError, UsageError
from auditkit.study_records.settings import Stage, Teacher
from auditkit.train.batches import batch_order, rate_factor, step_count
from auditkit.train.labels import stage_labels

HARD = np.array([0, 1, -1, 0, 1, 0, 1, 0])
SOFT = np.array([0.1, 0.9, 0.5, 0.2, 0.8, np.nan, 0.4, 0.6])


def probabilities(logits: np.ndarray) -> list[float]:
    p = np.exp(logits.astype(np.float64))
    return np.round(p[:, 1] / p.sum(axis=1), 6).tolist()


def test_rows_without_a_label_are_left_out_and_counted() -> None:
    both = stage_labels(Stage("A", Teacher(column="p")), 8, HARD, SOFT, 1)
    assert both.rows.tolist() == [0, 1, 3, 4, 6, 7]
    assert both.n_unlabelled == 2
    assert both.hard is not None
    assert both.soft is not None
    assert both.hard.tolist() == [0, 1, 0, 1, 1, 0]
    assert probabilities(both.soft) == [0.1, 0.9, 0.2, 0.8, 0.4, 0.6]
    assert stage_labels(Stage("A"), 8, HARD, None, 1).n_unlabelled == 1
    assert stage_labels(Stage("", Teacher(column="p")), 8, None, SOFT, 1).n_unlabelled == 1


def test_hardened_labels_are_certain_and_a_half_is_flagged() -> None:
    stage = Stage("", Teacher(column="p", is_hardened=True))
    found = stage_labels(stage, 3, None, np.array([0.49, 0.5, 0.51]), 1)
    assert found.soft is not None
    assert probabilities(found.soft) == [0.0, 1.0, 1.0]


def test_shuffling_keeps_each_class_its_soft_labels_and_is_seeded() -> None:
    hard, soft = np.arange(40) % 2, np.linspace(0.01, 0.99, 40)
    stage = Stage("A", Teacher(column="p", is_shuffled=True))
    found, again, other = (stage_labels(stage, 40, hard, soft, seed).soft for seed in (1, 1, 2))
    assert found is not None
    assert other is not None
    assert np.array_equal(found, again)  # type: ignore[arg-type]
    assert not np.array_equal(found, other)
    for value in (0, 1):
        mine = np.array(probabilities(found))[hard == value]
        assert sorted(mine) == pytest.approx(sorted(soft[hard == value]), abs=1e-5)
        assert mine != pytest.approx(soft[hard == value], abs=1e-5)


def test_a_share_is_taken_of_each_class_by_seed() -> None:
    hard = np.array([0] * 30 + [1] * 11)
    found = stage_labels(Stage("A", share=0.1), 41, hard, None, 1)
    assert (int((hard[found.rows] == 0).sum()), int((hard[found.rows] == 1).sum())) == (3, 2)
    assert np.array_equal(found.rows, stage_labels(Stage("A", share=0.1), 41, hard, None, 1).rows)
    assert not np.array_equal(found.rows, stage_labels(Stage("A", share=0.1), 41, hard, None, 2).rows)


@pytest.mark.parametrize(
    ("hard", "soft", "message"),
    [
        (np.ones(4, int), None, "all 4 labelled rows have the label 1 under 'A'"),
        (np.full(4, -1), None, "no row has every label"),
        (np.array([0, 1, 2, 0]), None, "a hard label is 2"),
        (np.array([0, 1, 0]), None, r"shape \(3,\)"),
        (None, np.array([0.1, 1.5, 0.2, 0.3]), r"soft label 1 is 1\.5"),
        (None, np.array([0.1, 0.5, -0.2, 0.3]), r"soft label 2 is -0\.2"),
        (None, np.zeros((4, 3)), r"shape \(4, 3\)"),
    ],
)
def test_labels_that_cannot_be_used_are_one_line(
    hard: np.ndarray | None, soft: np.ndarray | None, message: str
) -> None:
    with pytest.raises(LabelError, match=message):
        stage_labels(Stage("A", Teacher(column="p") if soft is not None else None), 4, hard, soft, 1)


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Stage("A", epochs=0), "epochs is 0"),
        (Stage("A", learning_rate=float("nan")), "learning_rate is nan"),
        (Stage("A", share=0.0), r"share is 0\.0"),
        (Stage("A", Teacher(column="p", temperature=0)), "temperature is 0"),
        (Stage("A", Teacher(column="p", weight=1.5)), r"weight is 1\.5"),
    ],
)
def test_settings_out_of_range_are_one_line(stage: Stage, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        stage_labels(stage, 8, HARD, None, 1)


def test_a_stage_without_any_labels_is_refused() -> None:
    with pytest.raises(UsageError, match="neither hard labels nor a teacher"):
        stage_labels(Stage(""), 8, None, None, 1)


def test_every_epoch_visits_each_row_once_in_another_order() -> None:
    lengths = list(np.random.default_rng(0).integers(3, 60, 100))
    batches = list(batch_order(lengths, batch_size=8, n_steps=26, seed=1))
    epochs = [np.concatenate(batches[:13]), np.concatenate(batches[13:])]
    assert all(sorted(epoch.tolist()) == list(range(100)) for epoch in epochs)
    assert epochs[0].tolist() != epochs[1].tolist()
    again = list(batch_order(lengths, batch_size=8, n_steps=26, seed=1))
    assert all(np.array_equal(a, b) for a, b in zip(batches, again, strict=True))


def test_batches_hold_rows_of_like_length() -> None:
    lengths = list(np.random.default_rng(0).integers(3, 128, 512))
    batches = list(batch_order(lengths, batch_size=32, n_steps=16, seed=1))
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    assert padded < 1.1 * sum(lengths)


def test_steps_are_fixed_and_the_rate_rises_and_falls() -> None:
    assert [step_count(100, 32, epochs) for epochs in (1, 2.5, 0.01)] == [4, 10, 1]
    factors = [rate_factor(step, 10, 0.2) for step in range(10)]
    assert factors == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])
    assert rate_factor(0, 1, 0.1) == 1.0
    assert rate_factor(0, 4, 0.0) == 1.0
