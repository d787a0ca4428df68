"""The gate of a study: a pool goes into training only after an audit of its very bytes that condemns nothing.

What base models and outside teachers were trained on before is in their weights and stays there. Those pools are
audited, too, and the items that they hold are left out of the evaluation instead.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from auditkit import read
from auditkit.errors import StaleAuditError
from auditkit.formats import digest_file
from auditkit.formats.naming import MANIFEST
from auditkit.records import AuditReport, Pool
from auditkit.report.as_json import load as load_report
from auditkit.stories.arms import descendants, origins
from auditkit.stories.audit import audit
from auditkit.stories.chain import items_found, settings_for
from auditkit.stories.decontaminate import decontaminate
from auditkit.stories.settings import AuditSettings
from auditkit.stories.study_data import read_settings
from auditkit.stories.study_train import folder_names
from auditkit.stories.upstream import Upstream
from auditkit.study_records.results import EarlierPool
from auditkit.study_records.settings import Provenance, StudySettings

#: The audits of earlier pools lie below this folder.
EARLIER = "earlier-pools"


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


# ---------------------------------------------------------------- earlier pools


def audit_earlier_pools(settings: StudySettings, folder: Path) -> tuple[EarlierPool, ...]:
    """Return what the pools of base models and outside teachers hold of the benchmarks; their audits stay in `folder`.

    Raises:
        AuditkitError: a pool cannot be read.
    """
    for one, place in _places(settings, folder):
        pool = Upstream(place.name, one.pools, one.text_fields)
        wanted = settings_for(AuditSettings(settings.audit_tiers), pool)
        audit(pool.pools, [benchmark.spec for benchmark in settings.benchmarks], wanted, out=place, overwrite=True)
    return load_earlier_pools(settings, folder)


def load_earlier_pools(settings: StudySettings, folder: Path) -> tuple[EarlierPool, ...]:
    """Return the same from the audits in `folder`.

    Raises:
        InputError: a pool of the study file was not audited there.
    """
    return tuple(_earlier_pool(settings, one, load_report(place)) for one, place in _places(settings, folder))


def excluded_items(earlier: Sequence[EarlierPool]) -> dict[str, set[int]]:
    """Return benchmark -> 0-based items that are left out of the evaluation."""
    found: dict[str, set[int]] = {}
    for pool in earlier:
        for benchmark, items in pool.leaked.items() if pool.is_excluded else ():
            found.setdefault(benchmark, set()).update(items)
    return found


def _places(settings: StudySettings, folder: Path) -> list[tuple[Provenance, Path]]:
    names = folder_names([one.of for one in settings.provenance])
    return [(one, folder / EARLIER / names[one.of]) for one in settings.provenance]


def _earlier_pool(settings: StudySettings, provenance: Provenance, report: AuditReport) -> EarlierPool:
    return EarlierPool(
        of=provenance.of,
        kind=origins(settings)[provenance.of],
        arms=descendants(settings.arms, provenance.of),
        pool_digest=report.pool_digest,
        n_rows=report.n_rows,
        n_rows_condemned=report.n_rows_contaminated,
        leaked=items_found(report),
        n_items={one.name: one.n_items for one in report.benchmarks},
        is_excluded=settings.leaked_items == "exclude",
    )
