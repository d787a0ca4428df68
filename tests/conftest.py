"""Fixtures of every test, and the markers that skip where something is not there."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from stores import Store, s3_store

# No test may reach a network: a missing file in a cache is then an error at once, not a slow download.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

# Kernels compile at their first call, so no example has a deadline.
settings.register_profile("auditkit", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("auditkit")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip `embed`, `train` and `ray` tests without torch, peft and ray, and `shared` tests without the real data."""
    without_ray = pytest.mark.skip(reason="the extra `ray` is not installed")
    without_peft = pytest.mark.skip(reason="the extra `train` is not installed")
    without_torch = pytest.mark.skip(reason="the extra `embed` is not installed")
    without_shared = pytest.mark.skip(reason=f"no folder {SHARED.name} beside the checkout")
    has_torch = importlib.util.find_spec("torch") is not None
    has_ray = importlib.util.find_spec("ray") is not None
    has_peft = importlib.util.find_spec("peft") is not None
    for item in items:
        if "embed" in item.keywords and not has_torch:
            item.add_marker(without_torch)
        if "train" in item.keywords and not has_peft:
            item.add_marker(without_peft)
        if "ray" in item.keywords and not has_ray:
            item.add_marker(without_ray)
        if "shared" in item.keywords and not SHARED.is_dir():
            item.add_marker(without_shared)


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the checkout's folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder `shared` beside the checkout; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder {SHARED.name} beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def shared_data(shared: Path) -> Path:
    """Return the folder of published benchmarks in `shared`; the test is skipped where it is absent."""
    return shared / "data"


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Store]:
    """A local S3 server; skipped without its library."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    with s3_store() as started:
        yield started


@pytest.fixture
def store(s3_server: Store) -> Store:
    """The local S3 server with an empty bucket."""
    s3_server.empty()
    return s3_server
