"""datasketch: MinHash of a row's words, LSH over the items' (Jaccard 0.7, 128 permutations, its own bands)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from common import arguments, batches, items_of, words, write_pairs
from datasketch import MinHash, MinHashLSH

THRESHOLD, PERMUTATIONS = 0.7, 128


def signatures(texts: list[str]) -> list[MinHash]:
    """Return the MinHash of every text's words."""
    return MinHash.bulk([[word.encode() for word in words(text)] for text in texts], num_perm=PERMUTATIONS)


def pairs(pool: Path, items: Path) -> Iterator[tuple[int, int]]:
    """Yield row and item of every pair that the LSH proposes."""
    index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    for item, signature in enumerate(signatures(items_of(items))):
        index.insert(item, signature)
    for first, texts in batches(pool):
        for row, signature in enumerate(signatures(texts), first):
            for item in sorted(index.query(signature)):
                yield row, item


def main() -> None:
    """Scan the pool."""
    args = arguments()
    write_pairs(args.out, pairs(args.pool, args.items))


if __name__ == "__main__":
    main()
