"""The shards of a pool, in order, put together for the report: grows with the matches, not with the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from auditkit.read.ids import DUPLICATE_ID, SeenIds
from auditkit.records import BadRow, Source
from auditkit.stories.scan import Shard


@dataclass
class SourceCounts:
    """Rows and texts of one source."""

    n_rows: int = 0
    n_texts: int = 0


@dataclass
class Gathered:
    """Sums over the shards of a pool.

    Attributes:
        sources: name -> counts, in the order of the pool.
        pairs, labels: those of the shards, with the source's name as `pool`.
        label_counts: policy -> label -> rows.
        paraphrase_counts: encoder -> what it counted -> number.
        view_counts: "readings" and "left_out" (see stories/views.py) -> what -> number.
        beyond: frames BEYOND of the shards; `sampled` frames SAMPLED, with the source's name as `pool`.
    """

    sources: dict[str, SourceCounts] = field(default_factory=dict)
    pairs: list[pl.DataFrame] = field(default_factory=list)
    labels: list[pl.DataFrame] = field(default_factory=list)
    label_counts: dict[str, Counter[str]] = field(default_factory=dict)
    bad_rows: list[BadRow] = field(default_factory=list)
    not_examined: Counter[str] = field(default_factory=Counter)
    n_template_only: int = 0
    paraphrase_counts: dict[str, Counter[str]] = field(default_factory=dict)
    view_counts: dict[str, Counter[str]] = field(default_factory=dict)
    beyond: list[pl.DataFrame] = field(default_factory=list)
    sampled: list[pl.DataFrame] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Rows of the pool."""
        return sum(counts.n_rows for counts in self.sources.values())

    @property
    def n_texts(self) -> int:
        """Texts of the pool."""
        return sum(counts.n_texts for counts in self.sources.values())

    def add(self, source: str, shard: Shard) -> None:
        """Add the next shard of a source."""
        counts = self.sources[source]
        counts.n_rows += shard.n_rows
        counts.n_texts += shard.n_texts
        name = pl.lit(source).alias("pool")
        self.pairs.append(shard.pairs.select(name, pl.all()))
        self.labels.append(shard.labels.select(name, pl.all()))
        self.bad_rows += shard.bad_rows
        self.not_examined.update(shard.not_examined)
        self.n_template_only += shard.n_template_only
        _add_each(self.label_counts, shard.label_counts)
        _add_each(self.paraphrase_counts, shard.paraphrase_counts)
        _add_each(self.view_counts, shard.view_counts)
        self.beyond.append(shard.beyond)
        self.sampled.append(shard.sampled.select(name, pl.all()))


def gather(sources: Sequence[Source], shards: Iterator[tuple[str, Shard]]) -> Gathered:
    """Return the sums over shards.

    Args:
        sources: of the pool.
        shards: name of the source and result of every shard, in the order of the pool.
    """
    gathered = Gathered({source.name: SourceCounts() for source in sources})
    last, seen = "", SeenIds()
    for name, shard in shards:
        if name != last:
            last, seen = name, SeenIds()
        gathered.add(name, shard)
        gathered.not_examined[DUPLICATE_ID] += seen.add(shard.id_hashes)
    return gathered


def _add_each(sums: dict[str, Counter[str]], counts: Mapping[str, Mapping[str, int]]) -> None:
    for name, each in counts.items():
        sums.setdefault(name, Counter()).update(each)
