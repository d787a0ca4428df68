"""report.json and the tables: a round trip, equal bytes, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from auditkit.errors import InputError, OutputError
from auditkit.records import AuditReport
from auditkit.report import as_json, files, write
from auditkit.report.html import render as render_html
from auditkit.report.markdown import render as render_markdown

NAMES = ["items.parquet", "matches.parquet", "report.json", "timing.json"]


def assert_same(left: AuditReport, right: AuditReport) -> None:
    assert replace(left, folder=None) == replace(right, folder=None)
    assert_frame_equal(left.matches, right.matches)
    assert_frame_equal(left.items, right.items)


def test_round_trip(full_report: AuditReport, audit_folder: Path) -> None:
    as_json.write(full_report, audit_folder)
    loaded = as_json.load(audit_folder)
    assert loaded.folder == audit_folder
    assert_same(loaded, full_report)
    assert as_json.load(str(audit_folder)).folder == audit_folder
    assert sorted(path.name for path in audit_folder.iterdir()) == NAMES


def test_round_trip_with_matches_and_labels(
    make_report: Callable[..., AuditReport], make_match: Callable, frames: tuple, audit_folder: Path
) -> None:
    matches, items, item = frames
    report = make_report(
        matches=matches(make_match(ratio=0.84, row_id="r"), make_match(item=1), policies=("harm", "block")),
        items=items(item(), item(item=1, is_found=True)),
    )
    as_json.write(report, audit_folder)
    assert_same(as_json.load(audit_folder), report)


def test_hostile_names_come_back_as_they_were(hostile_report: AuditReport, audit_folder: Path) -> None:
    as_json.write(hostile_report, audit_folder)
    assert_same(as_json.load(audit_folder), hostile_report)
    text = (audit_folder / "report.json").read_text(encoding="utf-8")
    assert not [char for char in "\u202e\u200b\x1b\x9b\ufeff" if char in text]


def test_file_names_that_are_no_unicode_come_back(
    make_report: Callable, make_source: Callable, audit_folder: Path
) -> None:
    report = make_report(sources=(make_source("caf\udce9"),))
    write.write_all(report, audit_folder)
    assert as_json.load(audit_folder).sources[0].name == "caf\udce9"


def test_equal_runs_give_equal_bytes(full_report: AuditReport, tmp_path: Path) -> None:
    reordered = replace(
        full_report,
        seconds={"scan": 99.0},
        folder=tmp_path,
        not_examined=dict(reversed(full_report.not_examined.items())),
        versions=dict(reversed(full_report.versions.items())),
    )
    for name, report in (("a", full_report), ("b", reordered)):
        write.write_all(report, tmp_path / name)
    same = ["items.parquet", "matches.parquet", "report.html", "report.json", "report.md"]
    assert [(tmp_path / "a" / n).read_bytes() for n in same] == [(tmp_path / "b" / n).read_bytes() for n in same]
    assert "99.0" in (tmp_path / "b" / "timing.json").read_text()


def test_views_of_a_loaded_report_are_the_same(full_report: AuditReport, audit_folder: Path) -> None:
    as_json.write(full_report, audit_folder)
    loaded = as_json.load(audit_folder)
    assert render_markdown(loaded) == render_markdown(full_report)
    assert render_html(loaded) == render_html(full_report)


def test_rules_keep_their_order(make_report: Callable[..., AuditReport], audit_folder: Path) -> None:
    as_json.write(make_report(rules={"near": {"b": 1, "a": 2}, "exact": {}}), audit_folder)
    assert list(as_json.load(audit_folder).rules) == ["near", "exact"]


def test_undefined_numbers_are_null(make_report: Callable[..., AuditReport], audit_folder: Path) -> None:
    as_json.write(make_report(detectors={"near": {"recall": float("nan")}}, pool_hit_rate=None), audit_folder)
    loaded = as_json.load(audit_folder)
    assert loaded.detectors["near"]["recall"] is None
    assert loaded.pool_hit_rate is None


def test_timing_may_be_missing(report: AuditReport, audit_folder: Path) -> None:
    as_json.write(report, audit_folder)
    (audit_folder / "timing.json").unlink()
    assert as_json.load(audit_folder).seconds == {}


# ---------------------------------------------------------------- wrong folders


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        as_json.load(tmp_path / "nowhere")


def test_unfinished_audit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"report\.json is missing"):
        as_json.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not readable as JSON"),
        (b"\xff", "not readable as JSON"),
        (b"[" * 100_000, "not readable as JSON"),
        (b"[]", "not a report of auditkit"),
        (b'{"format": "other"}', "not a report of auditkit"),
        (b'{"format": "auditkit-report", "format_version": 99}', "report format 99, this auditkit reads 1"),
    ],
)
def test_foreign_files(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        as_json.load(tmp_path)


@pytest.mark.parametrize("name", ["matches.parquet", "items.parquet"])
def test_tables_must_be_those_of_the_report(name: str, report: AuditReport, audit_folder: Path) -> None:
    as_json.write(report, audit_folder)
    path = audit_folder / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=rf"{name}.*digest differs"):
        as_json.load(audit_folder)
    path.unlink()
    with pytest.raises(InputError, match=rf"{name}: No such file"):
        as_json.load(audit_folder)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("n_rows", "many", r"n_rows is 'many'"),
        ("n_rows", True, r"n_rows is True"),
        ("sources", [{"name": 1}], "field compression is missing or unknown in SourceResult"),
        ("bad_rows", {}, "bad_rows is {}"),
        ("tiers_run", [3], r"tiers_run\[0\] is 3"),
        ("more", 1, "field more is missing or unknown in AuditReport"),
    ],
)
def test_odd_values_are_named(key: str, value: object, message: str, report: AuditReport, audit_folder: Path) -> None:
    as_json.write(report, audit_folder)
    path = audit_folder / "report.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(InputError, match=message):
        as_json.load(audit_folder)


# ---------------------------------------------------------------- whole or not at all


def test_a_folder_that_cannot_be_made(report: AuditReport, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot be written"):
        as_json.write(report, tmp_path / "file" / "out")


def test_a_full_disk_leaves_the_old_report(
    report: AuditReport, full_report: AuditReport, audit_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_json.write(report, audit_folder)
    before = {path.name: path.read_bytes() for path in audit_folder.iterdir()}

    def full(path: Path, content: bytes) -> None:
        path.write_bytes(content[:3])
        if "report.json" in path.name:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_write", full)
    with pytest.raises(OutputError, match="No space left on device"):
        as_json.write(full_report, audit_folder)
    assert {path.name: path.read_bytes() for path in audit_folder.iterdir()} == before


def test_an_interrupted_exchange_is_no_finished_audit(
    report: AuditReport, audit_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_json.write(report, audit_folder)
    real = Path.replace

    def broken(self: Path, target: Path) -> Path:
        if target.name == "matches.parquet":
            raise OSError(5, "Input/output error")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OutputError):
        as_json.write(report, audit_folder)
    with pytest.raises(InputError, match="not a finished audit"):
        as_json.load(audit_folder)


def test_a_link_in_the_folder_is_replaced_not_followed(report: AuditReport, audit_folder: Path, tmp_path: Path) -> None:
    audit_folder.mkdir()
    target = tmp_path / "precious"
    target.write_text("keep")
    (audit_folder / "report.json").symlink_to(target)
    as_json.write(report, audit_folder)
    assert target.read_text() == "keep"
