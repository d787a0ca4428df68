"""datatrove: its n-gram filter (12 words), over the pool's Parquet parts with a worker a core; it names no items.

The index is made with datatrove's own functions: the step that would make it asks for lighteval, not needed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import N_CORES, arguments, items_of, write_pairs
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.hashing import create_hash_func
from datatrove.utils.text import ngrams, simplify_text
from datatrove.utils.word_tokenizers import load_word_tokenizer

LANGUAGE = "eng"


def write_index(folder: Path, items: list[str], config: NGramsDecontConfig) -> None:
    """Write the hashes of the items' n-grams as the filter reads them."""
    tokenizer, hashed = load_word_tokenizer(LANGUAGE), create_hash_func(config.hash_config)
    found = set()
    for text in items:
        tokens = tokenizer.word_tokenize(simplify_text(text, config.norm_config))
        found.update(hashed(" ".join(gram)) for gram in ngrams(tokens, config.n_grams))
    folder.mkdir(parents=True)
    np.array(sorted(found), dtype=config.hash_config.np_descr).tofile(folder / "items.index.hashes")


def run(pool: Path, work: Path, config: NGramsDecontConfig) -> None:
    """Write the excluded documents below work/excluded."""
    writer = JsonlWriter(str(work / "excluded"), compression=None)
    steps = [
        ParquetReader(str(pool), text_key="prompt", id_key="id"),
        NGramsDecontFilter(str(work / "index"), config, exclusion_writer=writer, language=LANGUAGE),
    ]
    LocalPipelineExecutor(steps, tasks=N_CORES, workers=N_CORES, logging_dir=str(work / "logs")).run()


def excluded(work: Path) -> Iterator[tuple[int, None]]:
    """Yield the rows that the filter took out."""
    for path in sorted((work / "excluded").rglob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield int(json.loads(line)["id"]), None


def main() -> None:
    """Scan the pool."""
    args = arguments()
    work, config = args.out.with_suffix(".work"), NGramsDecontConfig()
    write_index(work / "index", items_of(args.items), config)
    run(args.pool, work, config)
    write_pairs(args.out, excluded(work))


if __name__ == "__main__":
    main()
