"""study.html: a study's report as one file that fetches and runs nothing, for a phone and the dark too."""

from __future__ import annotations

from auditkit.report import study_figures, study_sections, study_svg
from auditkit.report.grids import Grid
from auditkit.report.page import bullets, document, esc, folded, paragraph, section
from auditkit.report.study_sections import Block, Section
from auditkit.study_records import StudyResult

_STYLE = (
    study_svg.STYLE
    + """
h3 { font-size: .95rem; margin: 1.2rem 0 .2rem; font-weight: 600; }
.answer { font-size: 1.05rem; } .answer li { margin: .3rem 0; }
.wide { overflow-x: auto; margin: .2rem 0 1rem; }
.wide table.cards th, .wide table.cards td { white-space: normal; overflow-wrap: break-word; min-width: 4.2rem;
  font-size: .9rem; padding: .3rem .45rem; }
.wide table.cards td { white-space: nowrap; } .wide table.cards td.text { white-space: normal; min-width: 5rem; }
.wide table.cards td.phrase { min-width: 14rem; } .wide table.cards td.long { overflow-wrap: anywhere; }
.wide table.cards th[scope=row] { min-width: 8rem; } .missing { color: var(--exact); font-weight: 600; }
@media (max-width: 44rem) {
  .wide table.cards th, .wide table.cards td, .wide table.cards td.text { min-width: 0; white-space: normal; }
  .wide table.cards td.phrase { grid-column: 1 / -1; min-width: 0; }
}
"""
)
#: A cell of more characters than this is a phrase: it gets room to wrap in.
_PHRASE = 24
_LONG_WORD = 30


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
    """Return a table that a narrow window shows as cards, each number beside its header."""
    head = "".join(f'<th scope="col"{_kind(place, grid, "")}>{esc(h)}</th>' for place, h in enumerate(grid.headers))
    body = "\n".join(f"<tr>{_cells(row, grid)}</tr>" for row in grid.rows)
    table = f'<table class="cards"><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
    return f'<div class="wide">{table}</div>'


def _cells(row: tuple[str, ...], grid: Grid) -> str:
    first = f'<th scope="row" class="text">{esc(row[0])}</th>'
    return first + "".join(
        f'<td data-label="{esc(grid.headers[place])}"{_kind(place, grid, cell)}>{esc(cell)}</td>'
        for place, cell in enumerate(row)
        if place
    )


def _kind(place: int, grid: Grid, cell: str) -> str:
    kinds = ["text"] if place < grid.n_text else []
    kinds += ["phrase"] if len(cell) > _PHRASE and place < grid.n_text else []
    kinds += ["long"] if any(len(word) > _LONG_WORD for word in cell.split()) else []
    kinds += ["missing"] if cell == "missing" else []
    return f' class="{" ".join(kinds)}"' if kinds else ""
