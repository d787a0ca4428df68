"""The gate of a study: a pool goes into training only after an audit of its very bytes that condemns nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from auditkit import read
from auditkit.errors import StaleAuditError
from auditkit.formats import digest_file
from auditkit.formats.naming import MANIFEST
from auditkit.records import AuditReport, Pool
from auditkit.stories.audit import audit
from auditkit.stories.decontaminate import decontaminate
from auditkit.stories.settings import AuditSettings
from auditkit.stories.study_data import read_settings
from auditkit.study_records.settings import StudySettings


def clean_pool(settings: StudySettings, folder: Path) -> tuple[AuditReport, AuditReport, Pool]:
    """Return the audits of the raw and of the clean pool, and the clean pool: nothing else goes into training.

    Raises:
        StaleAuditError: condemned rows are left after decontamination.
    """
    audit_settings = AuditSettings(settings.audit_tiers, read=read_settings(settings))
    specs = [benchmark.spec for benchmark in settings.benchmarks]
    before = audit(settings.pool, specs, audit_settings, out=folder / "audit", overwrite=True)
    clean: tuple[str, ...] = settings.pool
    if before.n_rows_contaminated:
        _decontaminated(before, folder)
        clean = (str(folder / "clean"),)
    after = audit(clean, specs, audit_settings, out=folder / "audit-of-clean", overwrite=True)
    if after.n_rows_contaminated:
        raise StaleAuditError(
            f"{folder / 'clean'}: {after.n_rows_contaminated} rows are still condemned, and no dirty pool is trained "
            "on; remove the folder and run the study again"
        )
    return before, after, read.open_pool(clean, audit_settings.read)


def _decontaminated(before: AuditReport, folder: Path) -> None:
    """Write clean/ by this very audit; one by another audit (the pool or a benchmark has changed) is made anew."""
    clean = folder / "clean"
    if (clean / MANIFEST).is_file():
        made_by = json.loads((clean / MANIFEST).read_text("utf-8")).get("audit", {}).get("report_digest")
        if made_by == digest_file(folder / "audit" / "report.json")[0]:
            return
        shutil.rmtree(clean)
    decontaminate(before, clean)
