"""All files of an audit's report in one go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from auditkit.records import AuditReport
from auditkit.report import as_json
from auditkit.report.html import render as render_html
from auditkit.report.markdown import render as render_markdown


def write_all(report: AuditReport, folder: Path, extra: Mapping[str, bytes] | None = None) -> None:
    """Write report.md, report.html, matches.parquet, items.parquet, timing.json, `extra` and, last, report.json.

    Raises:
        OutputError: the folder cannot be written.
    """
    views = {"report.md": render_markdown(report), "report.html": render_html(report)}
    as_json.write(report, folder, {name: text.encode("utf-8") for name, text in views.items()} | dict(extra or {}))
