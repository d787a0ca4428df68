"""study.md: a study's report as Markdown, tables only; its figures stand in study.html."""

from __future__ import annotations

from auditkit.report import study_sections
from auditkit.report.markdown import escaped, section
from auditkit.study_records.results import StudyResult


def render(result: StudyResult) -> str:
    """Return the whole study.md. No name inside can break out of it."""
    parts = [
        f"# Policy study: {escaped(result.settings.name)}",
        escaped(study_sections.facts(result)),
        "Figures are in study.html, beside this file; every number is in study.json and metrics.parquet.",
    ]
    for part in study_sections.sections(result):
        parts += section(part)
    return "\n\n".join(part for part in parts if part) + "\n"
