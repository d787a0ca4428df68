"""Paraphrase: rows whose meaning, by an encoder, is close to an item's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit import tables
from auditkit.detect.neighbours import Neighbours
from auditkit.detect.proposals import AROUND, Proposals, Proposer, foreign, vocabulary
from auditkit.detect.protocol import Rows, candidates
from auditkit.text.encode import Encoder
from auditkit.text.items import ItemTexts
from auditkit.text.sieve import Sieve, make_sieve
from auditkit.text.vectors import Embedder, text_keys

#: Rows and items are compared in blocks of this many pairs: memory stays at a few times 4 bytes of each.
BLOCK_PAIRS = 1 << 22
#: So many texts are embedded at once, sorted by length.
EMBED_ROWS = 8192
#: Cosines within this of the threshold may fall either way on another machine; they are counted.
MARGIN = 0.0005
#: One in so many of the rows that the sieve leaves out is embedded all the same: what it loses is measured on them.
CONTROL = 256

COUNTS = ("n_texts", "n_compared", "n_sieved_out", "n_control", "n_control_lost", "n_truncated", "n_at_margin")


@dataclass(frozen=True)
class Found:
    """What one shard gave: frame of tables.CLOSE, and counts of row texts and pairs (COUNTS)."""

    candidates: pl.DataFrame
    counts: dict[str, int]


@dataclass(frozen=True)
class ParaphraseDetector:
    """Finds rows that ask for the same in other words, and proposes them to the verifier.

    Every row is compared with every item. Contexts and short answers are left out: a page on the same subject is no
    copy. A sieve (text/sieve.py) tells which rows need no embedding; it keeps 0.98 or more of the pairs, and what it
    loses is measured in every audit. Misses: rewordings below the threshold that are not a row's closest item, and
    requests inside long rows (the encoder averages, and truncates at its maximum). Twins of opposite meaning lie as
    close as true rephrasings, so no cosine condemns. Cost: embedding, 200 to 350 short texts a second on two cores;
    rows that the sieve leaves out cost a hundredth of that, and a text that was embedded once costs nothing again.
    Reference: Reimers and Gurevych 2019 (sentence-transformers).

    Attributes:
        threshold: cosine from which every pair is proposed.
        is_exhaustive: whether every row is embedded.
        embedder: the encoder with kept vectors; None: kept in the user's cache folder.
        proposals: which pairs below the threshold are proposed; None: none.
    """

    encoder: Encoder
    threshold: float
    is_exhaustive: bool = False
    embedder: Embedder | None = None
    proposals: Proposals | None = None

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    def index(self, items: ItemTexts) -> ParaphraseIndex:
        """Return the vectors of the distinct texts that are questions or answers, and a sieve where one can be made."""
        usable = items.parts.filter(pl.col("kind") != "context").unique("text_index", keep="first").sort("text_index")
        texts, embedder = usable["text"].to_list(), self.embedder or Embedder.of(self.encoder)
        vectors = embedder.encode(texts) if texts else np.empty((0, 1), np.float32)
        sieve, reason = None, "exhaustive search asked for"
        if not self.is_exhaustive:
            sieve, reason = make_sieve(self.encoder, texts, vectors, self.sieved)
        return ParaphraseIndex(
            embedder, self.threshold, usable["text_index"].to_numpy(), vectors, sieve, reason, self.sieved,
            self.proposals, Neighbours.of(usable, vectors), vocabulary(items),
        )  # fmt: skip

    @property
    def sieved(self) -> float:
        """The cosine from which the sieve is to keep pairs."""
        return self.threshold if self.proposals is None else min(self.threshold, self.proposals.sieved)


@dataclass(frozen=True)
class ParaphraseIndex:
    """The items' vectors and the sieve. It pickles without the encoder's model, which is loaded at first use.

    Attributes:
        texts: indexes of the distinct item texts, sorted. Shape [m].
        vectors: their unit vectors, float32 of shape [m, d].
        sieve: None where every row is embedded, for `reason`; else it keeps pairs from `sieved` on.
        proposals: see ParaphraseDetector.
        neighbours: what stands around the items.
        vocabulary: hashes of the items' tokens, sorted: uint64.
    """

    embedder: Embedder
    threshold: float
    texts: NDArray[np.int64]
    vectors: NDArray[np.float32]
    sieve: Sieve | None
    reason: str
    sieved: float
    proposals: Proposals | None
    neighbours: Neighbours
    vocabulary: NDArray[np.uint64]

    def search(self, rows: Rows, known: pl.DataFrame) -> Found:
        """Return the pairs of a shard whose cosine, rounded to four decimals, reaches the threshold.

        Args:
            rows: the shard.
            known: frame with columns unit and text: pairs that a stronger tier has. They are left out, and no row is
                embedded for them.
        """
        # Without an item to compare with, no row is worth an embedding.
        units = np.flatnonzero(rows.tokens.lengths > 0) if len(self.texts) else np.empty(0, np.int64)
        if not len(units):
            return Found(tables.empty(tables.CLOSE), dict.fromkeys(COUNTS, 0))
        texts = rows.texts.gather(units)
        distinct, first, inverse = np.unique(texts.to_numpy(), return_index=True, return_inverse=True)
        shard, n_rows = distinct.tolist(), np.bincount(inverse)
        strong = self._known(units[first], known)
        is_passed, is_control = self._sieved(shard, strong)
        is_foreign = foreign(rows.tokens, units[first], self.vocabulary)
        found = self._compared(shard, np.flatnonzero(is_passed | is_control), is_foreign, strong)
        at_margin = found.filter(((pl.col("cosine") - self.threshold).abs().round(6)) <= MARGIN)
        close = found.filter(pl.col("cosine") >= self.sieved)
        counts = {
            "n_texts": len(units),
            "n_compared": int(n_rows[is_passed].sum()),
            "n_sieved_out": int(n_rows[~is_passed].sum()),
            "n_control": int(n_rows[is_control].sum()),
            "n_control_lost": int(n_rows[np.intersect1d(close["distinct"], np.flatnonzero(is_control))].sum()),
            "n_truncated": self.embedder.encoder.count_truncated(texts.to_list()),
            "n_at_margin": int(n_rows[at_margin["distinct"]].sum()),
        }
        # Identical texts were embedded once; their matches go to every row that has them.
        whole = found.filter("is_proposed").join(
            pl.DataFrame({"distinct": inverse.astype(np.int64), "unit": units}), on="distinct"
        )
        whole = whole.with_columns(pl.Series("text", self.texts[whole["place"].to_numpy()], dtype=pl.Int64))
        return Found(self._candidates(whole.sort("unit", "text"), rows), counts)

    def _candidates(self, pairs: pl.DataFrame, rows: Rows) -> pl.DataFrame:
        unit = pairs["unit"].to_numpy()
        first, last = np.zeros(len(unit), np.int64), rows.tokens.lengths[unit]
        cosine = pairs["cosine"].to_numpy()
        named = candidates(self.embedder.encoder.name, unit, pairs["text"].to_numpy(), first, last, cosine=cosine)
        return named.hstack(pairs.select(AROUND))

    def _sieved(
        self, texts: list[str], strong: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which texts the sieve passes, and which it leaves out that are embedded for control. Shape [n]."""
        n, (known_row, known_item) = len(texts), strong
        if self.sieve is None:
            return np.ones(n, np.bool_), np.zeros(n, np.bool_)
        best = np.empty(n, np.float32)
        for block in self._blocks(n):
            scores = self.sieve.scores(texts[block])
            here = (known_row >= block.start) & (known_row < block.stop)
            scores[known_row[here] - block.start, known_item[here]] = -np.inf
            best[block] = scores.max(axis=1)
        is_passed = best >= self.sieve.cut
        # The key's last bytes are as good as random, and the same for a text wherever it stands.
        keys = text_keys(texts).view(np.uint64)[1::2] % CONTROL
        return is_passed, ~is_passed & (keys == 0) & np.isfinite(best)

    def _known(self, first: NDArray[np.int64], known: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the known pairs as places in `first`, the first row of each distinct text, and in `self.texts`."""
        place = pl.DataFrame({"unit": first, "place": np.arange(len(first))})
        column = pl.DataFrame({"text": self.texts, "column": np.arange(len(self.texts))})
        found = known.join(place, on="unit").join(column, on="text")
        return found["place"].to_numpy(), found["column"].to_numpy()

    def _compared(
        self,
        texts: list[str],
        chosen: NDArray[np.int64],
        is_foreign: NDArray[np.bool_],
        strong: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> pl.DataFrame:
        """Return all pairs that are proposed, and those near the threshold: see proposals.PAIRS.

        Args:
            texts: distinct texts of the shard.
            chosen: places of those that are embedded.
            is_foreign: which texts are in no language of the items.
            strong: pairs that a stronger tier has.
        """
        propose = Proposer(self.threshold, MARGIN, self.proposals, self.vectors, self.neighbours, strong)
        for start in range(0, len(chosen), EMBED_ROWS):
            part = chosen[start : start + EMBED_ROWS]
            vectors = self.embedder.encode([texts[i] for i in part.tolist()])
            for block in self._blocks(len(part)):
                propose.add(part[block], vectors[block], is_foreign[part[block]])
        return propose.pairs()

    def _blocks(self, n: int) -> Iterator[slice]:
        size = max(1, BLOCK_PAIRS // max(1, len(self.texts)))
        for start in range(0, n, size):
            yield slice(start, min(start + size, n))

    def describe(self, counts: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Return the encoder, its digest, the threshold, the sieve, and what of the pool was embedded and truncated.

        Args:
            counts: the sums of Found.counts over the pool; None before it was read.
        """
        encoder, counts = self.embedder.encoder, {name: (counts or {}).get(name, 0) for name in COUNTS}
        return {
            "encoder": encoder.name,
            "source": encoder.source,
            "digest": encoder.digest,
            "max_tokens": encoder.max_tokens,
            "threshold": self.threshold,
            "margin": MARGIN,
            "proposals": None if self.proposals is None else asdict(self.proposals),
            "n_items": len(self.texts),
            **counts,
            "sieve": self._describe_sieve(counts),
        }

    def _describe_sieve(self, counts: Mapping[str, int]) -> dict[str, Any]:
        if self.sieve is None:
            return {"is_used": False, "reason": self.reason}
        calibration = self.sieve.calibration
        return {
            "is_used": True,
            "cut": self.sieve.cut,
            "keeps_pairs_from_cosine": self.sieved,
            "n_item_pairs": calibration.n_pairs,
            "lowest_cosine_of_item_pairs": round(calibration.lowest_cosine, 4),
            "share_of_item_pairs_kept": share(calibration.n_kept, calibration.n_pairs),
            "share_of_texts_sieved_out": share(counts["n_sieved_out"], counts["n_texts"]),
            "share_of_control_with_a_pair": share(counts["n_control_lost"], counts["n_control"]),
        }


def share(k: int, n: int) -> dict[str, float | int] | None:
    """Return k / n with n and its Wilson interval at 95 % (Wilson 1927), rounded; None where n is 0."""
    if n == 0:
        return None
    z, estimate = 1.959964, k / n
    middle = (estimate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (estimate * (1 - estimate) / n + z * z / (4 * n * n)) ** 0.5
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    return {"share": round(estimate, 4), "low": round(low, 4), "high": round(high, 4), "n": n}
