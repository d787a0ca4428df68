"""The loss against values computed by hand, and against itself in smaller batches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from auditkit.train.loss import as_logits, stage_loss


def softmax(values: list[float]) -> list[float]:
    total = sum(math.exp(v) for v in values)
    return [math.exp(v) / total for v in values]


def by_hand(student: list[list[float]], hard: list[int], teacher: list[list[float]], t: float, alpha: float) -> float:
    """Return the loss of definitions.md with plain floats."""
    distance = crossed = 0.0
    for z, y, u in zip(student, hard, teacher, strict=True):
        p, q = softmax([v / t for v in u]), softmax([v / t for v in z])
        distance += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a)
        crossed -= math.log(softmax(z)[y])
    n = len(student)
    return alpha * t * t * distance / n + (1 - alpha) * crossed / n


STUDENT = [[0.3, -1.2], [2.0, 0.5], [-0.7, 0.1]]
TEACHER = [[-1.0, 2.5], [0.2, 0.1], [3.0, -3.0]]
HARD = [1, 0, 0]


@pytest.mark.parametrize(("t", "alpha"), [(1.0, 0.5), (2.0, 0.5), (4.0, 0.9), (2.0, 0.0), (2.0, 1.0)])
def test_the_loss_is_that_of_definitions(t: float, alpha: float) -> None:
    import torch

    loss = stage_loss(torch.tensor(STUDENT), torch.tensor(HARD), torch.tensor(TEACHER), temperature=t, weight=alpha)
    assert float(loss) == pytest.approx(by_hand(STUDENT, HARD, TEACHER, t, alpha), abs=1e-6)


def test_one_value_written_out() -> None:
    """Student even, teacher p = 0.8 at T = 1: KL = 0.8 ln 1.6 + 0.2 ln 0.4 = 0.192745; CE = ln 2 = 0.693147."""
    import torch

    soft = torch.tensor([[0.0, math.log(4.0)]])
    loss = stage_loss(torch.zeros(1, 2), torch.tensor([1]), soft, temperature=1.0, weight=0.5)
    assert float(loss) == pytest.approx(0.5 * 0.192745 + 0.5 * 0.693147, abs=1e-5)


def test_a_single_kind_of_label_stands_alone() -> None:
    import torch

    student, teacher = torch.tensor(STUDENT), torch.tensor(TEACHER)
    only_soft = stage_loss(student, None, teacher, temperature=2.0, weight=0.3)
    assert float(only_soft) == pytest.approx(by_hand(STUDENT, HARD, TEACHER, 2.0, 1.0), abs=1e-6)
    only_hard = stage_loss(student, torch.tensor(HARD), None, temperature=2.0, weight=0.3)
    assert float(only_hard) == pytest.approx(by_hand(STUDENT, HARD, TEACHER, 2.0, 0.0), abs=1e-6)
    with pytest.raises(ValueError, match="needs hard or soft"):
        stage_loss(student, None, None, temperature=2.0, weight=0.3)


def test_the_gradient_of_1_x_32_equals_4_x_8_accumulated() -> None:
    import torch

    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(32, 5, generator=generator)
    hard = torch.randint(0, 2, (32,), generator=generator)
    soft = torch.randn(32, 2, generator=generator)
    weight = torch.randn(5, 2, generator=generator, requires_grad=True)
    settings = {"temperature": 3.0, "weight": 0.6}
    stage_loss(inputs @ weight, hard, soft, **settings).backward()
    whole = weight.grad.clone()
    weight.grad = None
    for i in range(0, 32, 8):
        part = slice(i, i + 8)
        (stage_loss(inputs[part] @ weight, hard[part], soft[part], **settings) / 4).backward()
    assert torch.allclose(weight.grad, whole, atol=1e-6)


def test_probabilities_become_the_logits_that_give_them_back() -> None:
    import torch

    p = np.array([0.0, 1e-9, 0.25, 0.5, 1.0])
    back = torch.softmax(torch.from_numpy(as_logits(p)), dim=-1)[:, 1].numpy()
    assert back == pytest.approx(p, abs=1e-7)


def test_certain_teachers_give_finite_losses_and_gradients() -> None:
    import torch

    student = torch.tensor([[0.3, -1.2], [2.0, 0.5]], requires_grad=True)
    loss = stage_loss(student, None, torch.from_numpy(as_logits(np.array([0.0, 1.0]))), temperature=2.0, weight=1.0)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(
        4 * -(math.log(softmax([0.15, -0.6])[0]) + math.log(softmax([1.0, 0.25])[1])) / 2, abs=1e-6
    )
    assert torch.isfinite(student.grad).all()


def test_a_missing_probability_stays_missing() -> None:
    assert np.isnan(as_logits(np.array([np.nan, 0.5]))).tolist() == [[True, True], [False, False]]
