"""What `decontaminate` is asked to do, and what it hands back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl

from auditkit.errors import UsageError, nearest
from auditkit.records import VERDICTS

ACTIONS = ("remove", "mask")


@dataclass(frozen=True)
class SplitSettings:
    """How condemned rows are acted on.

    Attributes:
        action: "remove" takes condemned rows out; "mask" puts `mask_token` in place of the matched spans.
        verdict: "contaminated" acts on rows with a contaminated match; "review" on rows with any match.
        mask_token: what stands for a masked span; one line.
        mask_rounds: how often a masked row is examined again before it is removed.
        bad_rows: as in the audit: "skip" leaves broken records out and lists them.
        batch_bytes: size of one batch of records.
    """

    action: Literal["remove", "mask"] = "remove"
    verdict: Literal["contaminated", "review"] = "contaminated"
    mask_token: str = "[removed by auditkit]"
    mask_rounds: int = 5
    bad_rows: Literal["error", "skip"] = "error"
    batch_bytes: int = 16 << 20

    def __post_init__(self) -> None:
        _one_of("action", self.action, ACTIONS)
        _one_of("verdict", self.verdict, VERDICTS)
        _one_of("bad_rows", self.bad_rows, ("error", "skip"))
        if not self.mask_token.isprintable():
            raise UsageError(f"mask token {self.mask_token!r}: expected one line of printable characters")


def _one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"{name} {value!r} is unknown; expected one of {', '.join(known)}{nearest(str(value), known)}")


@dataclass(frozen=True)
class SourceSplit:
    """What became of one source of the pool: n_kept + n_removed + n_set_aside = n_rows.

    Attributes:
        output: path below the output folder.
        n_rows: rows that were audited.
        n_kept: rows written, masked ones included.
        n_masked: rows written with masked spans.
        n_removed, n_set_aside: condemned rows, and broken records, that were not written.
        digest, output_digest: of the source as audited, and of what was written.
    """

    name: str
    location: str
    format: str
    compression: str
    output: str
    n_rows: int
    n_kept: int
    n_removed: int
    n_masked: int
    n_set_aside: int
    digest: str
    output_digest: str


@dataclass(frozen=True)
class BenchmarkSplit:
    """The clean subset of one benchmark: items without a match of the chosen verdict."""

    name: str
    output: str
    n_items: int
    n_clean: int
    digest: str
    output_digest: str


@dataclass(frozen=True)
class SplitResult:
    """What `decontaminate` wrote.

    Attributes:
        folder: the output folder, or its address in a store.
        settings: what was asked for.
        sources, benchmarks: what became of each.
        removed: frame of tables.REMOVED, in the order of sources and rows.
    """

    folder: Path | str
    settings: SplitSettings
    sources: tuple[SourceSplit, ...]
    benchmarks: tuple[BenchmarkSplit, ...]
    removed: pl.DataFrame = field(repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """Rows that were audited."""
        return sum(source.n_rows for source in self.sources)

    @property
    def n_kept(self) -> int:
        """Rows written, masked ones included."""
        return sum(source.n_kept for source in self.sources)

    @property
    def n_removed(self) -> int:
        """Condemned rows that were not written."""
        return sum(source.n_removed for source in self.sources)

    @property
    def n_masked(self) -> int:
        """Rows written with masked spans."""
        return sum(source.n_masked for source in self.sources)

    @property
    def n_set_aside(self) -> int:
        """Broken records that were not written."""
        return sum(source.n_set_aside for source in self.sources)
