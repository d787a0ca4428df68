"""Run a command, and say how long it took and how much processor time and memory it needed, its children included."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Seconds between looks at the memory of a process and its children.
PERIOD = 0.02
_PROC = Path("/proc")
_TAIL = 2000


@dataclass(frozen=True)
class Run:
    """One run of a command.

    Attributes:
        status: exit status; negative where a signal ended it, None where the time limit did.
        seconds: from start to end.
        processor_seconds: of its threads, and of its children that it waited for.
        peak_megabytes: largest resident memory of the process and all its children together, as seen every 20 ms; where
            there is no /proc, as the system counts it for its largest process.
        said: the end of what it wrote.
    """

    status: int | None
    seconds: float
    processor_seconds: float
    peak_megabytes: float
    said: str


def run(
    command: Sequence[str], log: Path, folder: Path | None = None, env: Mapping[str, str] | None = None,
    limit: float = float("inf"),
) -> Run:  # fmt: skip
    """Return how a command ran.

    Args:
        command: program and arguments.
        log: file that gets all that it writes.
        folder: where it runs, the current folder by default.
        env: variables beside those of this process.
        limit: seconds after which it is ended, with its children.
    """
    with log.open("wb") as out:
        started = time.perf_counter()
        # A session of its own, so that all of it can be ended.
        process = subprocess.Popen(
            command, stdout=out, stderr=out, cwd=folder, env={**os.environ, **(env or {})}, start_new_session=True
        )
        peak, is_late = 0.0, False
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            peak = max(peak, _tree_megabytes(process.pid))
            if not is_late and time.perf_counter() - started > limit:
                is_late = True
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(PERIOD)
        seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(
        None if is_late else process.returncode,
        seconds,
        usage.ru_utime + usage.ru_stime,
        # Linux lets a child begin with the count of the process that started it, so it is second choice.
        peak or usage.ru_maxrss / 1e6,
        log.read_bytes()[-_TAIL:].decode(errors="replace"),
    )


def _tree_megabytes(pid: int) -> float:
    """Return the resident memory of a process and all below it, 0 where it is gone or the system does not say."""
    return _resident_megabytes(pid) + sum(map(_tree_megabytes, _children(pid)))


def _children(pid: int) -> list[int]:
    try:
        threads = list((_PROC / str(pid) / "task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []


def _resident_megabytes(pid: int) -> float:
    try:
        n_pages = int((_PROC / str(pid) / "statm").read_text().split()[1])
    except OSError:
        return 0.0
    return n_pages * os.sysconf("SC_PAGE_SIZE") / 1e6
