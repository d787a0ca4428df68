"""One source of the pool written again: kept rows as they are, condemned ones out or masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.errors import StaleAuditError
from auditkit.formats import RecordBatch, open_writer, read_records
from auditkit.records import BadRow, Source, SourceResult
from auditkit.split.condemn import Condemned, Span, condemned_rows
from auditkit.split.mask import masked_record
from auditkit.split.settings import SplitSettings

#: Examines records again: (source, row, record) each -> frame of tables.MATCHES.
Rescan = Callable[[list[tuple[Source, int, dict[str, Any]]]], pl.DataFrame]


@dataclass
class Emitted:
    """Counts of one source, and its lines of tables.REMOVED."""

    n_rows: int = 0
    n_kept: int = 0
    n_removed: int = 0
    n_masked: int = 0
    n_set_aside: int = 0
    removed: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Emitter:
    """Writes one source.

    Attributes:
        source, condemned: what is written, and row -> why it is condemned.
        settings: the action.
        rescan: examines masked records; None where nothing is masked.
    """

    source: Source
    condemned: Mapping[int, Condemned]
    settings: SplitSettings
    rescan: Rescan | None = None

    def write(self, path: Path, on_rows: Callable[[int], None] | None = None) -> Emitted:
        """Write the source to `path` and return what became of its rows.

        Raises:
            StaleAuditError: a condemned row is not there, or is a broken record now.
        """
        done = Emitted()
        with open_writer(self.source, path) as writer:
            for batch in read_records(self.source, self.settings.bad_rows, self.settings.batch_bytes):
                keep, changed = self._decide(batch, done)
                writer.write(batch, keep, changed)
                done.n_rows += batch.n_records
                done.n_kept += sum(keep)
                if on_rows:
                    on_rows(batch.n_records)
        n_met = done.n_removed + done.n_masked
        if n_met != len(self.condemned):
            raise StaleAuditError(
                f"{self.source.location}: {len(self.condemned):,} rows are condemned, {n_met:,} of them are read now; "
                "use the audit's --bad-rows, or audit again"
            )
        done.removed.sort(key=lambda line: line["row"])
        return done

    def _decide(self, batch: RecordBatch, done: Emitted) -> tuple[list[bool], dict[int, dict[str, Any]]]:
        """Return which good records of a batch are kept, and the masked ones."""
        for bad in batch.bad:
            done.n_set_aside += 1
            done.removed.append(_set_aside(self.source, bad))
        met = {i: self.condemned[row] for i, row in enumerate(batch.numbers) if row in self.condemned}
        keep = [True] * len(batch.numbers)
        changed: dict[int, dict[str, Any]] = {}
        still: dict[int, Condemned] = {}
        if self.settings.action == "mask":
            changed, still = self._mask(batch, met)
        for i, why in met.items():
            if i in changed:
                done.n_masked += 1
                done.removed.append(_line(why, "masked", _reason(why)))
            else:
                keep[i] = False
                done.n_removed += 1
                again = f"; still condemned after masking ({_reason(still[i])})" if i in still else ""
                done.removed.append(_line(why, "removed", _reason(why) + again))
        return keep, changed

    def _mask(
        self, batch: RecordBatch, met: Mapping[int, Condemned]
    ) -> tuple[dict[int, dict[str, Any]], dict[int, Condemned]]:
        """Return the masked records that pass when examined again, and why the others do not."""
        records = {i: self._masked(batch, i, batch.exact(i), why.spans) for i, why in met.items()}
        open_rows = self._condemned_again(batch, records)
        for _ in range(self.settings.mask_rounds):
            if not open_rows:
                break
            for i, why in open_rows.items():
                records[i] = self._masked(batch, i, records[i], why.spans)
            open_rows = self._condemned_again(batch, {i: records[i] for i in open_rows})
        return {i: record for i, record in records.items() if i not in open_rows}, open_rows

    def _masked(self, batch: RecordBatch, i: int, record: dict[str, Any], spans: tuple[Span, ...]) -> dict[str, Any]:
        where = f"{self.source.location}, row {batch.numbers[i]:,}"
        return masked_record(record, spans, self.settings.mask_token, where)

    def _condemned_again(self, batch: RecordBatch, records: Mapping[int, dict[str, Any]]) -> dict[int, Condemned]:
        """Return which records of a batch are still condemned, by index."""
        if not records or self.rescan is None:
            return {}
        matches = self.rescan([(self.source, batch.numbers[i], record) for i, record in records.items()])
        found = condemned_rows(matches, self.settings.verdict).get(self.source.name, {})
        return {i: found[batch.numbers[i]] for i in records if batch.numbers[i] in found}


def _reason(why: Condemned) -> str:
    match = why.deciding
    return (
        f"{match['verdict']}: {match['tier']} match of {match['benchmark']} item {match['item']}, rule {match['rule']}"
    )


def _line(why: Condemned, action: str, reason: str) -> dict[str, Any]:
    """Return one line of tables.REMOVED."""
    names = [name for name in tables.REMOVED if name in tables.MATCHES]
    return {name: why.deciding[name] for name in names} | {"action": action, "reason": reason}


def _set_aside(source: Source, bad: BadRow) -> dict[str, Any]:
    reason = f"broken record, line {bad.line}: {bad.reason}"
    return {"pool": source.name, "row": bad.row, "action": "set_aside", "reason": reason}


def check_counts(done: Emitted, audited: SourceResult) -> None:
    """Check that a source has as many rows as were audited, each with one fate.

    Raises:
        StaleAuditError: another number of rows.
    """
    if done.n_rows != audited.n_rows or done.n_kept + done.n_removed + done.n_set_aside != done.n_rows:
        raise StaleAuditError(
            f"{audited.location}: {done.n_rows:,} rows now, {audited.n_rows:,} when it was audited; audit it again"
        )
