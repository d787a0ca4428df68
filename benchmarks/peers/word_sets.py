"""Word 8-gram sets: a row that shares eight words in a row with an item is flagged (the rule of open-r1).

An item of fewer than eight words has no 8-gram; here its words as a whole are its gram, so that it can be found at all.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
from itertools import chain

from common import arguments, batches, items_of, words, write_pairs

Index = dict[str, list[int]]


def grams(text: str, n: int) -> set[str]:
    """Return the n-grams of a text's words, joined by spaces."""
    found = words(text)
    return {" ".join(found[start : start + n]) for start in range(max(1, len(found) - n + 1))}


def index_of(items: list[str], n: int) -> Index:
    """Return gram -> items that hold it."""
    index: Index = {}
    for item, text in enumerate(items):
        for gram in grams(text, n):
            index.setdefault(gram, []).append(item)
    return index


def flagged(batch: tuple[int, list[str]], index: Index, n: int) -> list[tuple[int, int]]:
    """Return the pairs of a batch: row, item."""
    first, texts = batch
    pairs = []
    for row, text in enumerate(texts, first):
        found = {item for gram in grams(text, n) if gram in index for item in index[gram]}
        pairs += [(row, item) for item in sorted(found)]
    return pairs


def main() -> None:
    """Scan with one process, or several."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--n", type=int, default=8)
    args = arguments(parser)
    scan = functools.partial(flagged, index=index_of(items_of(args.items), args.n), n=args.n)
    if args.processes == 1:
        write_pairs(args.out, chain.from_iterable(map(scan, batches(args.pool))))
        return
    with multiprocessing.Pool(args.processes) as pool:
        write_pairs(args.out, chain.from_iterable(pool.imap(scan, batches(args.pool))))


if __name__ == "__main__":
    main()
