"""The families benchmark runs on a small pool, and misses no pair there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from audit_support import jsonl

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "families.py"


def test_it_measures_and_stores_the_figures(tmp_path: Path) -> None:
    texts = [" ".join(f"word{i}x{j}" for j in range(10)) for i in range(20)]
    texts += [f"{text} please" for text in texts[:5]] + [f"{'something else before it all ' * 4}{texts[6]}"]
    pool, out = jsonl(tmp_path / "pool.jsonl", texts), tmp_path / "results/families.json"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(pool), "--sample", "26", "--out", str(out)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    stored = json.loads(out.read_text("utf-8"))
    assert stored["n_distinct"] == 26
    for found in stored["settings"].values():
        assert (found["every_near_pair_n"], found["every_near_pair_n_missed"]) == (10, 0)
        assert (found["sample_by_verification_n"], found["sample_by_verification_n_missed"]) == (11, 0)
    assert str(tmp_path) not in out.read_text("utf-8")
