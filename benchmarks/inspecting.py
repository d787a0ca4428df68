"""What inspecting a pool costs, by part, and how often languages and broken decoding are told wrong.

    python benchmarks/inspecting.py SHARED_DATA [--megabytes 100] [--rows 10000 20000 40000 360000 1447203]

SHARED_DATA is the folder of published prompts. The pool is made of its English prompts, half of the words of each taken
from others, until it is so large; families are measured on its first rows, so many of them.
Languages: prompts whose language is known. Mojibake: the same prompts, clean, and as cp1252 reads their UTF-8.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from machine import machine

from auditkit.run.versions import INSPECTION_PACKAGES, versions
from auditkit.text.damage import damage_of
from auditkit.text.languages import UNKNOWN, languages_of
from auditkit.text.scripts import scripts_of

SEED = 1
CSV = {
    "jailbreakbench": ("*.csv", "Goal"),
    "xstest": ("*prompts*.csv", "prompt"),
    "hatecheck": ("*.csv", "test_case"),
    "hatemoji": ("*_test.csv", "text"),
}

CHILD = """
import json, resource, sys, time
from auditkit.stories.inspect import inspect_pool
from auditkit.stories.inspect_settings import InspectSettings
pool, out, families = sys.argv[1:]
started, cpu = time.perf_counter(), time.process_time()
found = inspect_pool(pool, out, settings=InspectSettings(families=families == "True"))
print(json.dumps({"n_rows": found.n_rows, "n_families": found.families and sum(
    n["n_families"] for n in found.families.kinds.values()), "seconds": round(time.perf_counter() - started, 1),
    "cpu_seconds": round(time.process_time() - cpu, 1),
    "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}))
"""


def prompts(data: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (set, language, prompt)."""
    for name, (pattern, column) in CSV.items():
        for path in sorted((data / name).glob(pattern)):
            yield from ((name, "en", text) for text in pl.read_csv(path)[column].drop_nulls())
    for line in (data / "pairs/multijail_0_159.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        yield from (("multijail", code, record[code]) for code in ("en", "zh", "it", "vi", "ar") if record.get(code))


def guesses(data: Path) -> list[dict[str, Any]]:
    """Return for each set and language how languages and mojibake were told."""
    sets: dict[tuple[str, str], list[str]] = {}
    for name, code, text in prompts(data):
        sets.setdefault((name, code), []).append(text)
    results = []
    for (name, code), texts in sets.items():
        series = pl.Series(texts, dtype=pl.String)
        found = languages_of(series, scripts_of(series)["n_letters"])
        broken = [text.encode().decode("cp1252", errors="replace") for text in texts if not text.isascii()]
        results.append({
            "set": name, "language": code, "n": len(texts), "n_right": int((found == code).sum()),
            "n_unknown": int((found == UNKNOWN).sum()), "n_clean_called_mojibake":
            int(damage_of(series)["has_mojibake"].sum()), "n_broken": len(broken), "n_broken_found":
            int(damage_of(pl.Series(broken, dtype=pl.String))["has_mojibake"].sum()),
        })  # fmt: skip
    return results


def write_pool(data: Path, path: Path, n_bytes: int) -> int:
    """Write a pool of so many bytes and return its rows."""
    rng, english = random.Random(SEED), [text for _, code, text in prompts(data) if code == "en"]
    words = sorted({word for text in english for word in text.split()})
    n_rows = 0
    with path.open("w", encoding="utf-8") as stream:
        while stream.tell() < n_bytes:
            text = " ".join(rng.choice(words) if rng.random() < 0.5 else word for word in rng.choice(english).split())
            stream.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            n_rows += 1
    return n_rows


def costs(data: Path, megabytes: int, sizes: list[int]) -> dict[str, Any]:
    """Return seconds and memory: of the whole pool without families, and of its first rows with them."""
    with tempfile.TemporaryDirectory() as folder:
        pool = Path(folder, "pool.jsonl")
        write_pool(data, pool, megabytes << 20)
        parts = {n: _part(pool, n) for n in sizes}
        run(parts[min(sizes)], Path(folder, "warm"), True)  # kernels are compiled
        return {
            "megabytes": megabytes,
            "without_families": run(pool, Path(folder, "whole"), False),
            "with_families": [run(part, Path(folder, f"out {n}"), True) for n, part in parts.items()],
        }


def _part(pool: Path, n_rows: int) -> Path:
    """Return a file of the first rows of a pool."""
    part = pool.with_name(f"part {n_rows}.jsonl")
    with pool.open(encoding="utf-8") as lines:
        part.write_text("".join(islice(lines, n_rows)), "utf-8")
    return part


def run(pool: Path, out: Path, has_families: bool) -> dict[str, Any]:
    made = subprocess.run(
        [sys.executable, "-c", CHILD, pool, out, str(has_families)], capture_output=True, text=True, check=True
    )
    return dict(json.loads(made.stdout))


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000, 40_000, 360_000, 1_447_203])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "inspecting.json")
    arguments = parser.parse_args()
    content = {
        "what": __doc__.partition("\n")[0],
        "machine": machine(),
        "versions": versions(has_encoder=False, more=INSPECTION_PACKAGES),
        "guesses": guesses(arguments.data),
        "costs": costs(arguments.data, arguments.megabytes, arguments.rows),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    sys.stdout.write(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
