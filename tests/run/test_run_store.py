"""run/store.py: parts are whole or missing, plan.json stands before them, other folders are read only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from auditkit.errors import OutputError, UsageError
from auditkit.run import store as stores
from auditkit.run.plan import PLAN, claim_folder
from auditkit.run.store import PARTS, FolderStore, MemoryStore, check_reuse

MINE = b'{"plan": "mine"}\n'


def is_whole(part: bytes) -> bool:
    return part.endswith(b".")


def store(folder: Path, *others: Path, plan: bytes = MINE) -> FolderStore:
    return FolderStore(folder, is_whole, plan, ("report.json", "shard-*.json"), others)


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_nothing_is_there_before_the_first_part(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    parts = store(out)
    assert "a" not in parts
    assert parts.get("a") is None
    assert not out.exists()
    parts.put("a", b"one.")
    assert names(out) == ["parts/a.parquet", PLAN]
    assert (out / PLAN).read_bytes() == MINE
    assert (parts.get("a"), "a" in parts, parts.keys()) == (b"one.", True, {"a"})


def test_a_damaged_part_is_missing(tmp_path: Path) -> None:
    parts = store(tmp_path)
    parts.put("a", b"one.")
    (tmp_path / PARTS / "a.parquet").write_bytes(b"on")
    assert (parts.get("a"), parts.keys()) == (None, frozenset())
    parts.put("a", b"one.")
    assert parts.get("a") == b"one."


def test_other_folders_are_read_and_their_parts_taken_over(tmp_path: Path) -> None:
    old, new = store(tmp_path / "old"), store(tmp_path / "new", tmp_path / "old")
    old.put("a", b"one.")
    assert new.get("a") == b"one."
    assert not (tmp_path / "new").exists()
    new.adopt("a")
    assert names(tmp_path / "new") == ["parts/a.parquet", PLAN]
    assert names(tmp_path / "old") == ["parts/a.parquet", PLAN]


def test_another_plan_takes_the_old_report_away_first(tmp_path: Path) -> None:
    for name in ("report.json", "shard-1-of-2.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / PLAN).write_text('{"plan": "other"}')
    store(tmp_path).put("a", b"one.")
    assert names(tmp_path) == ["parts/a.parquet", PLAN]
    (tmp_path / "report.json").write_text("{}")
    store(tmp_path).put("b", b"two.")
    assert "report.json" in names(tmp_path)


def test_only_the_parts_of_the_run_are_kept(tmp_path: Path) -> None:
    parts = store(tmp_path)
    for key in ("a", "b"):
        parts.put(key, b"one.")
    (tmp_path / PARTS / ".c.parquet.17.tmp").write_bytes(b"half")
    parts.keep_only({"b"})
    assert names(tmp_path) == ["parts/b.parquet", PLAN]


def test_no_space_is_one_line_and_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stores.Path, "replace", fail)
    with pytest.raises(OutputError, match="a part cannot be written: No space left on device; free the space and run"):
        store(tmp_path).put("a", b"one.")
    assert names(tmp_path) == []


@pytest.mark.parametrize("left", ["", f".{PLAN}.17.tmp", PLAN])
def test_a_folder_of_a_run_killed_at_its_start_is_taken_up(left: str, tmp_path: Path) -> None:
    plan = claim_folder(tmp_path, ["a"], {}, overwrite=False)
    if left:
        (tmp_path / left).write_bytes(plan if left == PLAN else b"{")
    assert claim_folder(tmp_path, ["a"], {}, overwrite=False, more={}) == plan
    assert json.loads(plan)["inputs"] == ["a"]


def test_reuse_asks_for_parts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no parts of an audit"):
        check_reuse([tmp_path])
    store(tmp_path).put("a", b"one.")
    check_reuse([tmp_path])


def test_parts_in_memory() -> None:
    parts = MemoryStore()
    parts.put("a", b"one.")
    parts.adopt("a")
    assert (parts.get("a"), parts.get("b"), "a" in parts) == (b"one.", None, True)
