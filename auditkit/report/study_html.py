"""study.html: a study's report as one file that fetches and runs nothing, for a phone and the dark too."""

from __future__ import annotations

import re

from auditkit.report import study_figures, study_sections, study_svg
from auditkit.report.grids import Block, Grid, Section
from auditkit.report.page import bullets, document, esc, folded, paragraph, section
from auditkit.study_records.results import StudyResult

_STYLE = (
    study_svg.STYLE
    + """
h3 { font-size: .95rem; margin: 1.2rem 0 .2rem; font-weight: 600; }
.answer { font-size: 1.05rem; } .answer ul { padding-left: 1.3rem; } .answer li { margin: .3rem 0; }
.wide { overflow-x: auto; margin: .2rem 0 1rem; overflow-wrap: break-word; } .wide th, .wide td { font-size: .9rem; }
.wide table.few { width: auto; min-width: min(100%, 24rem); }
.wide td, .wide table.cards td { white-space: nowrap; }
.wide td.text, .wide table.cards td.text { white-space: normal; }
.wide td.phrase { min-width: 14rem; } .wide td.long { overflow-wrap: anywhere; min-width: 12rem; }
.wide thead th { min-width: 4.2rem; } .wide th[scope=row] { min-width: 8rem; max-width: 16rem; }
.missing { color: var(--exact); font-weight: 600; }
@media (max-width: 44rem) {
  .wide table:not(.cards) th:first-child { position: sticky; left: 0; background: var(--paper); min-width: 7rem;
    max-width: 8.5rem; border-right: 1px solid var(--line); }
  .wide th, .wide td { padding: .3rem .4rem; }
  .wide table.cards td { white-space: normal; min-width: 0; } .wide table.cards th[scope=row] { max-width: none; }
  .wide table.cards td.phrase { grid-column: 1 / -1; }
}
"""
)
#: A cell of more characters than this is a phrase: it gets room to wrap in.
_PHRASE = 32
_LONG_WORD = 30
#: A table of up to this many columns is as wide as it needs to be, not as the page.
_FEW = 4
_COUNT = re.compile(r"\bn (?=\d)")


def render(result: StudyResult) -> str:
    """Return the whole study.html."""
    title = f"Policy study: {result.settings.name}"
    head = [f"<h1>{esc(title)}</h1>", paragraph(study_sections.facts(result), "soft")]
    parts = [_section(part, result) for part in study_sections.sections(result)]
    return document(title, [*head, *[part for part in parts if part]], _STYLE)


def _section(part: Section, result: StudyResult) -> str:
    points = f'<div class="answer">{bullets(part.points)}</div>' if part.points else ""
    drawn = [figure for name in part.figures if (figure := study_figures.draw(name, result))]
    figures = f'<div class="figures">{"".join(drawn)}</div>' if drawn else ""
    notes = [paragraph(note, "soft") for note in part.notes]
    return section(part.title, points, figures, *[_block(block) for block in part.blocks], *notes)


def _block(block: Block) -> str:
    table = _table(block.grid)
    if block.is_folded:
        return folded(block.caption or "More", table)
    return (f"<h3>{esc(block.caption)}</h3>\n" if block.caption else "") + table


def _table(grid: Grid) -> str:
    """Return a table. A narrow window shows one of phrases as cards, one of numbers beside its first column."""
    head = "".join(f'<th scope="col"{_kind(place, grid, "")}>{_header(h)}</th>' for place, h in enumerate(grid.headers))
    body = "\n".join(f"<tr>{_cells(row, grid)}</tr>" for row in grid.rows)
    is_worded = any(_is_phrase(place, grid, cell) for row in grid.rows for place, cell in enumerate(row) if place)
    kind = "cards" if is_worded else "few" if len(grid.headers) <= _FEW else "numbers"
    table = f'<table class="{kind}"><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
    return f'<div class="wide">{table}</div>'


def _header(text: str) -> str:
    """Return a header in which no line ends between "n" and its number."""
    return _COUNT.sub("n\u00a0", esc(text))


def _is_phrase(place: int, grid: Grid, cell: str) -> bool:
    return place < grid.n_text and len(cell) > _PHRASE


def _cells(row: tuple[str, ...], grid: Grid) -> str:
    first = f'<th scope="row" class="text">{esc(row[0])}</th>'
    return first + "".join(
        f'<td data-label="{esc(grid.headers[place])}"{_kind(place, grid, cell)}>{esc(cell)}</td>'
        for place, cell in enumerate(row)
        if place
    )


def _kind(place: int, grid: Grid, cell: str) -> str:
    kinds = ["text"] if place < grid.n_text else []
    kinds += ["phrase"] if _is_phrase(place, grid, cell) else []
    kinds += ["long"] if any(len(word) > _LONG_WORD for word in cell.split()) else []
    kinds += ["missing"] if cell == "missing" else []
    return f' class="{" ".join(kinds)}"' if kinds else ""
