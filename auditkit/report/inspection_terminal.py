"""A pool's inspection for a terminal or a pipe."""

from __future__ import annotations

from rich.console import Console

from auditkit.report import inspection_sections
from auditkit.report.grids import Block, Section
from auditkit.report.inspection import CONFLICT_FILE, FAMILY_FILE, INSPECTION, ROW_FILE, VIEW, Inspection
from auditkit.report.phrases import count
from auditkit.report.safe import plain, shown
from auditkit.report.study_terminal import titled_table
from auditkit.report.terminal import line, paragraph

#: Rows of a table; inspection.md has all.
_N_SHOWN = 12


def render(found: Inspection, console: Console) -> None:
    """Print the parts of the report, tables cut to their first rows, which is said, and where the files are."""
    paragraph(console, shown(inspection_sections.headline(found)), indent=2, label="-")
    for part in inspection_sections.sections(found):
        _tables(part.title, part.blocks, console)
        _points(part, console)
    files = [ROW_FILE, CONFLICT_FILE, VIEW, INSPECTION, *([FAMILY_FILE] if found.families else [])]
    line(console, "Written", ", ".join(str(found.folder / name) for name in files))


def _points(part: Section, console: Console) -> None:
    if part.points and not part.blocks:
        console.print()
        line(console, part.title, "")
    for point in part.points[:_N_SHOWN]:
        paragraph(console, shown(point), indent=2, label="-")
    _say_beyond(len(part.points) - _N_SHOWN, console)


def _tables(title: str, blocks: tuple[Block, ...], console: Console) -> None:
    for block in blocks:
        titled_table(console, block.caption or title, block.grid.headers, block.grid.rows[:_N_SHOWN])
        _say_beyond(len(block.grid.rows) - _N_SHOWN, console)


def _say_beyond(n: int, console: Console) -> None:
    if n > 0:
        console.print(plain(f"and {count(n)} more in {VIEW}"))
