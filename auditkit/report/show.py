"""Matched pairs side by side: the shared span between ⟦ and ⟧, differing tokens between ‹ and ›.

Only the pairs that were asked for are printed, since pool and benchmark texts can be harmful. Long texts are shown
around the span, with the number of characters left out; nothing is cut without saying so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from auditkit.errors import UsageError
from auditkit.findings import PoolTemplate
from auditkit.records import AuditReport
from auditkit.report import differences, phrases
from auditkit.report.context import template_title
from auditkit.report.differences import Differences
from auditkit.report.safe import plain, shown
from auditkit.report.sentence import find

#: Characters shown on either side of the span, and of a span at most (its head and tail beyond that).
CONTEXT = 240
SPAN = 2_000
_SIDE_BY_SIDE = 72
_SCORES = ("containment", "row_containment", "jaccard", "ratio", "cosine", "q_value")
_SHARED, _DIFFERING, _SOFT = "bold", "bold reverse", "dim"


@dataclass(frozen=True)
class Pair:
    """One row of tables.MATCHES (as a mapping), and the two texts as they were read."""

    match: Mapping[str, Any]
    row_text: str
    item_text: str


@dataclass(frozen=True)
class Wrapper:
    """A template of the pool, and what stands before and behind the payload in the text it names; "" for nothing."""

    template: PoolTemplate
    before: str
    after: str


def select(
    report: AuditReport,
    benchmark: str | None = None,
    item: str | None = None,
    verdict: str | None = None,
    limit: int = 20,
) -> tuple[pl.DataFrame, int]:
    """Return the matches to show, in the report's order, at most `limit`, and how many more there are.

    Args:
        report: the audit.
        benchmark: only this benchmark.
        item: only this item: its id, or its 0-based number where no id equals it.
        verdict: only `contaminated` or `review`.
        limit: how many matches at most.

    Raises:
        UsageError: no such benchmark or item, or a limit below 1.
    """
    if limit < 1:
        raise UsageError(f"--limit {limit}: expected a number of pairs from 1")
    matches, items = report.matches, report.items
    if benchmark is not None:
        find(report, benchmark)
        matches, items = (frame.filter(pl.col("benchmark") == benchmark) for frame in (matches, items))
    if item is not None:
        is_item = _is_item(items, item)
        if not items.select(is_item.any()).item():
            raise UsageError(
                f"--item {shown(item)}: no such item id or number in {shown(benchmark or 'any benchmark')}"
            )
        matches = matches.filter(is_item)
    if verdict is not None:
        matches = matches.filter(pl.col("verdict") == verdict)
    return matches.head(limit), max(0, matches.height - limit)


def _is_item(items: pl.DataFrame, item: str) -> pl.Expr:
    by_id = pl.col("item_id").eq_missing(pl.lit(item))
    is_number = item.isascii() and item.isdigit() and len(item) < 19
    return pl.col("item") == int(item) if is_number and not items.select(by_id.any()).item() else by_id


def render_pairs(pairs: Sequence[Pair], console: Console, *, n_beyond: int = 0, context: int = CONTEXT) -> None:
    """Print pairs one below the other, then how many more there are."""
    if not pairs:
        console.print(plain("No match to show."))
    for place, pair in enumerate(pairs):
        if place:
            console.print()
        render_pair(pair, console, context=context)
    if n_beyond:
        console.print()
        more = phrases.counted(n_beyond, "more match", "more matches")
        console.print(plain(f"{more} not shown; raise --limit, or name --benchmark and --item"))


def render_wrappers(wrappers: Sequence[Wrapper], console: Console, *, n_beyond: int = 0) -> None:
    """Print templates of the pool, "[…]" in the place of the payload, then how many more there are."""
    if not wrappers:
        console.print(plain("No template was found in the pool."))
    for wrapper in wrappers:
        console.print(plain(template_title(wrapper.template), "bold"))
        payload = "" if wrapper.template.kind == "whole" else " […] "
        console.print(plain(f"  {wrapper.before}{payload}{wrapper.after}"))
    if n_beyond:
        console.print(plain(f"{phrases.counted(n_beyond, 'more template')} not shown; raise --limit"))


def render_pair(pair: Pair, console: Console, *, context: int = CONTEXT) -> None:
    """Print one pair: addresses, tier, verdict, rule, scores; the two texts, side by side from 72 columns up."""
    match = pair.match
    console.print(Text.assemble(plain(_title(match), "bold"), plain(_verdict(match))))
    console.print(plain(_scores(match)))
    row_span, item_span = _span(match, "row", pair.row_text), _span(match, "item", pair.item_text)
    found = _differences(match, pair, row_span, item_span)
    for note in found.notes:
        console.print(plain(note, "yellow"))
    row = Group(plain(_row_address(match), _SOFT), _text(pair.row_text, row_span, found.row, context))
    item = Group(plain(_item_address(match), _SOFT), _text(pair.item_text, item_span, found.item, context))
    if console.width < _SIDE_BY_SIDE:
        console.print(row)
        console.print(item)
        return
    table = Table(box=None, pad_edge=False, show_header=False, expand=True, padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(ratio=1, overflow="fold")
    table.add_row(row, item)
    console.print(table)


def _title(match: Mapping[str, Any]) -> str:
    item_id = f" ({match['item_id']})" if match["item_id"] is not None else ""
    return f"{match['benchmark']} item {phrases.count(match['item'])}{item_id}"


def _verdict(match: Mapping[str, Any]) -> str:
    threshold = "" if match["threshold"] is None else f" at {match['threshold']:g}"
    return f": {match['tier']}, {match['verdict']} by rule {match['rule']}{threshold}"


def _scores(match: Mapping[str, Any]) -> str:
    parts = [f"{name.replace('_', ' ')} {match[name]:.3f}" for name in _SCORES if match[name] is not None]
    parts += [f"{match[name]}" for name in ("ratio_kind", "encoder") if match[name] is not None]
    if match["view"] is not None:
        parts.append(f"view {match['view']}")
    if match["label_conflict"]:
        parts.append("LABEL CONFLICT: pool and benchmark labels disagree")
    return "  " + ", ".join(parts)


def _row_address(match: Mapping[str, Any]) -> str:
    row_id = "" if match["row_id"] is None else f" ({match['row_id']})"
    turn = "" if match["turn"] is None else f", turn {match['turn']}"
    row = f"pool {match['pool']} row {phrases.count(match['row'])}{row_id}"
    return f"{row}, {match['field']}{turn}{_offsets(match, 'row')}"


def _item_address(match: Mapping[str, Any]) -> str:
    return f"{match['benchmark']} item {phrases.count(match['item'])}, {match['part']}{_offsets(match, 'item')}"


def _offsets(match: Mapping[str, Any], side: str) -> str:
    start, end = match[f"{side}_start"], match[f"{side}_end"]
    return "" if start is None or end is None else f", characters {phrases.count(start)} to {phrases.count(end)}"


def _span(match: Mapping[str, Any], side: str, text: str) -> tuple[int, int] | None:
    """Return the span inside `text`, or None where the match has none or the text is too short to be the one read."""
    start, end = match[f"{side}_start"], match[f"{side}_end"]
    return (start, end) if start is not None and end is not None and 0 <= start <= end <= len(text) else None


def _differences(
    match: Mapping[str, Any], pair: Pair, row: tuple[int, int] | None, item: tuple[int, int] | None
) -> Differences:
    if row is None or item is None:
        return Differences(notes=("no shared span: the texts are shown whole or from their start",))
    found = differences.between(pair.row_text, row, pair.item_text, item)
    if match["numbers_differ"] and not found.has_numbers:
        return Differences(found.row, found.item, (*found.notes, "numbers differ"), found.has_numbers)
    return found


# ---------------------------------------------------------------- texts


def _text(text: str, span: tuple[int, int] | None, marks: Sequence[tuple[int, int]], context: int) -> Text:
    """Return `text` around its span; what is left out before, inside and after is said in characters."""
    if span is None:
        whole = plain(text[: SPAN + context], one_line=False)
        return whole + _left_out(len(text) - SPAN - context, "after")
    start, end = span
    low, high = max(0, start - context), min(len(text), end + context)
    shown_text = Text()
    shown_text.append_text(_left_out(low, "before"))
    shown_text.append_text(plain(text[low:start], one_line=False))
    shown_text.append("⟦", _SHARED)
    shown_text.append_text(_marked_span(text, start, end, marks))
    shown_text.append("⟧", _SHARED)
    shown_text.append_text(plain(text[end:high], one_line=False))
    shown_text.append_text(_left_out(len(text) - high, "after"))
    return shown_text


def _marked_span(text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> Text:
    if end - start <= SPAN:
        return _marked(text, start, end, marks)
    half = SPAN // 2
    head, tail = _marked(text, start, start + half, marks), _marked(text, end - half, end, marks)
    return head + _left_out(end - start - 2 * half, "of the span") + tail


def _marked(text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> Text:
    """Return text[start:end] with the tokens at `marks` (offsets in `text`) between ‹ and ›."""
    marked, place = Text(), start
    for low, high in marks:
        if low < place or high > end:
            continue
        marked.append_text(plain(text[place:low], _SHARED, one_line=False))
        marked.append_text(plain(f"‹{text[low:high]}›", _DIFFERING, one_line=False))
        place = high
    marked.append_text(plain(text[place:end], _SHARED, one_line=False))
    return marked


def _left_out(n: int, where: str) -> Text:
    """Return "[… 4,321 characters before]" on a line of its own, or nothing for 0."""
    if n <= 0:
        return Text()
    note = f"[… {phrases.counted(n, 'character')} {where}]"
    return Text(
        f"{note}\n" if where == "before" else f"\n{note}\n" if where == "of the span" else f"\n{note}", style=_SOFT
    )
