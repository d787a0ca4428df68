"""All files of a study's report in one go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from auditkit.report import study_json
from auditkit.report.study_html import render as render_html
from auditkit.report.study_markdown import render as render_markdown
from auditkit.study_records.results import StudyResult
from auditkit.tables import METRICS, check


def write_study(result: StudyResult, folder: Path, extra: Mapping[str, bytes] | None = None) -> None:
    """Write study.md, study.html, metrics.parquet, timing.json, `extra` and, last, study.json.

    Each file is written beside its place and renamed: where study.json exists, the report is complete.

    Raises:
        OutputError: the folder cannot be written.
    """
    check(result.metrics, METRICS, "study metrics")
    views = {"study.md": render_markdown(result), "study.html": render_html(result)}
    study_json.write(result, folder, {name: text.encode("utf-8") for name, text in views.items()} | dict(extra or {}))
