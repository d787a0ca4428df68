"""decon (package `decontaminate`): its `simple` mode, over the pool's JSONL parts with a thread a core.

The parts' names are the numbers of their first rows. --any-length examines items of any length; by default decon leaves
out those below 20 tokens or 4 different words.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import decon
from common import N_CORES, arguments, items_of, write_pairs


def write_evals(folder: Path, items: list[str]) -> None:
    """Write the items in decon's own format."""
    folder.mkdir(parents=True)
    with (folder / "items.jsonl").open("w", encoding="utf-8") as out:
        for number, text in enumerate(items):
            names = {"eval_key": "items", "eval_instance_index": number, "split": "test", "fingerprint": str(number)}
            out.write(json.dumps({**names, "doc_id": number, "question": text}) + "\n")


def flagged(reports: Path) -> Iterator[tuple[int, int]]:
    """Yield row and item of every report line."""
    for path in sorted(reports.rglob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                hit = json.loads(line)
                first = int(Path(hit["training_file"]).name.partition(".")[0])
                yield first + hit["training_line"], int(hit["eval_instance_index"])


def main() -> None:
    """Scan the pool."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--any-length", action="store_true")
    args = arguments(parser)
    work = args.out.with_suffix(".work")
    write_evals(work / "evals", items_of(args.items))
    least = {"eval_min_token_length": 0, "eval_min_unique_word_count": 0} if args.any_length else {}
    paths = {"training_dir": str(args.pool), "evals_dir": str(work / "evals"), "report_output_dir": str(work / "found")}
    decon.detect(decon.Config(**paths, content_key="prompt", worker_threads=N_CORES, **least))
    write_pairs(args.out, flagged(work / "found"))


if __name__ == "__main__":
    main()
