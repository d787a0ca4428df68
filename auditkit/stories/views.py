"""Rows that look disguised, read again: their readings go through the same detectors and the same verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from auditkit.detect.protocol import Rows
from auditkit.text.items import ItemTexts
from auditkit.text.views.catalogue import MAX_DEPTH, MAX_READINGS, Counts, levels
from auditkit.text.views.programs import PROGRAM, ProgramIndex
from auditkit.text.views.vocabulary import Vocabulary
from auditkit.verify.items import PreparedItems
from auditkit.verify.views import joined, placed, program_pairs

#: Counts of a shard that say what no view looked at, and their reasons in the report.
LEFT_OUT = {
    "n_beyond": f"reading of a row beyond its first {MAX_READINGS}",
    "n_deeper": f"reading of a row nested deeper than {MAX_DEPTH} views",
}


@dataclass(frozen=True)
class Viewer:
    """The views of an audit.

    Attributes:
        names: views that run.
        vocabulary: words of the benchmarks.
        programs: functions of the benchmarks.
        n_own: see verify.views.joined.
    """

    names: tuple[str, ...]
    vocabulary: Vocabulary
    programs: ProgramIndex
    n_own: int

    @staticmethod
    def make(names: tuple[str, ...], texts: ItemTexts) -> Viewer:
        """Return the viewer for the benchmarks' distinct texts; decoys add no word."""
        n_words = int(texts.tokens.offsets[texts.n_own]) if names else 0
        programs = ProgramIndex.of(texts) if PROGRAM in names else ProgramIndex({})
        return Viewer(names, Vocabulary.of(texts.tokens, n_words), programs, texts.n_own)

    def add(
        self,
        rows: Rows,
        pairs: pl.DataFrame,
        look: Callable[[Rows], pl.DataFrame],
        prepared: PreparedItems,
        tiers: frozenset[str],
    ) -> tuple[pl.DataFrame, dict[str, dict[str, int]]]:
        """Return the pairs of a shard with those that its readings show, and what was counted.

        Args:
            rows: the shard.
            pairs: frame VERIFIED of its canonical texts.
            look: rows -> frame VERIFIED.
            prepared: the items.
            tiers: tiers that run.
        """
        counts, found, rank = Counts(), list[pl.DataFrame](), 1
        for level in levels(rows.texts, rows.tokens, self.vocabulary, self.names, counts):
            if not all(level.is_step):
                shown = look(Rows(level.texts, level.tokens))
                found.append(placed(shown, level.units, level.readings, rank))
            rank += len(level.units)
        same = self.programs.find(rows.texts)
        if len(same):
            found.append(program_pairs(same, rows.texts, rows.tokens, prepared, tiers))
        left_out = {"n_beyond": counts.n_beyond, "n_deeper": counts.n_deeper}
        return joined(pairs, found, self.n_own), {"readings": dict(counts.readings), "left_out": left_out}


def describe_views(viewer: Viewer, counts: Mapping[str, Mapping[str, int]], matches: pl.DataFrame) -> dict[str, Any]:
    """Return which views ran, what they read, and how many matches each showed, for the report."""
    names, programs = viewer.names, viewer.programs
    if not names:
        return {"ran": "none"}
    shown = matches.group_by("view").len().sort("view").rows()
    return {
        "ran": ", ".join(names),
        "max_depth": MAX_DEPTH,
        "max_readings_of_a_row": MAX_READINGS,
        "n_readings": {name: n for name, n in sorted(counts.get("readings", {}).items()) if n},
        "n_matches": dict(shown),
        "n_items_matched_as_programs": programs.n_items,
        "n_items_of_short_programs_matched_as_text": programs.n_text_only,
    }
