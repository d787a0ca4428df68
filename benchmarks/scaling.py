"""How the audit scales: MB/s by format, time and memory by size of pool and number of items, start-up, index.

    python benchmarks/scaling.py [--sizes 100,1000,5000] [--many-items 500000] [--paraphrase 20]
                                 [--repeats 3] [--work .bench] [--out benchmarks/results/scaling.json]

Pools are those of pools.py, kept in WORK. Audits are whole processes with warm kernels, figures the median of the runs.
The two bounds are measured in the same run: reading alone, and reading with normalising (all that comes before the
search), by the audit's own engine in this process, without its start-up.
"""

from __future__ import annotations

import argparse
import json
import pickle
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import data
import watched
from contenders import ROOT
from machine import machine

from auditkit.read import open_benchmarks, read_texts
from auditkit.records import ReadSettings, TextBatch
from auditkit.run.engine import cores, run_local
from auditkit.run.versions import versions
from auditkit.stories.scan import Scanner
from auditkit.stories.settings import AuditSettings
from auditkit.stories.task import Piece, open_task
from auditkit.text.normalise import tokenise

N_ITEMS = 5000
FORMATS = ("parquet", "jsonl.zst")
WHAT = (
    "Invented prompts of 40 words on average against invented items, tiers exact, contained and near. Whole process, "
    "median of the runs; megabytes are those of the prompts in UTF-8 (1 MB is 1,000,000 bytes); peak memory is resident"
)


@dataclass(frozen=True)
class Bench:
    """How audits are measured.

    Attributes:
        work: folder of data and outputs.
        repeats: runs of each.
    """

    work: Path
    repeats: int

    def audit(self, folder: Path, form: str, *more: str, env: dict[str, str] | None = None) -> watched.Run:
        """Return one run of `auditkit audit` on the pool of a folder; it has to succeed."""
        out = self.work / "found" / "scaling"
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(out, ignore_errors=True)
        program = Path(sys.executable).with_name("auditkit")
        pool, items = folder / f"pool.{form}", folder / "items.jsonl"
        command = [program, "audit", pool, "--benchmark", items, "--out", out, *more]
        run = watched.run(list(map(str, command)), out.with_suffix(".log"), env=env)
        if run.status != 0:
            sys.exit(f"an audit of {pool} ended with status {run.status}: {run.said}")
        return run

    def speed(self, megabytes: float, n_items: int = N_ITEMS, form: str = "parquet", *more: str) -> dict[str, Any]:
        """Return seconds, MB/s and memory of audits of one pool."""
        folder = data.make(self.work / "data", f"pool.{form}", megabytes, n_items)
        runs = [self.audit(folder, form, *more) for _ in range(self.repeats)]
        seconds = statistics.median(run.seconds for run in runs)
        processor = statistics.median(run.processor_seconds for run in runs)
        return {
            "megabytes": megabytes,
            "n_items": n_items,
            "seconds_of_runs": [round(run.seconds, 2) for run in runs],
            "seconds": round(seconds, 2),
            "processor_seconds": round(processor, 2),
            "megabytes_per_second": round(megabytes / seconds, 1),
            "megabytes_per_processor_second": round(megabytes / processor, 1),
            "peak_megabytes": round(max(run.peak_megabytes for run in runs)),
            "stages_of_last_run": self._stages(),
        }

    def _stages(self) -> dict[str, float]:
        timing = json.loads((self.work / "found" / "scaling" / "timing.json").read_text("utf-8"))
        return {stage: round(seconds, 3) for stage, seconds in sorted(timing["seconds"].items())}


# ---------------------------------------------------------------- bounds


@dataclass(frozen=True)
class Bound:
    """The engine's work without the search: shards are read, and `step` is done to each."""

    step: Callable[[TextBatch], object]

    def read(self, piece: Piece) -> Iterator[TextBatch]:
        """Yield the shards of a piece."""
        return read_texts(piece.source, ReadSettings(), row_groups=piece.row_groups)

    def scan(self, shard: TextBatch) -> None:
        """Do the step."""
        self.step(shard)


STEPS: dict[str, Callable[[TextBatch], object]] = {
    "reading": lambda batch: None,
    "reading_and_normalising": lambda batch: tokenise(batch.texts["text"]),
}


def bounds(bench: Bench, megabytes: float, form: str) -> dict[str, float]:
    """Return MB/s of reading, and of reading and normalising: the second of two runs, files and kernels warm."""
    folder = data.make(bench.work / "data", f"pool.{form}", megabytes, N_ITEMS)
    task = open_task(str(folder / f"pool.{form}"), str(folder / "items.jsonl"), AuditSettings(), None, False)
    found = {}
    for name, step in STEPS.items():
        for _ in range(2):
            started = time.perf_counter()
            for _ in run_local(Bound(step), task.pieces, cores()):
                pass
            found[name] = round(megabytes / (time.perf_counter() - started), 1)
    return found


# ---------------------------------------------------------------- start-up and index


def start_up(bench: Bench, has_cold: bool) -> dict[str, float]:
    """Return seconds of an audit of ten rows, with a warm cache (median) and, if asked for, an empty one (once)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = "".join(json.dumps({"prompt": f"a prompt with the number {row} in it"}) + "\n" for row in range(10))
        for file in ("pool.jsonl", "items.jsonl"):
            (folder / file).write_text(rows, "utf-8")
        bench.audit(folder, "jsonl")
        warm = [bench.audit(folder, "jsonl").seconds for _ in range(bench.repeats)]
        found = {"warm_seconds": round(statistics.median(warm), 2)}
        if has_cold:
            (folder / "cache").mkdir()
            env = {"AUDITKIT_CACHE": str(folder / "cache")}
            found["cold_seconds"] = round(bench.audit(folder, "jsonl", env=env).seconds, 2)
    return found


def index_cost(bench: Bench, megabytes: float, n_items: int) -> dict[str, Any]:
    """Return what an index costs: seconds to make it, bytes as sent to a node, seconds to pack and unpack."""
    folder = data.make(bench.work / "data", "pool.parquet", megabytes, n_items)
    settings = AuditSettings()
    started = time.perf_counter()
    scanner = Scanner.make(open_benchmarks(str(folder / "items.jsonl")), settings, settings.all_rules(), 0)
    made = time.perf_counter()
    sent = pickle.dumps(scanner)
    packed = time.perf_counter()
    pickle.loads(sent)
    unpacked = time.perf_counter()
    return {
        "n_items": n_items,
        "seconds_to_make": round(made - started, 2),
        "megabytes_sent": round(len(sent) / 1e6, 1),
        "bytes_per_item": round(len(sent) / n_items),
        "seconds_to_pack": round(packed - made, 2),
        "seconds_to_unpack": round(unpacked - packed, 2),
    }


def paraphrase(bench: Bench, megabytes: float) -> dict[str, Any]:
    """Return the cost of the paraphrase tier on a small pool, no vector known before, kernels compiled."""
    folder = data.make(bench.work / "data", "pool.parquet", megabytes, N_ITEMS)
    lexical = bench.audit(folder, "parquet")
    with tempfile.TemporaryDirectory() as cache:
        env = {"AUDITKIT_CACHE": cache}
        bench.audit(folder, "parquet", env=env)
        run = bench.audit(folder, "parquet", "--tiers", "all", env=env)
    return {
        "megabytes": megabytes,
        "n_items": N_ITEMS,
        "seconds": round(run.seconds, 1),
        "processor_seconds": round(run.processor_seconds, 1),
        "seconds_beyond_lexical": round(run.seconds - lexical.seconds, 1),
        "processor_seconds_beyond_lexical": round(run.processor_seconds - lexical.processor_seconds, 1),
        "peak_megabytes": round(run.peak_megabytes),
    }


# ---------------------------------------------------------------- all


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Return all figures."""
    bench, sizes = Bench(args.work.absolute(), args.repeats), args.sizes
    middle = sizes[len(sizes) // 2]
    bench.audit(data.make(bench.work / "data", "pool.parquet", sizes[0], N_ITEMS), "parquet")  # compiles the kernels
    formats = {form: {**bench.speed(middle, form=form), "bounds": bounds(bench, middle, form)} for form in FORMATS}
    by_size = [bench.speed(size) if size != middle else _plain(formats["parquet"]) for size in sizes]
    many = bench.speed(middle, args.many_items)
    return {
        "formats": formats,
        "sizes": by_size,
        "time_growth": growth(by_size),
        "many_items": many,
        "speed_with_many_items": round(formats["parquet"]["seconds"] / many["seconds"], 3),
        "start_up": start_up(bench, args.cold),
        "index": [index_cost(bench, middle, n_items) for n_items in (N_ITEMS, args.many_items)],
        "paraphrase": paraphrase(bench, args.paraphrase) if args.paraphrase else None,
    }


def growth(sizes: list[dict[str, Any]]) -> list[dict[str, float]]:
    """Return, for each size and the next, how time grows over how the pool grows: 1 is in proportion."""
    return [
        {
            "from_megabytes": small["megabytes"],
            "to_megabytes": large["megabytes"],
            "growth": round(large["seconds"] / small["seconds"] / (large["megabytes"] / small["megabytes"]), 3),
        }
        for small, large in pairwise(sizes)
    ]


def _plain(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name != "bounds"}


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: [float(size) for size in text.split(",")], default="100,1000,5000")
    parser.add_argument("--many-items", type=int, default=500_000)
    parser.add_argument("--paraphrase", type=float, default=20, help="megabytes for that tier; 0 leaves it out")
    parser.add_argument("--cold", action=argparse.BooleanOptionalAction, default=True, help="measure a cold start")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", type=Path, default=ROOT / ".bench")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "scaling.json")
    args = parser.parse_args()
    content = {"what": WHAT, "machine": machine(), "versions": versions(has_encoder=bool(args.paraphrase))}
    content |= measure(args)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    sys.stdout.write(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
