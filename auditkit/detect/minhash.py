"""MinHash: rows whose set of words is close to an item's, whatever their order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.detect.protocol import Rows, candidates, grouped
from auditkit.errors import UsageError
from auditkit.kernels.bands import MinHashArrays, scan_sets
from auditkit.kernels.minhash import band_keys, permutations, signatures
from auditkit.kernels.overlap import sketch_sets
from auditkit.kernels.sets import distinct_tokens
from auditkit.kernels.table import build_filter, build_table, pack_entries
from auditkit.text.items import ItemTexts
from auditkit.text.normalise import token_hash

#: Texts signed at a time while an index is built, which bounds the memory of their signatures to 32 MB.
_INDEX_STEP = 1 << 16


@dataclass(frozen=True)
class MinHashDetector:
    """Finds whole rows whose token set has a Jaccard similarity of at least `jaccard` with an item's.

    Signatures are datasketch's (see kernels/minhash.py). Of all ways to cut `n_permutations` into bands, the one of
    most rows a band is taken that still proposes a pair just at the threshold with probability `recall`; fewer
    candidates come for free. `n_bands` and `n_rows` given are used as they are, with a warning where they miss the
    recall. Rows with too many or too few distinct tokens for any item are left out, which loses nothing.

    Misses: items inside longer rows (see seeds) and unspaced scripts, whose single characters say little as a set.
    References: Broder 1997; Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, 3.4.
    """

    name: str = "minhash"
    jaccard: float = 0.6
    recall: float = 0.98
    n_permutations: int = 128
    n_bands: int = 0
    n_rows: int = 0
    seed: int = 1
    min_tokens: int = 4

    def __post_init__(self) -> None:
        for name in ("jaccard", "recall"):
            value = getattr(self, name)
            if not 0 < value <= 1:  # NaN fails too
                raise UsageError(f"minhash.{name} is {value}, expected a number in (0, 1]")
        if self.n_permutations < 1:
            raise UsageError(f"minhash.permutations is {self.n_permutations}, expected at least 1")
        if not 0 <= self.seed < 1 << 32:
            raise UsageError(f"minhash.seed is {self.seed}, expected a whole number from 0 to {(1 << 32) - 1}")
        is_both = min(self.n_bands, self.n_rows) > 0 or self.n_bands == self.n_rows == 0
        if not is_both or self.n_bands * self.n_rows > self.n_permutations:
            raise UsageError(
                f"minhash.bands is {self.n_bands} and minhash.rows {self.n_rows}, expected both or neither, and at "
                f"most {self.n_permutations} permutations between them"
            )

    def bands(self) -> tuple[int, int]:
        """Return (bands, rows a band) in force."""
        if self.n_bands:
            return self.n_bands, self.n_rows
        return choose_bands(self.jaccard, self.recall, self.n_permutations)

    def index(self, items: ItemTexts) -> MinHashIndex:
        """Return the band table of the distinct texts."""
        n_bands, n_rows = self.bands()
        usable = np.flatnonzero((items.tokens.lengths >= self.min_tokens) & ~items.are_unspaced)
        a, b = (values[: n_bands * n_rows] for values in permutations(self.n_permutations, self.seed))
        keys = [
            band_keys(signatures(items.tokens.hashes, items.tokens.offsets, texts, a, b), n_bands, n_rows).ravel()
            for texts in np.split(usable, range(_INDEX_STEP, len(usable), _INDEX_STEP))
        ]
        distinct, starts, order = grouped(np.concatenate(keys))
        item_tokens, item_offsets = distinct_tokens(items.tokens.hashes, items.tokens.offsets)
        sizes = np.diff(item_offsets)[usable]
        fewest, most = _size_bounds(sizes, self.jaccard)
        arrays = MinHashArrays(
            build_table(distinct, pack_entries(starts, np.zeros(len(distinct), np.bool_))),
            build_filter(distinct),
            np.repeat(usable, n_bands)[order].astype(np.int32),
            item_tokens,
            item_offsets,
            sketch_sets(item_tokens, item_offsets),
            a,
            b,
            n_bands,
            fewest,
            most,
            _shared_needed(most + sizes.max(initial=0), self.jaccard),
        )
        return MinHashIndex(arrays, n_bands, n_rows, self)


@dataclass(frozen=True)
class MinHashIndex:
    """Band key -> distinct texts, and the sets of their tokens."""

    arrays: MinHashArrays
    n_bands: int
    n_rows: int
    settings: MinHashDetector

    def scan(self, rows: Rows) -> pl.DataFrame:
        """Return pairs that share a band and reach the threshold; whole rows are the windows."""
        pairs = scan_sets(rows.tokens.hashes, rows.tokens.offsets, self.arrays, 0, len(rows.tokens))
        first = np.zeros(len(pairs), np.int64)
        return candidates("minhash", pairs[:, 0], pairs[:, 1], first, rows.tokens.lengths[pairs[:, 0]])

    def describe(self) -> dict[str, Any]:
        """Return bands, permutations used, the expected recall at the threshold, and the collision curve."""
        recall = collision_probability(self.settings.jaccard, self.n_bands, self.n_rows)
        warning = {}
        if recall < self.settings.recall:
            text = (
                f"{self.n_bands} bands of {self.n_rows} rows propose a pair at Jaccard {self.settings.jaccard} with "
                f"probability {recall:.4f}, wanted {self.settings.recall}; set bands and rows to 0 to have them chosen"
            )
            warning = {"warning": text}
        return {
            **warning,
            "jaccard": self.settings.jaccard,
            "n_permutations": self.settings.n_permutations,
            "n_permutations_used": self.n_bands * self.n_rows,
            "n_bands": self.n_bands,
            "n_rows": self.n_rows,
            "seed": self.settings.seed,
            "expected_recall": round(recall, 6),
            "curve": [[j / 20, round(collision_probability(j / 20, self.n_bands, self.n_rows), 6)] for j in range(21)],
        }


def to_datasketch(signature: NDArray[np.uint32], seed: int = 1) -> Any:
    """Return a signature as a `datasketch.MinHash`, to be compared with or put into datasketch's own structures.

    Args:
        signature: uint32 [n_permutations], one row of kernels.minhash.signatures.
        seed: that of the permutations.
    """
    from datasketch import MinHash

    return MinHash(hashvalues=signature, seed=seed, scheme="affine32", hashfunc=token_hash_32)


def token_hash_32(token: bytes) -> int:
    """Return the 32-bit hash of a token's UTF-8 bytes: datasketch's `hashfunc` for signatures equal to ours."""
    return token_hash(token.decode()) & 0xFFFFFFFF


def collision_probability(jaccard: float, n_bands: int, n_rows: int) -> float:
    """Return the probability that two sets of this Jaccard similarity share a band: 1 - (1 - J^r)^b."""
    return float(1 - (1 - jaccard**n_rows) ** n_bands)


def choose_bands(jaccard: float, recall: float, n_permutations: int) -> tuple[int, int]:
    """Return (bands, rows a band) with the most rows a band whose recall at the threshold is as wanted.

    Raises:
        UsageError: no cut of the permutations reaches the recall; the message names the best there is.
    """
    for n_rows in range(n_permutations, 0, -1):
        if collision_probability(jaccard, n_permutations // n_rows, n_rows) >= recall:
            return n_permutations // n_rows, n_rows
    best = collision_probability(jaccard, n_permutations, 1)
    raise UsageError(
        f"minhash: {n_permutations} permutations reach a recall of {best:.4f} at Jaccard {jaccard}, wanted {recall}; "
        "raise n_permutations or lower recall"
    )


def _size_bounds(sizes: NDArray[np.int64], jaccard: float) -> tuple[int, int]:
    """Return the fewest and most distinct tokens with which a row can reach the threshold with any item.

    J = |A n B| / |A u B| is at most min(a, b) / max(a, b).
    """
    if len(sizes) == 0:
        return 1, 0
    exact = Fraction(str(jaccard))
    return int(-(-sizes.min() * exact // 1)), int(sizes.max() / exact)


def _shared_needed(largest_sum: int, jaccard: float) -> NDArray[np.int64]:
    """Return how many tokens two sets must share to reach the threshold, by the sum of their sizes.

    shared / (sum - shared) >= n / d holds where shared >= sum * n / (n + d).
    """
    exact = Fraction(str(jaccard))
    n, d = exact.numerator, exact.denominator
    return np.array([-(-size * n // (n + d)) for size in range(largest_sum + 1)], np.int64)
