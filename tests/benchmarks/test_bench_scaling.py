"""The scaling benchmark runs, small, and stores every figure that docs/scale.md needs."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path


def test_time_that_grows_like_the_pool_has_growth_one(scripts: Path) -> None:
    scaling = importlib.import_module("scaling")
    sizes = [{"megabytes": 1, "seconds": 2.0}, {"megabytes": 10, "seconds": 20.0}, {"megabytes": 20, "seconds": 44.0}]
    assert [one["growth"] for one in scaling.growth(sizes)] == [1.0, 1.1]


def test_a_small_run_stores_the_figures(tmp_path: Path, scripts: Path) -> None:
    out = tmp_path / "results" / "scaling.json"
    options = ["--sizes", "0.1,0.2", "--many-items", "6000", "--paraphrase", "0", "--repeats", "1", "--no-cold"]
    done = subprocess.run(
        [sys.executable, str(scripts / "scaling.py"), *options, "--work", str(tmp_path / "work"), "--out", str(out)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    stored = json.loads(out.read_text("utf-8"))
    assert json.loads(done.stdout) == stored
    assert [one["megabytes"] for one in stored["sizes"]] == [0.1, 0.2]
    assert {"reading", "reading_and_normalising"} == set(stored["formats"]["parquet"]["bounds"])
    assert stored["start_up"]["warm_seconds"] > 0
    assert [one["n_items"] for one in stored["index"]] == [5000, 6000]
    assert all(one["bytes_per_item"] > 0 for one in stored["index"])
    assert str(tmp_path) not in out.read_text("utf-8")
