"""rensa: MinHash of a row's words, LSH over the items' (Jaccard 0.7, 128 permutations)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import rensa
from common import arguments, batches, items_of, words, write_pairs

THRESHOLD, PERMUTATIONS = 0.7, 128


def pairs(pool: Path, items: Path) -> Iterator[tuple[int, int]]:
    """Yield row and item of every pair that the LSH proposes."""
    index = rensa.RMinHashDeduplicator(threshold=THRESHOLD, num_perm=PERMUTATIONS, use_lsh=True)
    index.add_pairs([(str(item), words(text)) for item, text in enumerate(items_of(items))])
    for first, texts in batches(pool):
        for row, found in enumerate(index.get_duplicate_sets([words(text) for text in texts]), first):
            for item in found:
                yield row, int(item)


def main() -> None:
    """Scan the pool."""
    args = arguments()
    write_pairs(args.out, pairs(args.pool, args.items))


if __name__ == "__main__":
    main()
