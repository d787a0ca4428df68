"""report.html: an audit's report as one file that fetches and runs nothing, for a phone and the dark too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from auditkit.records import AuditReport, BenchmarkResult
from auditkit.report import context, grids, phrases, trust
from auditkit.report.page import bullets, document, esc, folded, paragraph, section, table
from auditkit.report.safe import shown
from auditkit.report.sentence import paper_sentence

_N_BAD_ROWS = 100


def render(report: AuditReport) -> str:
    """Return the whole report.html."""
    sentences = [paragraph(paper_sentence(report, result.name), "cite") for result in report.benchmarks]
    not_run = [f"{tier}: {why}" for tier, why in phrases.reasons_not_run(report)]
    rules = f"{phrases.rules_name(report)}, {phrases.changed(report)}"
    notes = phrases.notes(report)
    body = [
        *_head(report),
        _benchmarks(report),
        section("Tiers that did not run", bullets(not_run)),
        section("Error rates", *_errors(report)),
        section("Power: what would have been found", *_power(report)),
        section("Leaked through", table(context.chain_grid(report)), bullets(context.chain_notes(report))),
        section("Public text", table(context.public_grid(report)), bullets(context.public_lines(report))),
        section("Templates of the pool", *_templates(report)),
        section(
            "Not examined", bullets(phrases.not_examined(report)) or paragraph("Nothing: all text that was found.")
        ),
        section("Set aside", *_set_aside(report)),
        section("For the paper (one click selects a sentence)", *sentences),
        section("By slice and label", table(grids.parts(report)), table(grids.labels(report))),
        section("Sources of the pool", table(grids.sources(report))),
        section("Benchmarks", table(grids.identities(report)), bullets(f"{whose}: {note}" for whose, note in notes)),
        section("Detectors and what their settings mean", _detectors(report), _curve(phrases.curve(report))),
        section("Rules in force", paragraph(rules), _listing("All rules", phrases.flat(report.rules))),
        section(
            "Settings and versions", _listing("All settings", sorted(phrases.flat(report.settings))), _versions(report)
        ),
    ]
    return document("Contamination audit", [part for part in body if part])


def _head(report: AuditReport) -> list[str]:
    size = f"{phrases.counted(report.n_rows, 'row')}, {phrases.counted(report.n_texts, 'text')}"
    hit = (
        f"Pool hit rate {phrases.percent(report.pool_hit_rate)}: {phrases.count(report.n_rows_contaminated)} of "
        f"{phrases.counted(report.n_rows, 'row')} condemned; {phrases.count(report.n_rows_review)} more for review."
    )
    return [
        "<h1>Contamination audit</h1>",
        f'<p class="soft">{esc(phrases.pool_name(report))}, {esc(size)}<br>'
        f'<span class="mono">{esc(report.pool_digest)}</span></p>',
        paragraph(hit),
    ]


# ---------------------------------------------------------------- benchmarks


def _benchmarks(report: AuditReport) -> str:
    if not report.benchmarks:
        return paragraph("No benchmark was audited.")
    grid, tiers = grids.benchmarks(report), phrases.tiers_shown(report)
    head = "".join(f'<th scope="col">{esc(header)}</th>' for header in grid.headers[1:])
    rows = "\n".join(
        _row(result, tiers, grid.headers[1:], cells[1:])
        for result, cells in zip(report.benchmarks, grid.rows, strict=True)
    )
    first = f'<th scope="col" class="text">{esc(grid.headers[0])}</th>'
    return (
        f'{_legend(tiers)}<table class="cards"><thead><tr>{first}{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>'
    )


def _legend(tiers: Sequence[str]) -> str:
    keys = "".join(f'<span class="key {tier}"></span>{tier}' for tier in (*tiers, "review"))
    return f'<p class="soft">Items by their strongest tier, as shares of the benchmark:{keys}</p>'


def _row(result: BenchmarkResult, tiers: Sequence[str], headers: Sequence[str], cells: Sequence[str]) -> str:
    numbers = "".join(
        f'<td data-label="{esc(header)}"{_dim(cell)}>{esc(cell)}</td>'
        for header, cell in zip(headers, cells, strict=True)
    )
    counts = [(tier, result.found_by_tier.get(tier, 0)) for tier in tiers]
    bar = _bar(result, [*counts, ("review", result.n_review)])
    return f'<tr><th scope="row" class="text">{esc(result.name)}{bar}</th>{numbers}</tr>'


def _dim(cell: str) -> str:
    return ' class="none"' if cell in ("0", "0.0 %") else ""


def _bar(result: BenchmarkResult, parts: Sequence[tuple[str, int]]) -> str:
    """Return a bar whose whole width is all items of the benchmark, a piece for each tier, review last."""
    label = ", ".join(f"{phrases.count(n)} {name}" for name, n in parts) + f" of {phrases.count(result.n_items)} items"
    pieces = "".join(
        f'<i class="{name}" style="width:{100 * n / result.n_items:.3f}%"></i>'
        for name, n in parts
        if n and result.n_items
    )
    return f'<div class="bar" role="img" aria-label="{esc(label)}" title="{esc(label)}">{pieces}</div>'


# ---------------------------------------------------------------- pool


def _set_aside(report: AuditReport) -> list[str]:
    if not report.bad_rows:
        return []
    beyond = len(report.bad_rows) - _N_BAD_ROWS
    more = [paragraph(f"and {phrases.count(beyond)} more in report.json")] if beyond > 0 else []
    listed = bullets(phrases.set_aside(bad) for bad in report.bad_rows[:_N_BAD_ROWS])
    return [paragraph(f"{phrases.counted(len(report.bad_rows), 'broken row')}:"), listed, *more]


# ---------------------------------------------------------------- how


def _errors(report: AuditReport) -> list[str]:
    notes = [trust.NO_DECOYS] if report.errors is None else trust.error_notes(report.errors)
    return [table(trust.errors_grid(report.errors)), bullets(notes)]


def _power(report: AuditReport) -> list[str]:
    if report.power is None:
        return []
    sentence = paragraph(f"{trust.power_sentence(report)}.")
    return [sentence, table(trust.power_grid(report.power)), bullets(trust.power_notes(report.power))]


def _templates(report: AuditReport) -> list[str]:
    if report.templates is None:
        return []
    grid = table(context.templates_grid(report)) or paragraph("None found.")
    return [grid, bullets(context.template_notes(report.templates))]


def _detectors(report: AuditReport) -> str:
    lines = []
    for name in phrases.detectors(report):
        facts = "; ".join(f"{key} {value}".strip() for key, value in phrases.detector_facts(report, name))
        lines += [f"{name}: {facts}"] if facts else []
    return bullets(lines)


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Return the near tier's collision curve: x Jaccard, y probability that a pair is proposed; both 0 to 1."""
    if not points:
        return ""
    left, top, width, height = 34, 10, 250, 130
    line = " ".join(f"{left + width * x:.1f},{top + height * (1 - y):.1f}" for x, y in points)
    grid = "".join(_level(y, left, left + width, top + height * (1 - y)) for y in (0.0, 0.5, 1.0))
    ticks = "".join(
        f'<text x="{left + width * x:.1f}" y="{top + height + 14}" text-anchor="middle">{x:.1f}</text>'
        for x in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    )
    title = "Probability that the near tier proposes a pair, by the pair's Jaccard similarity"
    return (
        f'<figure style="margin:.8rem 0"><figcaption class="soft">{title}</figcaption>'
        f'<svg viewBox="0 0 300 175" role="img" aria-label="{title}">{grid}{ticks}'
        f'<polyline points="{line}" fill="none" stroke="var(--curve)" stroke-width="2"/>'
        f'<text x="{left + width / 2:.0f}" y="{top + height + 29}" text-anchor="middle">Jaccard</text></svg></figure>'
    )


def _level(value: float, left: float, right: float, y: float) -> str:
    """Return a line across the plot at height `y`, and its value before it."""
    return (
        f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--line)"/>'
        f'<text x="{left - 5}" y="{y + 3:.1f}" text-anchor="end">{value:.1f}</text>'
    )


def _listing(title: str, pairs: Iterable[tuple[str, str]]) -> str:
    lines = "\n".join(f"{esc(name)} = {esc(text)}" for name, text in pairs)
    return folded(title, f"<pre>{lines}</pre>") if lines else ""


def _versions(report: AuditReport) -> str:
    pairs = [*sorted(phrases.flat(report.versions)), ("normalisation", shown(report.normalisation))]
    return paragraph(", ".join(f"{name} {version}" for name, version in pairs), "soft")
