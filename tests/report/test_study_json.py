from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import study_fixtures as fixtures

from auditkit.errors import InputError
from auditkit.report import study_json
from auditkit.report.study_write import write_study
from auditkit.study_records.results import StudyResult


@pytest.mark.parametrize("result", [fixtures.study(), fixtures.bare()], ids=["full", "bare"])
def test_a_study_that_is_written_is_read_back_equal(result: StudyResult, tmp_path: Path) -> None:
    study_json.write(result, tmp_path)
    again = study_json.load(tmp_path)
    assert again == result
    assert again.metrics.equals(result.metrics)


def test_hostile_names_come_back_as_they_were(hostile: str, tmp_path: Path) -> None:
    result = fixtures.renamed(fixtures.study(), hostile)
    study_json.write(result, tmp_path)
    assert study_json.load(str(tmp_path)) == result


def test_a_report_made_of_the_files_has_the_same_bytes(tmp_path: Path) -> None:
    write_study(fixtures.study(), tmp_path / "one")
    write_study(study_json.load(tmp_path / "one"), tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_wall_times_change_no_byte_but_those_of_timing(tmp_path: Path) -> None:
    result = fixtures.study()
    ledgers = {
        name: tuple(replace(e, stages=tuple(replace(s, seconds=99.0) for s in e.stages)) for e in getattr(result, name))
        for name in ("ledger", "raw_ledger")
    }
    slower = replace(result, seconds={"train": 9.0}, **ledgers)
    write_study(result, tmp_path / "one")
    write_study(slower, tmp_path / "two")
    differing = {
        p.name for p in (tmp_path / "one").iterdir() if p.read_bytes() != (tmp_path / "two" / p.name).read_bytes()
    }
    assert differing == {"timing.json"}
    assert "99.0" not in (tmp_path / "two" / "study.json").read_text()


def test_keys_have_a_stable_order_and_frames_are_left_out(tmp_path: Path) -> None:
    result = fixtures.study()
    turned = replace(
        result,
        det_curves=dict(reversed(list(result.det_curves.items()))),
        cells=dict(reversed(list(result.cells.items()))),
    )
    write_study(result, tmp_path / "one")
    write_study(turned, tmp_path / "two")
    for name in ("study.json", "study.md", "study.html"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    raw = json.loads((tmp_path / "one" / "study.json").read_text())
    assert not {"metrics", "seconds"} & set(raw)
    assert raw["ranges"][0]["n_items"] == 80


def test_infinity_and_nan_are_null(tmp_path: Path) -> None:
    result = fixtures.study(correlation_test={"z": float("inf"), "p": float("nan")})
    study_json.write(result, tmp_path)
    assert study_json.load(tmp_path).correlation_test == {"z": None, "p": None}


def test_without_timing_only_wall_times_are_lost(tmp_path: Path) -> None:
    study_json.write(fixtures.study(), tmp_path)
    (tmp_path / "timing.json").unlink()
    again = study_json.load(tmp_path)
    assert again.seconds == {}
    assert {stage.seconds for entry in again.ledger for stage in entry.stages} == {0.0}


def broken(folder: Path, **changes: Any) -> None:
    raw = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps(raw | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": "other"}, "not a study of auditkit"),
        ({"format_version": 99}, "study format 99, this auditkit reads 1"),
        ({"nested": 3}, "nested is 3, not what a report holds there"),
        ({"ledger": [3]}, r"ledger\[0\] is 3"),
        ({"odd": 1}, "field odd is missing or unknown in StudyResult"),
        ({"files": {}}, "metrics.parquet: not the file that study.json was written with"),
    ],
)
def test_a_study_that_is_not_as_written_is_one_line(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    study_json.write(fixtures.study(), tmp_path)
    broken(tmp_path, **changes)
    with pytest.raises(InputError, match=said) as caught:
        study_json.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_setting_that_is_none_of_the_known_words_is_named(tmp_path: Path) -> None:
    study_json.write(fixtures.study(), tmp_path)
    raw = json.loads((tmp_path / "study.json").read_text())
    broken(tmp_path, settings=raw["settings"] | {"trainer": "magic"})
    with pytest.raises(InputError, match="trainer is 'magic'"):
        study_json.load(tmp_path)


def test_what_is_no_finished_study_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"study\.json is missing, so this is not a finished study"):
        study_json.load(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(InputError, match="not readable as JSON"):
        study_json.load(tmp_path)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    study_json.write(fixtures.study(), tmp_path)
    (tmp_path / "metrics.parquet").unlink()
    with pytest.raises(InputError, match=r"metrics\.parquet: No such file"):
        study_json.load(tmp_path)
