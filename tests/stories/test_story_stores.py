"""A pool in a store is audited and decontaminated as one on a disk, and its report says how it is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit_support import condemned, files, jsonl
from stores import Fault, Store

import auditkit
from auditkit.cli.main import main
from auditkit.errors import OutputError, StaleAuditError
from auditkit.formats import retry

BASIL = "How do I keep basil alive on a north facing window?"
ROWS = ["The ferry to the island leaves at seven in the morning.", BASIL, f"Dear assistant, {BASIL} Thanks."]


@pytest.fixture
def pool(store: Store, tmp_path: Path) -> str:
    """A pool of two files at s3://pools/p and the same below in/p, with a benchmark beside each."""
    for name, rows in (("p/train.jsonl", ROWS), ("p/en/more.jsonl", ROWS[:2]), ("bench.jsonl", [BASIL])):
        store.put(name, jsonl(tmp_path / "in" / name, rows).read_bytes())
    return "s3://pools/p"


def test_an_audit_in_a_store_finds_what_it_finds_on_a_disk(pool: str, tmp_path: Path) -> None:
    there = auditkit.audit(pool, "s3://pools/bench.jsonl", out=tmp_path / "there")
    here = auditkit.audit(tmp_path / "in/p", tmp_path / "in/bench.jsonl", out=tmp_path / "here")
    assert condemned(there) == condemned(here) == {(1, 0), (2, 0)}
    names = ("matches.parquet", "items.parquet")
    assert [files(tmp_path / "there")[name] for name in names] == [files(tmp_path / "here")[name] for name in names]
    kinds = {source.digest.partition(":")[0] for source in there.sources}
    assert (kinds, there.benchmarks[0].digest.partition(":")[0]) == ({"etag"}, "etag")
    report = json.loads((tmp_path / "there/report.json").read_text("utf-8"))
    assert "very-secret" not in json.dumps(report)
    assert there.sources[0].digest in (tmp_path / "there/report.md").read_text("utf-8")


def test_a_pool_in_a_store_is_decontaminated_and_must_be_the_one_that_was_audited(
    pool: str, store: Store, tmp_path: Path
) -> None:
    auditkit.audit(pool, "s3://pools/bench.jsonl", out=tmp_path / "audit")
    auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean")
    clean = files(tmp_path / "clean")
    assert clean["train.jsonl"] == (json.dumps({"text": ROWS[0]}) + "\n").encode()
    assert "en/more.jsonl" in clean
    store.put("p/train.jsonl", b'{"text": "another"}\n')
    with pytest.raises(StaleAuditError, match=r"train"):
        auditkit.decontaminate(tmp_path / "audit", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_an_audit_and_a_clean_pool_are_written_to_a_store(pool: str, store: Store, tmp_path: Path) -> None:
    auditkit.audit(pool, "s3://pools/bench.jsonl", out=tmp_path / "audit")
    auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean")
    command = ["audit", pool, "--benchmark", "s3://pools/bench.jsonl", "--out", "s3://pools/audit"]
    assert main(command) == main(command) == 0  # the second is the same audit and takes its place
    assert [path for method, path in store.requests if method == "PUT"][-1] == "/pools/audit/report.json"
    audited = {name: data for name, data in files(tmp_path / "audit").items() if not name.startswith("parts/")}
    assert [key for key in store.all_keys() if key.startswith("audit/")] == sorted(f"audit/{name}" for name in audited)
    assert all(store.get(f"audit/{name}") == data for name, data in audited.items() if name != "timing.json")
    assert main([*command, "--fields", "text"]) == 2
    assert main(["decontaminate", "s3://pools/audit", "--out", "s3://pools/clean"]) == 0
    clean = files(tmp_path / "clean")
    put = [key.removeprefix("clean/") for key in store.all_keys() if key.startswith("clean/")]
    assert put == sorted(clean)
    assert all(store.get(f"clean/{name}") == data for name, data in clean.items())
    assert [path for method, path in store.requests if method == "PUT"][-1] == "/pools/clean/manifest.json"
    again = auditkit.audit("s3://pools/clean", "s3://pools/bench.jsonl")
    assert (again.n_rows, condemned(again)) == (2, set())
    with pytest.raises(OutputError, match=r"^s3://pools/clean is in use"):
        auditkit.decontaminate(tmp_path / "audit", "s3://pools/clean")
    with pytest.raises(OutputError, match=r"^s3://pools/p/clean lies inside the pool's folder s3://pools/p"):
        auditkit.decontaminate(tmp_path / "audit", "s3://pools/p/clean")


def test_what_stays_unread_is_status_2_and_writes_nothing(
    pool: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(retry.time, "sleep", lambda _: None)
    store.faults += [Fault("503 Busy", (("Retry-After", "1"),), "GET")] * 99
    out = tmp_path / "audit"
    assert main(["audit", pool, "--benchmark", str(tmp_path / "in/bench.jsonl"), "--out", str(out)]) == 2
    assert "could not be read in 6 attempts (status 503)" in capsys.readouterr().err
    assert not out.exists()
