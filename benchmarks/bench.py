"""auditkit beside its peers on one invented pool: time, peak memory, recall by kind of copy, false rows.

    scripts/bench [--megabytes 20] [--items 5000] [--repeats 1] [--limit 900] [--only "NAME;NAME"] [--out FILE]

scripts/bench makes the environments and calls this. Every contender is a whole process, start-up included, on the same
machine, one after the other; auditkit's kernels are compiled before. A peer that would take too long gets a smaller
pool, the first part of the same one, and the table says so. A ratio is auditkit's MB/s over the peer's, from this run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import data
import polars as pl
import scoring
import watched
from bench_views import figure, table
from contenders import OURS, ROOT, Contender, Environment, command_of, contenders, lacks
from machine import machine

from auditkit.run.versions import versions

RESULTS = Path(__file__).parent / "results"
#: A contender whose first run took longer is not run again, seconds.
LONG = 120
WHAT = (
    "Prompts of 40 invented words on average, a tenth of them not ASCII, one in a hundred a copy of an item. Whole "
    "process, warm kernels; seconds are the median of the runs, megabytes those of the prompts in UTF-8 (1 MB is "
    "1,000,000 bytes), memory is resident memory of all processes together. Recall is the share of planted rows that "
    "are flagged; auditkit flags what it condemns, and `with_review` counts what it leaves to a person too"
)


def main() -> int:
    """Measure, print and store."""
    args = _arguments()
    environments = {
        OURS: Environment(Path(sys.executable)),
        "peers": Environment(args.work / "peers" / "bin" / "python"),
        "semhash": Environment(Path(sys.executable), args.work / "semhash"),
    }
    wanted = [one for one in contenders(os.cpu_count() or 1) if not args.only or one.name in args.only]
    not_run, measured = [], []
    content = {"what": WHAT, "machine": machine(), "versions": versions(has_encoder=False)}
    _warm(environments[OURS], args.work)
    for contender in wanted:
        environment = environments[_environment_of(contender)]
        reason, packages = lacks(contender, environment)
        result = {"reason": reason} if reason else measure(contender, environment, args)
        if "reason" in result:
            not_run.append({"name": contender.name, "about": contender.about, **result})
        else:
            measured.append({"name": contender.name, "about": contender.about, "packages": packages, **result})
        _say(f"{contender.name}: {result.get('reason') or '{megabytes_per_second} MB/s'.format(**result)}")
    content |= {"megabytes": args.megabytes, "n_items": args.items, "n_planted": _planted(args)}
    content |= {"contenders": with_ratios(measured), "not_run": not_run}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    args.out.with_suffix(".svg").write_text(figure(content), "utf-8")
    sys.stdout.write(table(content))
    return 0


def measure(contender: Contender, environment: Environment, args: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a contender, or only the `reason` why there are none."""
    megabytes = min(args.megabytes, contender.most_megabytes)
    folder = data.make(args.work / "data", contender.pool, megabytes, args.items)
    runs: list[watched.Run] = []
    out = args.work / "found" / re.sub(r"[^a-z0-9]+", "-", contender.name)
    while len(runs) < args.repeats and (not runs or runs[0].seconds <= LONG):
        for path in (out, out.with_suffix(".work")):
            _remove(path)
        out.parent.mkdir(parents=True, exist_ok=True)
        command = command_of(contender, environment, folder, out)
        runs.append(watched.run(command, out.with_suffix(".log"), env=environment.variables, limit=args.limit))
        if runs[-1].status is None:
            return {"reason": f"ended after {args.limit:g} seconds on {megabytes:g} MB"}
        if runs[-1].status != 0:
            return {"reason": f"ended with status {runs[-1].status}: {_last_line(runs[-1].said)}"}
    seconds = statistics.median(run.seconds for run in runs)
    return {
        "command": _shown(command, args.work),
        "megabytes": megabytes,
        "seconds_of_runs": [round(run.seconds, 2) for run in runs],
        "seconds": round(seconds, 2),
        "processor_seconds": round(statistics.median(run.processor_seconds for run in runs), 2),
        "megabytes_per_second": round(megabytes / seconds, 4),
        "peak_megabytes": round(max(run.peak_megabytes for run in runs)),
        **found(contender, out, pl.read_parquet(folder / "truth.parquet")),
    }


def found(contender: Contender, out: Path, truth: pl.DataFrame) -> dict[str, Any]:
    """Return how well the planted copies were found."""
    if contender.program:
        return asdict(scoring.score(scoring.read_pairs(out), truth))
    with_review = scoring.score(scoring.read_audit(out, ("contaminated", "review")), truth)
    return {**asdict(scoring.score(scoring.read_audit(out), truth)), "with_review": asdict(with_review)}


def with_ratios(measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures with auditkit's speed over each peer's."""
    ours = next((one["megabytes"] / one["seconds"] for one in measured if one["name"] == OURS), None)
    if ours is None:
        return measured
    return [{**one, "auditkit_times_as_fast": round(ours * one["seconds"] / one["megabytes"], 2)} for one in measured]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=20, help="of prompts (default 20: a smoke run)")
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=1, help=f"runs of a contender that takes under {LONG} seconds")
    parser.add_argument("--limit", type=float, default=900, help="seconds after which a contender is ended")
    parser.add_argument("--only", type=lambda names: names.split(";"), help="names of contenders, divided by ;")
    parser.add_argument("--work", type=Path, default=ROOT / ".bench", help="folder of data and environments")
    parser.add_argument("--out", type=Path, default=RESULTS / "bench.json", help="the figure lies beside it, as .svg")
    args = parser.parse_args()
    args.work = args.work.absolute()
    return args


def _environment_of(contender: Contender) -> str:
    if not contender.program:
        return OURS
    return "semhash" if "semhash" in contender.packages else "peers"


def _warm(environment: Environment, work: Path) -> None:
    """Have the kernels compiled and the files of auditkit read: it is started once, on a small pool."""
    folder, out = data.make(work / "data", "pool.parquet", 1, 100), work / "found" / "warm"
    out.parent.mkdir(parents=True, exist_ok=True)
    _remove(out)
    ours = contenders(1)[0]
    done = watched.run(command_of(ours, environment, folder, out), out.with_suffix(".log"))
    if done.status != 0:
        sys.exit(f"auditkit does not run: {done.said}")


def _planted(args: argparse.Namespace) -> dict[str, int]:
    folder = data.make(args.work / "data", "pool.parquet", args.megabytes, args.items)
    counts = pl.read_parquet(folder / "truth.parquet")["kind"].value_counts().sort("kind")
    return dict(counts.iter_rows())


def _shown(command: list[str], work: Path) -> str:
    """Return a command without the paths of this machine."""
    text = " ".join([Path(command[0]).name, *command[1:]])
    return text.replace(f"{work}/", "").replace(f"{ROOT}/", "")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["nothing was said"])[-1][:200]


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _say(line: str) -> None:
    sys.stderr.write(f"bench: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
