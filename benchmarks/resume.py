"""Audits killed with SIGKILL at random moments and resumed: the same bytes, and is a finished shard scanned twice?

    python benchmarks/resume.py [--kills 30] [--megabytes 20] [--out benchmarks/results/resume.json]

One undisturbed audit of an invented pool (benchmarks/pools.py) gives bytes and time. Then, for each kill, an audit is
started anew in another process, killed at a moment drawn from that time, and resumed in a process of its own. What is
scanned is written as a part: parts that stood there at the kill must keep their inode and time of change.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pools
from machine import machine

from auditkit.run.versions import versions

SEED = 7
SHARD_BYTES = 1 << 20
RESULTS = ("matches.parquet", "items.parquet", "report.json", "report.md", "report.html")
CHILD = """
import sys, auditkit
settings = auditkit.AuditSettings(read=auditkit.ReadSettings(shard_bytes=int(sys.argv[2])))
auditkit.audit(("pool.parquet",), "items.jsonl", settings, out=sys.argv[1])
"""


def start(folder: Path, out: str) -> subprocess.Popen[bytes]:
    """Start an audit in another process."""
    return subprocess.Popen([sys.executable, "-c", CHILD, out, str(SHARD_BYTES)], cwd=folder)


def results(out: Path) -> dict[str, bytes]:
    """Return what an audit says."""
    return {name: (out / name).read_bytes() for name in RESULTS}


def parts(out: Path) -> dict[str, tuple[int, int]]:
    """Return name -> (inode, time of change) of the finished parts."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (out / "parts").glob("[!.]*")}


def whole(folder: Path) -> float:
    """Run an audit to its end twice, the first for the kernels, and return the seconds of the second."""
    for out in ("warm", "whole"):
        began = time.perf_counter()
        if start(folder, out).wait():
            raise SystemExit("the undisturbed audit failed")
    return time.perf_counter() - began


def kill_and_resume(folder: Path, moment: float) -> dict[str, float | int | bool]:
    """Kill an audit after `moment` seconds, resume it, and return what was seen."""
    out = folder / "killed"
    shutil.rmtree(out, ignore_errors=True)
    process = start(folder, "killed")
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    known = parts(out)
    if start(folder, "killed").wait():
        raise SystemExit(f"the audit killed after {moment:.2f} s was not resumed")
    after = parts(out)
    return {
        "seconds": round(moment, 2),
        "n_parts_at_the_kill": len(known),
        "n_parts": len(after),
        "n_scanned_twice": sum(after.get(name) != seen for name, seen in known.items()),
        "is_equal": results(out) == results(folder / "whole"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results") / "resume.json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pools.write(folder, args.megabytes, args.items)
        seconds = whole(folder)
        draw = random.Random(SEED)
        kills = [kill_and_resume(folder, draw.uniform(0, seconds)) for _ in range(args.kills)]
    summary = {
        "n_kills": len(kills),
        "n_equal": sum(bool(kill["is_equal"]) for kill in kills),
        "n_scanned_twice": sum(int(kill["n_scanned_twice"]) for kill in kills),
        "n_in_mid_scan": sum(0 < kill["n_parts_at_the_kill"] < kill["n_parts"] for kill in kills),
        "undisturbed_seconds": round(seconds, 2),
    }
    content = {"machine": machine(), "versions": versions(has_encoder=False), **summary, "kills": kills}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    sys.stdout.write(json.dumps(summary, indent=2) + "\n")
    return 0 if summary["n_equal"] == len(kills) and not summary["n_scanned_twice"] else 1


if __name__ == "__main__":
    sys.exit(main())
