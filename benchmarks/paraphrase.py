"""How fast the paraphrase tier is, beside plain encoding in the same run, and what its sieve loses.

    python benchmarks/paraphrase.py --pool FILE... --benchmark FILE... [--rows 53000] [--items 2000] [--recall]
                                    [--encoder minilm] [--plain 1000] [--out benchmarks/results/paraphrase.json]

The pool's distinct texts are made up to --rows by joining the first half of one to the second half of another, so that
they stay texts of that kind without being copies. Measured, in one process and one thread beside the encoder's own:

- plain: the encoder on --plain of the rows (those with the smallest digests), all at once;
- first: the tier on all rows, with the items' vectors and the static model made before (their time is told apart);
- again: the same rows once more, as a second audit of the pool;
- with --recall, every row is embedded, and the pairs are compared.

Pairs that a lexical tier has count for nothing, as in an audit. Vectors go to a temporary folder, or with --cache to
one that stays; a run with --recall takes as long as plain encoding of all rows, once.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from auditkit import read
from auditkit.detect.paraphrase import Found, ParaphraseDetector, ParaphraseIndex, share
from auditkit.detect.protocol import Rows
from auditkit.records import LEXICAL_TIERS, ReadSettings
from auditkit.run.versions import versions
from auditkit.stories.scan import Scanner
from auditkit.stories.settings import AuditSettings
from auditkit.text.encode import load_encoder
from auditkit.text.items import ItemTexts
from auditkit.text.normalise import tokenise
from auditkit.text.static import as_token_encoder, token_table
from auditkit.text.vectors import Embedder, VectorStore, text_keys
from auditkit.verify.matches import verify

SHARD_ROWS, SEED = 20_000, 7
KEYS = ["row", "text"]


class Clock:
    """Seconds of wall and of processor time over all threads since it was made."""

    def __init__(self) -> None:
        self.wall, self.processor = time.perf_counter(), time.process_time()

    def rates(self, n: int) -> dict[str, float]:
        """Return what passed, and n a second of each."""
        wall, processor = time.perf_counter() - self.wall, time.process_time() - self.processor
        return {
            "seconds": round(wall, 2),
            "processor_seconds": round(processor, 2),
            "rows_per_second": round(n / wall, 1),
            "rows_per_processor_second": round(n / processor, 1),
        }


def pool_texts(paths: list[str], n: int) -> list[str]:
    """Return n texts: the distinct ones of the files, and joined halves of them."""
    settings = ReadSettings()
    batches = [
        batch for source in read.open_pool(paths, settings).sources for batch in read.read_texts(source, settings)
    ]
    own = pl.concat([batch.texts["text"] for batch in batches]).unique(maintain_order=True)
    random, texts = np.random.default_rng(SEED), own.head(n).to_list()
    cut = [text.split() for text in texts if len(text.split()) > 3]
    while len(texts) < n:
        left, right = (cut[int(i)] for i in random.integers(0, len(cut), 2))
        texts.append(" ".join(left[: len(left) // 2] + right[len(right) // 2 :]))
    return texts


def first_items(texts: ItemTexts, n: int) -> ItemTexts:
    """Return n of the item texts."""
    return replace(texts, parts=texts.parts.filter(pl.col("text_index") < n))


def shards(texts: list[str], scanner: Scanner) -> Iterator[tuple[Rows, pl.DataFrame]]:
    """Yield the rows of each shard, and the pairs that a lexical tier has."""
    for start in range(0, len(texts), SHARD_ROWS):
        series = pl.Series("text", texts[start : start + SHARD_ROWS])
        rows = Rows(series, tokenise(series))
        proposed = pl.concat([index.scan(rows) for index in scanner.lexical.values()])
        found = verify(proposed, series, rows.tokens, scanner.prepared, frozenset(LEXICAL_TIERS))
        yield rows, found.pairs.select("unit", "text")


def search(index: ParaphraseIndex, known: list[tuple[Rows, pl.DataFrame]]) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the pairs of all shards by row of the pool, and the sums of their counts."""
    found: list[Found] = [index.search(rows, pairs) for rows, pairs in known]
    pairs = [
        one.candidates.select((pl.col("unit") + i * SHARD_ROWS).alias("row"), "text", "cosine")
        for i, one in enumerate(found)
    ]
    return pl.concat(pairs), {name: sum(one.counts[name] for one in found) for name in found[0].counts}


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return all figures."""
    texts = pool_texts(arguments.pool, arguments.rows)
    settings = AuditSettings()
    scanner = Scanner.make(read.open_benchmarks(arguments.benchmark), settings, settings.all_rules(), n_pool_bytes=0)
    items, encoder = first_items(scanner.texts, arguments.items), load_encoder(arguments.encoder)
    encoder.encode(texts[:8])
    known = list(shards(texts, scanner))
    result: dict[str, Any] = {"n_rows": len(texts), "mean_characters": round(float(np.mean([*map(len, texts)])), 1)}

    source = as_token_encoder(encoder)
    if source is not None:
        clock = Clock()
        table = token_table(source)
        result["static_model"] = {"n_tokens": len(table)} | clock.rates(len(table))
    sample = [texts[i] for i in np.argsort(text_keys(texts))[: arguments.plain]]
    clock = Clock()
    encoder.encode(sample)
    result["plain"] = {"n_rows": len(sample)} | clock.rates(len(sample))

    embedder = Embedder(encoder, VectorStore(folder))
    detector = ParaphraseDetector(encoder, scanner.prepared.rules.paraphrase.threshold(encoder.name), embedder=embedder)
    clock = Clock()
    index = detector.index(items)
    result["index"] = {"n_items": len(index.texts)} | clock.rates(len(index.texts))
    for name in ("first", "again"):
        clock = Clock()
        pairs, counts = search(index, known)
        result[name] = clock.rates(len(texts))
    result["tier"] = index.describe(counts)
    result["over_plain"] = round(result["first"]["rows_per_second"] / result["plain"]["rows_per_second"], 2)
    result["over_plain_by_processor_time"] = round(
        result["first"]["rows_per_processor_second"] / result["plain"]["rows_per_processor_second"], 2
    )
    if arguments.recall:
        every, _ = search(replace(index, sieve=None), known)
        result["recall"] = share(len(every.join(pairs, on=KEYS, how="semi")), len(every))
    return result


def machine() -> dict[str, object]:
    """Return what the figures were measured on."""
    model, info = platform.processor(), Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(": ")[2] if names else model
    load = round(os.getloadavg()[0], 2)
    return {"system": platform.system(), "processor": model, "n_cores": os.cpu_count(), "load_before": load}


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pool", nargs="+", required=True)
    parser.add_argument("--benchmark", nargs="+", required=True)
    parser.add_argument("--rows", type=int, default=53_000)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--plain", type=int, default=1_000)
    parser.add_argument("--recall", action="store_true")
    parser.add_argument("--cache", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "paraphrase.json")
    arguments = parser.parse_args()
    content: dict[str, object] = {"what": __doc__.partition("\n")[0], "machine": machine()}
    content["versions"] = versions(has_encoder=True)
    content["pool"] = [Path(path).name for path in arguments.pool]
    content["benchmark"] = [Path(path).name for path in arguments.benchmark]
    with tempfile.TemporaryDirectory() as folder:
        result = measure(arguments, arguments.cache or Path(folder))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(content | result, indent=2) + "\n", "utf-8")
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
