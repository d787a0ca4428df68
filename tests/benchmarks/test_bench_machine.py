"""Every stored result says on which machine it was measured, by one description."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_description_has_system_processor_cores_and_load() -> None:
    found = runpy.run_path(str(BENCHMARKS / "machine.py"))["machine"]()
    assert set(found) == {"system", "processor", "n_cores", "load_before"}
    assert found["n_cores"] == os.cpu_count()
    assert found["load_before"] >= 0


def test_families_reading_recovery_and_study_describe_no_machine_of_their_own() -> None:
    for name in ("families", "reading", "recovery", "study"):
        text = (BENCHMARKS / f"{name}.py").read_text("utf-8")
        assert "from machine import machine" in text
        assert "cpu_count" not in text
