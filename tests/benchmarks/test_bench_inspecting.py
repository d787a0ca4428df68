"""benchmarks/inspecting.py: the pool it makes, and that a measurement of it says what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.mark.shared
def test_the_pool_is_as_large_as_asked_and_the_same_again(scripts: Path, shared_data: Path, tmp_path: Path) -> None:
    import inspecting

    n_rows = inspecting.write_pool(shared_data, tmp_path / "a.jsonl", 20_000)
    assert inspecting.write_pool(shared_data, tmp_path / "b.jsonl", 20_000) == n_rows
    content = (tmp_path / "a.jsonl").read_bytes()
    assert content == (tmp_path / "b.jsonl").read_bytes()
    assert 20_000 <= len(content) < 30_000
    assert len({json.loads(line)["text"] for line in content.splitlines()}) > 0.9 * n_rows


@pytest.mark.shared
def test_a_run_is_measured(scripts: Path, shared_data: Path, tmp_path: Path) -> None:
    import inspecting

    inspecting.write_pool(shared_data, tmp_path / "a.jsonl", 4_000)
    found = inspecting.run(tmp_path / "a.jsonl", tmp_path / "out", True)
    assert found["n_rows"] == len((tmp_path / "a.jsonl").read_text("utf-8").splitlines())
    assert found["n_families"] <= found["n_rows"]
    assert found["peak_mb"] > 0
