"""The forms of an invented pool that detectors read: as `pools.py` makes it, and in parts for those that want files."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import polars as pl
import pools

N_PARTS = 8
WRITERS: dict[str, tuple[str, Callable[[pl.DataFrame, Path], None]]] = {
    "parts-jsonl": (".jsonl", lambda rows, path: rows.write_ndjson(path)),
    "parts-parquet": (".parquet", lambda rows, path: rows.write_parquet(path)),
}


def make(folder: Path, form: str, megabytes: float, n_items: int) -> Path:
    """Return the folder of a pool of that size, in that form; what is there already is taken as it is.

    Args:
        folder: of all pools.
        form: "pool.parquet", "pool.jsonl.zst", or a key of WRITERS: a folder of N_PARTS files, each named by the number
            of its first row.
        megabytes: of prompts.
        n_items: of the benchmark.
    """
    own = folder / f"{megabytes:g}mb-{n_items}"
    if form in WRITERS:
        pools.write(own, megabytes, n_items)
        _write_parts(own, form)
    else:
        pools.write(own, megabytes, n_items, form.removeprefix("pool."))
    return own


def _write_parts(own: Path, form: str) -> None:
    target, (suffix, write) = own / form, WRITERS[form]
    if target.exists():
        return
    spare = own / f"{form}.part"
    spare.mkdir(exist_ok=True)
    pool = pl.scan_parquet(own / "pool.parquet")
    n_rows = pool.select(pl.len()).collect().item()
    bounds = [n_rows * part // N_PARTS for part in range(N_PARTS + 1)]
    for first, end in pairwise(bounds):
        write(pool.slice(first, end - first).collect(), spare / f"{first:012d}{suffix}")
    spare.rename(target)
