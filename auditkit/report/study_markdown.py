"""study.md: a study's report as Markdown, tables only; its figures stand in study.html."""

from __future__ import annotations

from auditkit.report import study_sections
from auditkit.report.markdown import bullets, escaped, table
from auditkit.report.study_sections import Block, Section
from auditkit.study_records.results import StudyResult


def render(result: StudyResult) -> str:
    """Return the whole study.md. No name inside can break out of it."""
    parts = [
        f"# Policy study: {escaped(result.settings.name)}",
        escaped(study_sections.facts(result)),
        "Figures are in study.html, beside this file; every number is in study.json and metrics.parquet.",
    ]
    for part in study_sections.sections(result):
        parts += _section(part)
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(part: Section) -> list[str]:
    body = [bullets(map(escaped, part.points)), *[_block(block) for block in part.blocks]]
    body += [escaped(note) for note in part.notes]
    return [f"## {escaped(part.title)}", *[text for text in body if text]]


def _block(block: Block) -> str:
    made = table(block.grid)
    return f"### {escaped(block.caption)}\n\n{made}" if block.caption else made
