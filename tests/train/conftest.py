"""Fixtures of the tests of `train`: tiny random models and prompts of two word lists."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from train_support import make_prompts, save_bert

from auditkit.study_records.settings import ModelSpec
from auditkit.train.models import Checkpoint, base_folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip every test of this folder where the extra `train` is not installed."""
    if importlib.util.find_spec("peft") is None:
        skip = pytest.mark.skip(reason="the extra `train` is not installed")
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(skip)


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Tiny models gain nothing from threads, and lose much where other work shares the cores."""
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a random encoder without a head."""
    return save_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def spec(encoder: Path) -> ModelSpec:
    return ModelSpec("tiny", str(encoder))


@pytest.fixture(scope="session")
def base(spec: ModelSpec, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """Return the base model of seed 1."""
    return base_folder(spec, 1, tmp_path_factory.mktemp("bases") / "tiny-1")


@pytest.fixture(scope="session")
def prompts() -> tuple[list[str], NDArray[np.int64]]:
    return make_prompts(64)
