"""corpus-assay: its command line, over the pool's JSONL parts with a worker a core; defaults are n = 13, three hits."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from common import N_CORES, arguments, write_pairs

#: More rows than any pool here has: without it only a sample of the flagged rows is written.
ALL_RECORDS = 1_000_000_000


def write_config(path: Path, items: Path, n: int, min_hits: int) -> None:
    """Write the configuration; JSON is YAML."""
    files = {"test": str(items.resolve())}
    benchmark = {"name": "items", "dataset": "json", "data_files": files, "splits": ["test"], "fields": ["text"]}
    path.write_text(json.dumps({"benchmarks": [benchmark], "ngram": n, "min_hits": min_hits}), "utf-8")


def call(*words: object) -> None:
    """Run corpus-assay; it has to succeed."""
    program = Path(sys.executable).with_name("corpus-assay")
    subprocess.run([program, *map(str, words)], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})


def flagged(found: Path) -> Iterator[tuple[int, int]]:
    """Yield row and item of every hit; items are numbered in the order of the index, which is that of the file."""
    summary = json.loads((found / "_FINAL_SUMMARY.json").read_text("utf-8"))
    if summary["failed_files"]:
        sys.exit(f"corpus-assay failed on {summary['failed_files']} of {summary['total_files']} files")
    for path in sorted((found / "contaminated_docs").glob("*.ndjson")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                row = int(document["doc_id"].partition("-")[0])
                yield from ((row, hit["item_id"]) for hit in document["item_hits"])


def main() -> None:
    """Build the index and scan the pool."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=13)
    parser.add_argument("--min-hits", type=int, default=3)
    args = arguments(parser)
    work = args.out.with_suffix(".work")
    work.mkdir(parents=True)
    config, index, found = work / "config.yaml", work / "items.native", work / "found"
    write_config(config, args.items, args.n, args.min_hits)
    call("build-index", "--config", config, "--out-index", index, "--allow-unpinned")
    keys = ("--text-key", "prompt", "--id-key", "id", "--workers", N_CORES, "--max-return-records", ALL_RECORDS)
    call("scan", "--input", args.pool, "--index", index, "--out-dir", found, "--config", config, *keys)
    write_pairs(args.out, flagged(found))


if __name__ == "__main__":
    main()
