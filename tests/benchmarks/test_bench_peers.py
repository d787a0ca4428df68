"""scripts/bench: what is measured, how it is scored, what is told of those that cannot run."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

pytestmark = pytest.mark.usefixtures("scripts")


def module(name: str) -> ModuleType:
    return importlib.import_module(name)


# ---------------------------------------------------------------- watched


def test_a_run_is_timed_and_its_status_told(tmp_path: Path) -> None:
    run = module("watched").run([sys.executable, "-c", "print('said'); raise SystemExit(3)"], tmp_path / "log")
    assert (run.status, run.said) == (3, "said\n")
    assert run.seconds > 0
    assert run.processor_seconds > 0


def test_a_run_over_its_limit_is_ended_with_its_children(tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    run = module("watched").run([sys.executable, "-c", code], tmp_path / "log", limit=0.5)
    assert run.status is None
    assert 0.5 <= run.seconds < 20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory of children is read from /proc")
def test_memory_is_that_of_a_process_and_its_child(tmp_path: Path) -> None:
    child = "import time; x = bytearray(60_000_000); time.sleep(1)"
    code = f"import subprocess, sys; x = bytearray(40_000_000); subprocess.run([sys.executable, '-c', {child!r}])"
    run = module("watched").run([sys.executable, "-c", code], tmp_path / "log")
    assert 100 <= run.peak_megabytes < 160


# ---------------------------------------------------------------- scoring


TRUTH = pl.DataFrame({"row": [1, 2, 3, 4], "item": [0, 1, 1, 2], "kind": ["case", "case", "typo", "typo"]})


def test_recall_is_by_kind_and_false_rows_are_counted_once() -> None:
    flagged = pl.DataFrame({"row": [1, 2, 3, 9, 9], "item": [0, 5, 1, 0, 1]})
    score = module("scoring").score(flagged, TRUTH)
    assert score.recall == {"case": 1.0, "typo": 0.5}
    assert score.item_recall == {"case": 0.5, "typo": 0.5}
    assert (score.n_flagged, score.n_false_rows) == (4, 1)


def test_a_peer_that_names_no_items_has_no_recall_of_items(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("row,item\n1,\n9,\n", "utf-8")
    score = module("scoring").score(module("scoring").read_pairs(tmp_path / "pairs.csv"), TRUTH)
    assert (score.recall, score.item_recall) == ({"case": 0.5, "typo": 0.0}, None)
    assert score.n_false_rows == 1


def test_a_peer_that_finds_nothing_has_no_recall() -> None:
    nothing = pl.DataFrame(schema={"row": pl.Int64, "item": pl.Int64})
    assert module("scoring").score(nothing, TRUTH).recall == {"case": 0.0, "typo": 0.0}


# ---------------------------------------------------------------- peers


def test_word_sets_flag_rows_that_share_eight_words() -> None:
    sets = module("word_sets")
    index = sets.index_of(["a b c d e f g h i", "one two three", "b c d e f g h i j"], 8)
    rows = ["x B c d, e f g h I y", "a b c d e f g", "one Two three!", "say one two three"]
    assert sets.flagged((10, rows), index, 8) == [(10, 0), (10, 2), (12, 1)]


def test_parts_hold_the_pool_and_are_named_by_their_first_rows(tmp_path: Path) -> None:
    data = module("data")
    folder = data.make(tmp_path, "parts-jsonl", 0.05, 20)
    pool = pl.read_parquet(folder / "pool.parquet")
    parts = sorted((folder / "parts-jsonl").iterdir())
    assert len(parts) == data.N_PARTS
    for part in parts:
        rows = pl.read_ndjson(part)
        assert rows.equals(pool.slice(int(part.stem), len(rows)))
    assert sum(len(pl.read_ndjson(part)) for part in parts) == len(pool)


# ---------------------------------------------------------------- the whole


def test_a_peer_that_is_not_installed_says_why() -> None:
    contenders = module("contenders")
    here = contenders.Environment(Path(sys.executable))
    peer = contenders.Contender("x", "", "pool.parquet", "x.py", packages=("no-such-package",))
    assert contenders.lacks(peer, here) == ("not installed: no-such-package", {})
    newer = contenders.Contender("x", "", "pool.parquet", "x.py", needs_python=(9, 0))
    assert "needs Python 9.0; the environment for peers has 3." in contenders.lacks(newer, here)[0]
    nowhere = contenders.Environment(Path("/nowhere/python"))
    assert contenders.lacks(peer, nowhere)[0] == "no environment for peers; scripts/bench makes it"


def test_a_small_run_stores_what_it_prints(tmp_path: Path, scripts: Path) -> None:
    work, out = tmp_path / "work", tmp_path / "results" / "bench.json"
    (work / "peers" / "bin").mkdir(parents=True)
    (work / "peers" / "bin" / "python").symlink_to(sys.executable)
    options = ["--megabytes", "0.2", "--items", "50", "--work", str(work), "--out", str(out)]
    only = ["--only", "auditkit;8-gram sets;rensa"]
    # The environment of this Python has datasketch and pyarrow, and no rensa.
    done = subprocess.run(
        [sys.executable, str(scripts / "bench.py"), *options, *only],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    stored = json.loads(out.read_text("utf-8"))
    assert [one["name"] for one in stored["contenders"]] == ["auditkit", "8-gram sets"]
    assert [(one["name"], one["reason"]) for one in stored["not_run"]] == [("rensa", "not installed: rensa")]
    ours = stored["contenders"][0]
    assert {share for kind, share in ours["recall"].items() if kind != "substituted"} == {1.0}
    assert ours["auditkit_times_as_fast"] == 1
    assert "| auditkit, review too |" in done.stdout
    assert "Not run: rensa (not installed: rensa)" in done.stdout
    assert str(tmp_path) not in out.read_text("utf-8")
    ElementTree.fromstring(out.with_suffix(".svg").read_text("utf-8"))


def test_the_script_is_there_and_can_be_run(root: Path) -> None:
    script = root / "scripts" / "bench"
    assert script.stat().st_mode & 0o100
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
