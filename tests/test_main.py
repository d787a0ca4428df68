"""`python -m auditkit` is the command, for where its script is not on the path."""

from __future__ import annotations

import subprocess
import sys


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "auditkit", *arguments], capture_output=True, text=True)


def test_it_helps_under_the_name_of_the_command() -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: auditkit ")


def test_it_exits_with_the_status_of_the_command() -> None:
    done = run("show", "no-such-folder")
    assert done.returncode == 2
    assert done.stderr.startswith("auditkit: error: no-such-folder: ")
    assert "Traceback" not in done.stderr


def test_importing_it_runs_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", "import auditkit.__main__"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
