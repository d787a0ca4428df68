"""inspection.md: a pool's inspection as Markdown."""

from __future__ import annotations

from auditkit.report import inspection_sections
from auditkit.report.grids import Block, Grid, Section
from auditkit.report.inspection import INSPECTION, ROW_FILE, Inspection
from auditkit.report.markdown import escaped, section


def render(found: Inspection) -> str:
    """Return the whole inspection.md. No name inside can break out of it, and no text of the pool is in it."""
    parts = [
        "# Inspection of a pool",
        escaped(f"{inspection_sections.headline(found)}."),
        f"Every row is in {ROW_FILE}, every count in {INSPECTION}.",
    ]
    made_of = Section("Inputs, settings, versions", blocks=(Block(_pairs(found)),))
    for part in (*inspection_sections.sections(found), made_of):
        parts += section(part)
    return "\n\n".join(part for part in parts if part) + "\n"


def _pairs(found: Inspection) -> Grid:
    return Grid(("name", "value"), tuple(inspection_sections.facts(found)), 2)
