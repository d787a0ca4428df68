"""MinHash: rows whose set of words is close to an item's, whatever their order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.detect.protocol import Rows, candidates
from auditkit.errors import UsageError
from auditkit.kernels.minhash import band_keys, count_distinct, permutations, set_overlaps, signatures
from auditkit.kernels.table import build_table, find_all
from auditkit.text.items import ItemTexts
from auditkit.text.normalise import token_hash


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
        """Return the band tables of the distinct texts."""
        n_bands, n_rows = self.bands()
        sizes = count_distinct(items.tokens.hashes, items.tokens.offsets)
        usable = np.flatnonzero((items.tokens.lengths >= self.min_tokens) & ~items.are_unspaced)
        a, b = permutations(self.n_permutations, self.seed)
        keys = band_keys(signatures(items.tokens.hashes, items.tokens.offsets, usable, a, b), n_bands, n_rows).ravel()
        distinct, inverse = np.unique(keys, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        starts = np.zeros(len(distinct) + 1, np.int64)
        np.cumsum(np.bincount(inverse, minlength=len(distinct)), out=starts[1:])
        slots, stored = build_table(distinct, np.arange(len(distinct), dtype=np.int32))
        return MinHashIndex(
            slots, stored, starts, np.repeat(usable, n_bands)[order], sizes, _size_bounds(sizes[usable], self.jaccard),
            n_bands, n_rows, items.tokens.hashes, items.tokens.offsets, self,
        )  # fmt: skip


@dataclass(frozen=True)
class MinHashIndex:
    """Band key -> distinct texts, and the distinct texts' tokens."""

    slots: NDArray[np.uint64]
    stored: NDArray[np.int32]
    starts: NDArray[np.int64]
    texts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    bounds: tuple[int, int]
    n_bands: int
    n_rows: int
    item_tokens: NDArray[np.uint64]
    item_offsets: NDArray[np.int64]
    settings: MinHashDetector

    def scan(self, rows: Rows) -> pl.DataFrame:
        """Return pairs that share a band; whole rows are the windows."""
        sizes = count_distinct(rows.tokens.hashes, rows.tokens.offsets)
        units = np.flatnonzero((sizes >= self.bounds[0]) & (sizes <= self.bounds[1]))
        a, b = permutations(self.settings.n_permutations, self.settings.seed)
        values = signatures(rows.tokens.hashes, rows.tokens.offsets, units, a, b)
        entries = find_all(self.slots, self.stored, band_keys(values, self.n_bands, self.n_rows).ravel())
        hit = np.flatnonzero(entries >= 0)
        counts = self.starts[entries[hit] + 1] - self.starts[entries[hit]]
        unit = np.repeat(units[hit // self.n_bands], counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        text = self.texts[np.repeat(self.starts[entries[hit]], counts) + within]
        pairs = self._at_threshold(rows, np.stack([unit, text], axis=1))
        first = np.zeros(len(pairs), np.int64)
        return candidates("minhash", pairs[:, 0], pairs[:, 1], first, rows.tokens.lengths[pairs[:, 0]])

    def _at_threshold(self, rows: Rows, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the distinct pairs whose exact Jaccard similarity reaches the threshold, by integers."""
        if len(pairs) == 0:
            return np.empty((0, 2), np.int64)
        packed = np.unique(pairs[:, 0] << 32 | pairs[:, 1])
        pairs = np.stack([packed >> 32, packed & 0xFFFFFFFF], axis=1)
        counts = set_overlaps(rows.tokens.hashes, rows.tokens.offsets, self.item_tokens, self.item_offsets, pairs)
        threshold = Fraction(str(self.settings.jaccard))
        return pairs[counts[:, 0] * threshold.denominator >= counts[:, 1] * threshold.numerator]

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
