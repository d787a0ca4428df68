"""How fast `read_texts` reads a pool, by format: MB of prompts a second, beside a plain read of the JSONL file.

    python benchmarks/reading.py [--megabytes 100] [--out benchmarks/results/reading.json]

Prompts of 40 invented words, one a row, beside an id. Each format is read once to warm up (page cache, imports), then
once measured; the plain read of the same run says what the disk and the memory of the machine give.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.metadata
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import zstandard
from machine import machine

from auditkit.read import open_pool, read_texts
from auditkit.records import ReadSettings
from auditkit.run.versions import versions

N_WORDS, N_VOCABULARY, SEED = 40, 5000, 7
PACKAGES = ("orjson", "pyarrow", "zstandard")
WHAT = (
    "read_texts, 40-word prompts, one run after one to warm up; megabytes of prompts in UTF-8 a second, the same for a "
    "second of processor time of all threads, and the speed over that of reading the JSONL file from the page cache"
)
FORMATS = ("jsonl", "jsonl.zst", "jsonl.gz", "csv", "parquet")


def prompts(n_bytes: int) -> list[str]:
    """Return prompts of 40 words that fill about `n_bytes` of JSON lines."""
    random = np.random.default_rng(SEED)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, size)) for size in random.integers(2, 10, N_VOCABULARY)]
    one = np.mean([len(word) for word in words]) * N_WORDS + N_WORDS + len('{"id": 100000, "prompt": ""}\n')
    chosen = random.integers(0, N_VOCABULARY, (int(n_bytes / one), N_WORDS))
    return [" ".join(words[i] for i in row) for row in chosen.tolist()]


def write(folder: Path, texts: list[str]) -> None:
    """Write the pool in every format."""
    lines = b"".join(json.dumps({"id": i, "prompt": text}).encode() + b"\n" for i, text in enumerate(texts))
    (folder / "pool.jsonl").write_bytes(lines)
    (folder / "pool.jsonl.zst").write_bytes(zstandard.ZstdCompressor(level=3).compress(lines))
    (folder / "pool.jsonl.gz").write_bytes(gzip.compress(lines, 6))
    with (folder / "pool.csv").open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["id", "prompt"], *enumerate(texts)])
    pl.DataFrame({"id": range(len(texts)), "prompt": texts}).write_parquet(folder / "pool.parquet")


def measured(action: Callable[[], int]) -> tuple[float, float, int]:
    """Return the seconds of the second run, its seconds of processor time over all threads, and what it returned."""
    action()
    started, used = time.perf_counter(), time.process_time()
    result = action()
    return time.perf_counter() - started, time.process_time() - used, result


def read_plainly(path: Path) -> int:
    """Return the bytes of a file, read a mebibyte at a time."""
    n_bytes = 0
    with path.open("rb", buffering=0) as stream:
        while chunk := stream.read(1 << 20):
            n_bytes += len(chunk)
    return n_bytes


def read_source(path: Path) -> Callable[[], int]:
    """Return a function that reads the texts of a file and returns their number; the digest is taken before."""
    (source,) = open_pool(str(path)).sources
    return lambda: sum(len(batch.texts) for batch in read_texts(source, ReadSettings()))


def measure(folder: Path, texts: list[str]) -> dict[str, object]:
    """Return the speeds of all formats."""
    n_text_bytes = sum(map(len, texts))
    plain_seconds, _, plain_bytes = measured(lambda: read_plainly(folder / "pool.jsonl"))
    plain = plain_bytes / 1e6 / plain_seconds
    formats = {}
    for suffix in FORMATS:
        path = folder / f"pool.{suffix}"
        seconds, processor_seconds, n_texts = measured(read_source(path))
        if n_texts != len(texts):
            sys.exit(f"{suffix}: {n_texts} texts read, {len(texts)} written")
        speed = n_text_bytes / 1e6 / seconds
        formats[suffix] = {
            "file_megabytes": round(path.stat().st_size / 1e6, 1),
            "seconds": round(seconds, 3),
            "text_megabytes_per_second": round(speed, 1),
            "text_megabytes_per_processor_second": round(n_text_bytes / 1e6 / processor_seconds, 1),
            "rows_per_second": round(n_texts / seconds),
            "share_of_plain_read": round(speed / plain, 4),
        }
    return {
        "n_rows": len(texts),
        "text_megabytes": round(n_text_bytes / 1e6, 1),
        "plain_read_megabytes_per_second": round(plain, 1),
        "formats": formats,
    }


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "reading.json")
    arguments = parser.parse_args()
    used = {**versions(has_encoder=False), **{name: importlib.metadata.version(name) for name in PACKAGES}}
    content: dict[str, object] = {"what": WHAT, "machine": machine(), "versions": used}
    with tempfile.TemporaryDirectory() as folder:
        texts = prompts(arguments.megabytes * 1_000_000)
        write(Path(folder), texts)
        result = measure(Path(folder), texts)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(content | result, indent=2) + "\n", "utf-8")
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
