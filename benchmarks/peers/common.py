"""What every peer's program shares: reading pool and items, writing which rows it flags.

Pool and items are those of `benchmarks/pools.py`. A program is called as `python benchmarks/peers/NAME.py POOL ITEMS
OUT` and writes OUT: a header `row,item`, then a line a flagged pair, the item left empty where the peer names none. It
runs in an environment of its own, without auditkit.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

Pairs = Iterable[tuple[int, int | None]]

BATCH_ROWS = 10_000
#: The CPUs that this process may use.
N_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WORD = re.compile(r"\w+")


def arguments(parser: argparse.ArgumentParser | None = None) -> argparse.Namespace:
    """Return pool, items and out, and what else the parser knows."""
    parser = parser or argparse.ArgumentParser()
    parser.add_argument("pool", type=Path)
    parser.add_argument("items", type=Path)
    parser.add_argument("out", type=Path)
    return parser.parse_args()


def items_of(path: Path) -> list[str]:
    """Return the items' texts."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def batches(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the prompts of a Parquet pool: number of the first row, texts."""
    import pyarrow.parquet as pq

    first = 0
    for batch in pq.ParquetFile(path).iter_batches(BATCH_ROWS, columns=["prompt"]):
        texts = batch.column(0).to_pylist()
        yield first, texts
        first += len(texts)


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return WORD.findall(text.lower())


def write_pairs(path: Path, pairs: Pairs) -> None:
    """Write the flagged pairs."""
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["row", "item"])
        writer.writerows(pairs)
