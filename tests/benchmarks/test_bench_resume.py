"""The resume benchmark runs, on a megabyte and two kills, and stores what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "resume.py"


def test_killed_audits_are_resumed(tmp_path: Path) -> None:
    out = tmp_path / "results" / "resume.json"
    command = [sys.executable, str(SCRIPT), "--kills", "2", "--megabytes", "1", "--items", "50", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    stored = json.loads(out.read_text("utf-8"))
    assert (stored["n_kills"], stored["n_equal"], stored["n_scanned_twice"]) == (2, 2, 0)
    assert str(tmp_path) not in out.read_text("utf-8")
