"""How long near-duplicate families take, and which near pairs they miss, against an exhaustive search.

    python benchmarks/families.py POOL [--sample 100] [--out benchmarks/results/families.json]

POOL is `pool.jsonl` of shared/checks/dual.py, or any pool of short prompts. Two searches are exhaustive: every pair of
distinct prompts of at most 1,000 characters by rapidfuzz (near copies), and every prompt against a sample of others by
the audit's verification itself (near and contained copies). What they find and the rules condemn must be one family.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
from machine import machine
from rapidfuzz import process
from rapidfuzz.distance import Indel

from auditkit.detect.protocol import Rows, candidates
from auditkit.families import Components
from auditkit.read import open_pool
from auditkit.records import LEXICAL_TIERS
from auditkit.run.versions import versions
from auditkit.stories.families import joining_texts
from auditkit.stories.near import FamilySettings, NearIndex, self_join
from auditkit.stories.pool_rows import read_rows
from auditkit.verify.condemned import condemned
from auditkit.verify.scores import by_word

MAX_TEXTS = (32, 128)
LONGEST, BLOCK, SEED = 1000, 512, 1
TIERS = frozenset(LEXICAL_TIERS)


def alike(texts: list[str], least: float) -> np.ndarray:
    """Return all pairs of texts whose Indel similarity reaches `least`: int64 [n, 2]."""
    order = np.argsort([len(text) for text in texts], kind="stable")
    ordered = [texts[i] for i in order]
    sizes = np.array([len(text) for text in ordered])
    found = [np.empty((0, 2), np.int64)]
    for start in range(0, len(ordered), BLOCK):
        block = ordered[start : start + BLOCK]
        # 1 - (b - a) / (a + b) >= s is b <= a (2 - s) / s: longer texts cannot reach it.
        end = int(np.searchsorted(sizes, len(block[-1]) * (2 - least) / least, side="right"))
        scores = process.cdist(
            block, ordered[start:end], scorer=Indel.normalized_similarity, score_cutoff=least - 1e-9, dtype=np.float32
        )
        left, right = np.nonzero(scores)
        is_once = left < right
        found.append(np.stack([order[start + left[is_once]], order[start + right[is_once]]], axis=1))
    return np.concatenate(found)


def truth(index: NearIndex, rows: Rows, sample: int) -> dict[str, pl.DataFrame]:
    """Return what the two exhaustive searches find and the rules condemn: frames of `unit` and `text`."""
    rules, texts = index.prepared.rules, index.texts.canonicals
    short = np.array([i for i, text in enumerate(texts) if len(text) <= LONGEST], np.int64)
    by_letter = alike([texts[i] for i in short], min(rules.near.ratio, rules.near.common_ratio))
    by_words = alike(by_word([texts[i] for i in short]), rules.near.token_sort)
    pairs = np.unique(np.sort(short[np.concatenate([by_letter, by_words])], axis=1), axis=0)
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    chosen = np.random.default_rng(SEED).choice(len(texts), min(sample, len(texts)), replace=False)
    grid = np.stack(np.meshgrid(np.sort(chosen), np.arange(len(texts)), indexing="ij"), axis=-1).reshape(-1, 2)
    grid = grid[grid[:, 0] != grid[:, 1]]
    return {"every_near_pair": _condemned(pairs, index, rows), "sample_by_verification": _condemned(grid, index, rows)}


def _condemned(pairs: np.ndarray, index: NearIndex, rows: Rows) -> pl.DataFrame:
    unit, text = pairs[:, 0].copy(), pairs[:, 1].copy()
    every = candidates("exhaustive", unit, text, np.zeros(len(unit), np.int64), rows.tokens.lengths[unit])
    return condemned(every, rows.texts, rows.tokens, index.prepared, TIERS)


def measure(pool: Path, sample: int) -> dict[str, object]:
    """Return times and misses for each setting."""
    settings = FamilySettings()
    texts = joining_texts(read_rows(open_pool(str(pool)), settings.read).texts)["text"]
    self_join(texts.head(100), settings)  # kernels are compiled
    index = NearIndex.make(texts, settings)
    first = index.texts.parts.unique("text_index", keep="first", maintain_order=True).sort("text_index")["text"]
    known = truth(index, Rows(first, index.texts.tokens), sample)
    results: dict[str, object] = {}
    for max_texts in MAX_TEXTS:
        started, cpu = time.perf_counter(), time.process_time()
        links = self_join(texts, FamilySettings(max_texts=max_texts)).links
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
        graph = Components(len(first))
        graph.join(links["left"].to_numpy(), links["right"].to_numpy())
        root = graph.roots()
        found = {"seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1), "n_links": len(links)}
        for name, pairs in known.items():
            n_apart = int((root[pairs["unit"].to_numpy()] != root[pairs["text"].to_numpy()]).sum())
            found |= {f"{name}_n": len(pairs), f"{name}_n_missed": n_apart}
        results[f"max_texts {max_texts}"] = found
    return {"n_texts": len(texts), "n_distinct": len(first), "n_sampled": min(sample, len(first)), "settings": results}


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pool", type=Path)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "families.json")
    arguments = parser.parse_args()
    content = {"what": __doc__.partition("\n")[0], "machine": machine(), "versions": versions(has_encoder=False)}
    result = measure(arguments.pool, arguments.sample)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(content | result, indent=2) + "\n", "utf-8")
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
