"""Paraphrase: rows whose meaning, by an encoder, is close to an item's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.detect.protocol import Rows, candidates
from auditkit.text.encode import Encoder
from auditkit.text.items import ItemTexts

#: Similarities are computed in blocks of this many rows: memory stays at rows x items x 4 bytes of one block.
BLOCK_ROWS = 2048
#: Cosines within this of the threshold may fall either way on another machine; they are counted.
MARGIN = 0.0005


@dataclass(frozen=True)
class ParaphraseDetector:
    """Finds rows that ask for the same in other words, and proposes them for review.

    Every row is compared with every item (exact search, nothing capped). Contexts and short answers are left out: a
    page on the same subject is no copy. Misses: rewordings below the threshold, requests inside long rows (the encoder
    averages, and truncates at its maximum), programs. Twins of opposite meaning lie as close as true rephrasings, so no
    cosine condemns. Cost: embedding, 200 to 350 short texts a second on two cores.
    Reference: Reimers and Gurevych 2019 (sentence-transformers).
    """

    encoder: Encoder
    threshold: float

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    def index(self, items: ItemTexts) -> ParaphraseIndex:
        """Return the vectors of the distinct texts that are questions or answers."""
        usable = items.parts.filter(pl.col("kind") != "context").unique("text_index", keep="first").sort("text_index")
        texts = usable["text_index"].to_numpy()
        vectors = self.encoder.encode(usable["text"].to_list()) if len(texts) else np.empty((0, 1), np.float32)
        return ParaphraseIndex(self.encoder, self.threshold, texts, vectors)


@dataclass(frozen=True)
class ParaphraseIndex:
    """Item vectors, and the counts that the report carries."""

    encoder: Encoder
    threshold: float
    texts: NDArray[np.int64]
    vectors: NDArray[np.float32]
    counts: dict[str, int] = field(default_factory=lambda: {"n_embedded": 0, "n_truncated": 0, "n_at_margin": 0})

    def scan(self, rows: Rows) -> pl.DataFrame:
        """Return all pairs whose cosine, rounded to four decimals, reaches the threshold."""
        # Without an item to compare with, no row is worth an embedding.
        units = np.flatnonzero(rows.tokens.lengths > 0) if len(self.texts) else np.empty(0, np.int64)
        distinct, inverse = np.unique(rows.texts.gather(units).to_numpy(), return_inverse=True)
        texts = distinct.tolist()
        found = [self._block(texts[i : i + BLOCK_ROWS], i) for i in range(0, len(texts), BLOCK_ROWS)]
        row = np.concatenate([block[0] for block in found]) if found else np.empty(0, np.int64)
        text = np.concatenate([block[1] for block in found]) if found else np.empty(0, np.int64)
        cosine = np.concatenate([block[2] for block in found]) if found else np.empty(0)
        # Identical texts were embedded once; their matches go to every row that has them.
        pairs = pl.DataFrame({"distinct": row, "text": text, "cosine": cosine}).join(
            pl.DataFrame({"distinct": inverse.astype(np.int64), "unit": units}), on="distinct"
        ).sort("unit", "text")  # fmt: skip
        unit = pairs["unit"].to_numpy()
        return candidates(
            self.encoder.name, unit, pairs["text"].to_numpy(), np.zeros(len(unit), np.int64), rows.tokens.lengths[unit],
            cosine=pairs["cosine"].to_numpy(),
        )  # fmt: skip

    def _block(self, texts: list[str], base: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        vectors = self.encoder.encode(texts)
        cosine: NDArray[Any] = np.round(np.asarray(vectors @ self.vectors.T, np.float64), 4)
        self.counts["n_embedded"] += len(texts)
        self.counts["n_truncated"] += self.encoder.count_truncated(texts)
        self.counts["n_at_margin"] += int((np.round(np.abs(cosine - self.threshold), 6) <= MARGIN).sum())
        row, item = np.nonzero(cosine >= self.threshold)
        return row.astype(np.int64) + base, self.texts[item], cosine[row, item]

    def describe(self) -> dict[str, Any]:
        """Return the encoder, its digest, the threshold, and what was embedded and truncated."""
        return {
            "encoder": self.encoder.name,
            "source": self.encoder.source,
            "digest": self.encoder.digest,
            "max_tokens": self.encoder.max_tokens,
            "threshold": self.threshold,
            "margin": MARGIN,
            **self.counts,
        }
