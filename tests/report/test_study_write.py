from __future__ import annotations

import errno
import os
from pathlib import Path

import polars as pl
import pytest
import study_fixtures as fixtures

from auditkit.errors import OutputError
from auditkit.report.study_write import write_study

FILES = {"study.json", "study.md", "study.html", "metrics.parquet", "timing.json"}


def test_all_files_stand_and_no_other(tmp_path: Path) -> None:
    write_study(fixtures.study(), tmp_path / "out", extra={"more.txt": b"x"})
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES | {"more.txt"}
    assert pl.read_parquet(tmp_path / "out" / "metrics.parquet").equals(fixtures.metrics())


def test_study_json_appears_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    replace = Path.replace

    def noted(self: Path, target: Path) -> Path:
        order.append(Path(target).name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", noted)
    write_study(fixtures.study(), tmp_path)
    assert set(order) == FILES
    assert order[-1] == "study.json"


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_study(fixtures.study(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_frame_that_is_no_table_of_metrics_is_a_defect(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="study metrics: column n is missing"):
        write_study(fixtures.study(metrics=fixtures.metrics().drop("n")), tmp_path)
