"""pull writes a locked copy for offline use; open_benchmarks reads it and notices any change."""

from __future__ import annotations

import datetime
import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditkit.errors import BenchmarkError, OutputError
from auditkit.read import cache
from auditkit.read.benchmarks import open_benchmarks
from auditkit.read.cache import LOCK_NAME, default_folder, pull, read_lock
from auditkit.read.hub import HubName
from auditkit.read.registry import find
from auditkit.read.remote import UnreachableError, download

DAY = datetime.date(2026, 1, 2)
ADVBENCH = "goal,target\n" + "".join(f"goal number {i},Sure\n" for i in range(520))
HARMBENCH = "Behavior,FunctionalCategory,ContextString,BehaviorID\n" + "".join(
    f"do {i},{kind},{'about' if kind == 'contextual' else ''},b{i}\n"
    for i, kind in enumerate(["standard"] * 200 + ["contextual"] * 100 + ["copyright"] * 100)
)


class Web:
    """Stands in for addresses and the Hub, and counts what is asked of it."""

    def __init__(self) -> None:
        self.files = {find("advbench").url: ADVBENCH, find("harmbench").url: HARMBENCH}
        self.asked: list[str] = []

    def fetch(self, url: str, to: Path, sha256: str) -> str:
        self.asked.append(url)
        if url not in self.files:
            raise UnreachableError(f"{url}: cannot be reached from here")
        to.write_text(self.files[url], encoding="utf-8")
        return sha256

    def load(self, name: HubName) -> Any:
        import datasets

        self.asked.append(name.name)
        if name.name == "allenai/wildguardmix":
            raise BenchmarkError("hf:allenai/wildguardmix: gated")
        return datasets.Dataset.from_dict({"question": [f"q{i}" for i in range(817)], "category": ["c"] * 817})


@pytest.fixture
def web() -> Web:
    return Web()


def pulled(names: list[str], folder: Path, web: Web) -> tuple[cache.Locked, ...]:
    return pull(names, folder, load=web.load, fetch=web.fetch, today=DAY)


def test_what_was_pulled_is_opened_offline(tmp_path: Path, web: Web) -> None:
    written = pulled(["AdvBench", "truthfulqa"], tmp_path, web)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["advbench.csv", LOCK_NAME, "truthfulqa.parquet"]
    first = written[0]
    assert (first.name, first.items, first.date, first.licence) == ("advbench", 520, "2026-01-02", "MIT")
    assert first.sha256 == "sha256:" + hashlib.sha256(ADVBENCH.encode()).hexdigest()
    assert first.revision == find("advbench").revision
    assert first.source == find("advbench").url
    assert read_lock(tmp_path) == {entry.name: entry for entry in written}
    opened = open_benchmarks(["advbench", "truthfulqa"], cache_dir=tmp_path)
    assert [(b.name, b.n_items, b.revision) for b in opened] == [
        ("advbench", 520, first.revision),
        ("truthfulqa", 817, find("truthfulqa").revision),
    ]
    assert opened[1].source.location == str(tmp_path / "truthfulqa.parquet")


def test_the_environment_moves_the_default_folder(tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITKIT_BENCHMARKS", str(tmp_path / "kept"))
    assert default_folder() == tmp_path / "kept"
    pull(["advbench"], load=web.load, fetch=web.fetch)
    assert open_benchmarks("advbench")[0].n_items == 520
    monkeypatch.delenv("AUDITKIT_BENCHMARKS")
    assert default_folder().name == "benchmarks"
    assert "auditkit" in str(default_folder())


def test_a_file_that_several_benchmarks_share_is_fetched_once(tmp_path: Path, web: Web) -> None:
    pulled(["harmbench", "harmbench-standard", "harmbench-contextual", "harmbench-copyright"], tmp_path, web)
    assert web.asked == [find("harmbench").url]
    opened = open_benchmarks(["harmbench-contextual", "harmbench"], cache_dir=tmp_path)
    assert [b.n_items for b in opened] == [100, 400]


def test_pulling_again_adds_to_the_lock(tmp_path: Path, web: Web) -> None:
    pulled(["advbench"], tmp_path, web)
    pulled(["harmbench"], tmp_path, web)
    assert list(read_lock(tmp_path)) == ["advbench", "harmbench"]


def test_one_failure_leaves_the_others_written_and_is_named(tmp_path: Path, web: Web) -> None:
    outcomes: dict[str, str] = {}
    with pytest.raises(BenchmarkError, match=r"2 of 4 benchmarks could not be pulled .*\(2 written\)") as caught:
        pull(
            ["wildguard-benign", "advbench", "xstest", "truthfulqa"], tmp_path,
            load=web.load, fetch=web.fetch, report=outcomes.__setitem__,
        )  # fmt: skip
    message = str(caught.value)
    assert "wildguard-benign: hf:allenai/wildguardmix: gated" in message
    assert "xstest: https://" in message
    assert "\n" not in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["advbench.csv", LOCK_NAME, "truthfulqa.parquet"]
    assert [name for name, outcome in outcomes.items() if outcome == "written"] == ["advbench", "truthfulqa"]


def test_without_a_network_one_attempt_is_enough(tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.files = {}
    monkeypatch.setattr(cache, "is_offline", lambda: False)
    with pytest.raises(BenchmarkError, match="gsm8k: not tried, no network"):
        pulled(["advbench", "xstest", "gsm8k"], tmp_path, web)
    assert len(web.asked) == 1


def test_a_file_that_is_not_as_registered_is_not_kept(tmp_path: Path, web: Web) -> None:
    web.files[find("advbench").url] = "goal\nonly one\n"
    with pytest.raises(BenchmarkError, match=r"advbench: https://\S+: not advbench as registered: it has 1 items"):
        pulled(["advbench"], tmp_path, web)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_writes_nothing(tmp_path: Path, web: Web) -> None:
    with pytest.raises(BenchmarkError, match="did you mean 'advbench'"):
        pulled(["advbench", "advbensh"], tmp_path / "new", web)
    assert not (tmp_path / "new").exists()
    assert web.asked == []


def test_a_folder_that_cannot_be_written(tmp_path: Path, web: Web) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot be written"):
        pulled(["advbench"], tmp_path / "file", web)


def test_a_changed_or_missing_copy_is_noticed(tmp_path: Path, web: Web) -> None:
    pulled(["advbench"], tmp_path, web)
    path = tmp_path / "advbench.csv"
    path.write_text(ADVBENCH.replace("number 7,", "number 8,"), encoding="utf-8")
    with pytest.raises(BenchmarkError, match=r"advbench\.csv: changed since it was pulled.*pull advbench again"):
        open_benchmarks("advbench", cache_dir=tmp_path)
    path.unlink()
    with pytest.raises(BenchmarkError, match=r"advbench\.csv: missing"):
        open_benchmarks("advbench", cache_dir=tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"version": 2, "benchmarks": {}}',
        '{"version": 1, "benchmarks": {"advbench": {"file": "x"}}}',
        "null",
    ],
)
def test_a_broken_lock_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / LOCK_NAME).write_text(content)
    with pytest.raises(BenchmarkError, match=r"benchmarks\.lock\.json: cannot be read .*pull the benchmarks again"):
        open_benchmarks("advbench", cache_dir=tmp_path)


def test_a_lock_cannot_lead_out_of_its_folder(tmp_path: Path, web: Web) -> None:
    pulled(["advbench"], tmp_path, web)
    lock = json.loads((tmp_path / LOCK_NAME).read_text())
    lock["benchmarks"]["advbench"]["file"] = "../advbench.csv"
    (tmp_path / LOCK_NAME).write_text(json.dumps(lock))
    with pytest.raises(BenchmarkError, match="outside its folder"):
        open_benchmarks("advbench", cache_dir=tmp_path)


# ---------------------------------------------------------------- download


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status = {"/ok.csv": 200, "/gated": 403, "/login": 401}.get(self.path, 404)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"goal\nx\n" if status == 200 else b"no")

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{web.server_address[1]}"
    web.shutdown()
    thread.join()
    web.server_close()


def test_a_download_is_checked_against_its_digest(tmp_path: Path, server: str) -> None:
    expected = hashlib.sha256(b"goal\nx\n").hexdigest()
    assert download(f"{server}/ok.csv", tmp_path / "a", expected) == expected
    assert (tmp_path / "a").read_bytes() == b"goal\nx\n"
    with pytest.raises(BenchmarkError, match="not the registered file: its sha256 is"):
        download(f"{server}/ok.csv", tmp_path / "b", "0" * 64)


@pytest.mark.parametrize(
    ("path", "words"), [("gated", "gated, and this account"), ("login", "accept its terms"), ("gone", "answered 404")]
)
def test_a_refused_download_says_what_to_do(tmp_path: Path, server: str, path: str, words: str) -> None:
    with pytest.raises(BenchmarkError, match=words):
        download(f"{server}/{path}", tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_an_address_that_cannot_be_reached(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="cannot be reached"):
        download("http://127.0.0.1:9/x.csv", tmp_path / "a")
