"""A finished study's report, computed again from what its folder holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from auditkit.errors import InputError
from auditkit.report import study_json
from auditkit.report.as_json import load as load_report
from auditkit.report.study_write import write_study
from auditkit.stories.arms import order_arms
from auditkit.stories.study_file import load_study
from auditkit.stories.study_frames import Frames
from auditkit.stories.study_gate import load_earlier_pools
from auditkit.stories.study_result import Material, result_of
from auditkit.stories.study_train import RAW
from auditkit.study_records.ledger import LedgerEntry
from auditkit.study_records.results import EarlierPool, StudyResult
from auditkit.study_records.settings import StudySettings
from auditkit.train.ledger import read_entry


def study_again(out: str | Path, settings: StudySettings | str | Path) -> StudyResult:
    """Compute a finished study's report again from its predictions, targets and ledger, and write it.

    Raises:
        InputError: the folder holds no finished study, or another one.
    """
    settings = load_study(settings) if isinstance(settings, (str, Path)) else settings
    folder = Path(out)
    frames, earlier = Frames.read(folder), load_earlier_pools(settings, folder)
    _check_sets(settings, frames.targets, folder)
    _check_items(earlier, frames.targets, folder)
    ledger = _ledger(settings, folder / "arms", folder)
    raw_ledger = _ledger(settings, folder / RAW / "arms", folder) if settings.also_raw else ()
    before, after = load_report(folder / "audit"), load_report(folder / "audit-of-clean")
    result = result_of(Material(settings, frames, before, after, earlier, ledger, raw_ledger, _seconds(folder)))
    write_study(result, folder)
    return result


def _ledger(settings: StudySettings, arms: Path, folder: Path) -> tuple[LedgerEntry, ...]:
    """Return the entries of every arm and seed of the study file, teachers first."""
    found = {(entry.arm, entry.seed): entry for entry in map(read_entry, sorted(arms.glob("*/seed-*")))}
    wanted = [(arm.name, seed) for arm in order_arms(settings.arms) for seed in settings.seeds]
    _refuse_lacking([f"arm '{arm}', seed {seed}" for arm, seed in wanted if (arm, seed) not in found], folder)
    return tuple(found[cell] for cell in wanted)


def _check_sets(settings: StudySettings, targets: pl.DataFrame, folder: Path) -> None:
    """Check that every benchmark of the study file was scored in this folder."""
    sets = set(targets["set"].unique())
    _refuse_lacking([f"benchmark '{one.name}'" for one in settings.benchmarks if one.name not in sets], folder)


def _refuse_lacking(lacking: Sequence[str], folder: Path) -> None:
    if lacking:
        raise InputError(
            f"{folder} holds nothing of {lacking[0]}{f' and {len(lacking) - 1} more' if lacking[1:] else ''}; it is "
            "another study's, or unfinished: run `auditkit study` without --report-only"
        )


def _check_items(earlier: Sequence[EarlierPool], targets: pl.DataFrame, folder: Path) -> None:
    """Check that leaked items were scored, or left out, as the study file now asks for."""
    scored = set(targets.select("set", "item").rows())
    for pool in earlier:
        leaked = {(benchmark, item) for benchmark, items in pool.leaked.items() for item in items}
        if leaked & scored if pool.is_excluded else leaked - scored:
            raise InputError(
                f"{folder}: the items that the pool of '{pool.of}' holds were {'' if pool.is_excluded else 'not '}"
                "scored, unlike evaluation.leaked_items and provenance say: run `auditkit study` without --report-only"
            )


def _seconds(folder: Path) -> Mapping[str, float]:
    """Return the wall times of the study, which a report computed again does not have; none without its report."""
    try:
        return study_json.load(folder).seconds
    except InputError:
        return {}
