"""The reading benchmark runs, on a megabyte, and stores what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "reading.py"


def test_it_reads_every_format_and_stores_the_figures(tmp_path: Path) -> None:
    out = tmp_path / "results" / "reading.json"
    command = [sys.executable, str(SCRIPT), "--megabytes", "1", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    stored = json.loads(out.read_text("utf-8"))
    assert json.loads(done.stdout) == {name: stored[name] for name in json.loads(done.stdout)}
    assert set(stored["formats"]) == {"jsonl", "jsonl.zst", "jsonl.gz", "csv", "parquet"}
    assert 0.95 < stored["formats"]["jsonl"]["file_megabytes"] < 1.05
    for figures in stored["formats"].values():
        assert figures["seconds"] > 0
        assert 0 < figures["share_of_plain_read"] < 1
    assert {"polars", "orjson", "pyarrow"} <= set(stored["versions"])
    assert stored["machine"]["n_cores"] > 0
    assert str(tmp_path) not in out.read_text("utf-8")
