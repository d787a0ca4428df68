"""The scripts of benchmarks/ as modules: a script finds the modules beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def scripts() -> Iterator[Path]:
    """Return the folder of the scripts, which can be imported from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        patch.syspath_prepend(BENCHMARKS / "peers")
        yield BENCHMARKS
