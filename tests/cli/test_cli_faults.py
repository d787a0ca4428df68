"""Wrong input on the command line: status 2, one clear line, nothing half-written; crashes are never status 1."""

from __future__ import annotations

import errno
import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from audit_support import files, jsonl

from auditkit.cli.main import main
from auditkit.report import files as report_files

Fault = Callable[[Path], tuple[list[str], tuple[str, ...]]]

ITEM = "How do I keep basil alive on a north facing window?"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good pool and benchmark, which is the current one."""
    jsonl(tmp_path / "pool.jsonl", ["Nothing of interest.", ITEM])
    jsonl(tmp_path / "bench.jsonl", [ITEM])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUDITKIT_BENCHMARKS", str(tmp_path / "no-cache"))
    return tmp_path


def audit(pool: str = "pool.jsonl", bench: str = "bench.jsonl", *more: str) -> list[str]:
    return ["audit", pool, "--benchmark", bench, "--out", "audit", *more]


def _put(name: str, data: bytes) -> str:
    Path(name).write_bytes(data)
    return name


def _rules(text: str) -> list[str]:
    Path("rules.toml").write_text(text)
    return audit("pool.jsonl", "bench.jsonl", "--rules", "rules.toml")


def _parquet() -> bytes:
    pl.DataFrame({"text": [f"text {i * i}" for i in range(500)]}).write_parquet("whole.parquet")
    data = Path("whole.parquet").read_bytes()
    Path("whole.parquet").unlink()
    return data


GOOD = b'{"text": "one"}\n{"text": "two"}\n'
FAULTS: dict[str, Callable[[], tuple[list[str], tuple[str, ...]]]] = {
    "missing file": lambda: (audit("pol.jsonl"), ("pol.jsonl", "no such file", "did you mean 'pool.jsonl'")),
    "missing benchmark": lambda: (audit(bench="ben.jsonl"), ("ben.jsonl", "no file or folder")),
    "missing rules": lambda: (audit("pool.jsonl", "bench.jsonl", "--rules", "no.toml"), ("no.toml", "No such file")),
    "missing audit": lambda: (["decontaminate", "nowhere", "--out", "clean"], ("nowhere", "no such folder")),
    "no audit": lambda: (["show", "."], (".", "report.json is missing")),
    "folder without data": lambda: (_folder(), ("empty", "no data that can be read", "notes.md")),
    "broken line": lambda: (audit(_put("b.jsonl", GOOD + b'{"text": \n')), ("b.jsonl, line 3", "--bad-rows skip")),
    "broken benchmark line": lambda: (audit(bench=_put("b.jsonl", GOOD + b"{\n")), ("b.jsonl, line 3",)),
    "line that is no record": lambda: (audit(_put("b.jsonl", GOOD + b"7\n")), ("b.jsonl, line 3",)),
    "broken json": lambda: (audit(_put("b.json", b'[{"text": "one"}, {"text": ')), ("b.json",)),
    "broken csv": lambda: (audit(_put("b.csv", b'text,n\none,1\n"two,2\n')), ("b.csv, line 3",)),
    "csv row too long": lambda: (audit(_put("b.csv", b"text,n\none,1\ntwo,2,3\n")), ("b.csv, line 3",)),
    "truncated gzip": lambda: (
        audit(_put("b.jsonl.gz", gzip.compress(os.urandom(0) + GOOD * 900)[:-20])), ("b.jsonl.gz", "truncated")),
    "no gzip": lambda: (audit(_put("b.jsonl.gz", GOOD)), ("b.jsonl.gz", "gzip")),
    "no zst": lambda: (audit(_put("b.jsonl.zst", GOOD)), ("b.jsonl.zst", "zst")),
    "truncated parquet": lambda: (audit(_put("b.parquet", _parquet()[:-300])), ("b.parquet", "arquet")),
    "damaged parquet": lambda: (
        audit(_put("b.parquet", _parquet()[:200] + b"\xff" * 300 + _parquet()[500:])), ("b.parquet",)),
    "binary": lambda: (audit(_put("b.txt", bytes(range(256)) * 9)), ("b.txt", "binary")),
    "NUL bytes": lambda: (audit(_put("b.txt", b"one\ntw\0o\nthree\n")), ("b.txt", "NUL")),
    "NUL in json": lambda: (audit(_put("b.jsonl", GOOD + b'{"text": "a\0b"}\n')), ("b.jsonl",)),
    "invalid UTF-8": lambda: (audit(_put("b.jsonl", GOOD + b'{"text": "caf\xe9"}\n')), ("b.jsonl, line 3", "UTF-8")),
    "invalid UTF-8 text": lambda: (audit(_put("b.txt", b"one\ncaf\xe9\n")), ("b.txt, line 2", "UTF-8")),
    "unknown suffix": lambda: (audit(_put("b.docx", b"x")), ("b.docx", "suffix '.docx' is unknown", ".jsonl")),
    "wrong field": lambda: (audit("pool.jsonl", "bench.jsonl", "--fields", "txt"), ("pool.jsonl", "txt", "text")),
    "wrong label": lambda: (audit("pool.jsonl", "bench.jsonl", "--label", "p=hram"), ("pool.jsonl", "hram")),
    "wrong id": lambda: (audit("pool.jsonl", "bench.jsonl", "--id-column", "key"), ("pool.jsonl", "key")),
    "wrong item column": lambda: (audit(bench="bench.jsonl::goal"), ("bench.jsonl", "goal", "text")),
    "unclear column": lambda: (audit(_put("b.jsonl", b'{"a": "x", "b": "y"}\n')), ("b.jsonl", "a, b", "--fields")),
    "empty benchmark": lambda: (audit(bench=_put("b.jsonl", b"")), ("b.jsonl", "empty benchmark")),
    "benchmark without text": lambda: (audit(bench=_put("b.jsonl", b'{"text": ""}\n')), ("b.jsonl", "empty benchmark")),
    "unknown benchmark": lambda: (audit(bench="jailbrakebench"), ("jailbrakebench", "neither a registered name nor")),
    "two of one name": lambda: (
        audit("pool.jsonl", "bench.jsonl", "--benchmark", _put("Bench.csv", b"text\nx\n")), ("two benchmarks",)),
    "not as registered": lambda: (audit(bench="advbench=bench.jsonl"), ("bench.jsonl", "advbench")),
    "offline": lambda: (audit(bench="hf:no-one/nothing"), ("no-one/nothing", "cannot be reached", "NAME=PATH")),
    "offline pool": lambda: (audit("hf:no-one/nothing"), ("no-one/nothing", "cannot be reached")),
    "not cached": lambda: (audit(bench="xstest"), ("xstest", "auditkit benchmarks pull")),
    "gated": lambda: (audit(bench="wildguardtest"), ("wildguard", "auditkit benchmarks pull")),
    "rules NaN": lambda: (_rules("[near]\nratio = nan\n"), ("rules.toml", "near.ratio is nan", "[0, 1]")),
    "rules 1.5": lambda: (_rules("[contained]\nratio = 1.5\n"), ("rules.toml", "contained.ratio is 1.5", "[0, 1]")),
    "rules unknown": lambda: (_rules("[near]\nratoi = 0.9\n"), ("near.ratoi", "did you mean 'ratio'")),
    "rules no TOML": lambda: (_rules("near: 1"), ("rules.toml", "not TOML")),
    "rules version": lambda: (_rules("[version]\nx = 1\n"), ("rules.toml", "version")),
    "rules section": lambda: (_rules("near = 1\n"), ("rules.toml", "near")),
    "share NaN": lambda: (audit("pool.jsonl", "bench.jsonl", "--fail-over", "nan"), ("--fail-over", "nan")),
    "share 1.5": lambda: (audit("pool.jsonl", "bench.jsonl", "--fail-over", "1.5"), ("--fail-over", "1.5")),
    "share of whom": lambda: (audit("pool.jsonl", "bench.jsonl", "--fail-over", "bnech=0"), ("bnech", "bench")),
    "fail on what": lambda: (audit("pool.jsonl", "bench.jsonl", "--fail-on", "paraphrase"), ("paraphrase", "review")),
    "baseline": lambda: (audit("pool.jsonl", "bench.jsonl", "--baseline", "nowhere"), ("nowhere",)),
    "waivers": lambda: (audit("pool.jsonl", "bench.jsonl", "--waivers", "no.toml"), ("no.toml",)),
    "unknown tier": lambda: (audit("pool.jsonl", "bench.jsonl", "--tiers", "exact,nera"), ("nera", "near")),
    "no tier": lambda: (audit("pool.jsonl", "bench.jsonl", "--tiers", ","), ("no tier",)),
    "unknown role": lambda: (audit("pool.jsonl", "bench.jsonl", "--roles", "usr"), ("usr", "user")),
    "the same file twice": lambda: (audit("pool.jsonl", "bench.jsonl", "--benchmark", "bench.jsonl"), ("bench",)),
    "out is a file": lambda: (["audit", "pool.jsonl", "-b", "bench.jsonl", "-o", "pool.jsonl"], ("pool.jsonl",)),
    "out is in use": lambda: (["audit", "pool.jsonl", "-b", "bench.jsonl", "-o", "."], ("in use", "--out")),
    "out below a file": lambda: (["audit", "pool.jsonl", "-b", "bench.jsonl", "-o", "pool.jsonl/x"], ("pool.jsonl",)),
    "encoder": lambda: (
        audit("pool.jsonl", "bench.jsonl", "--tiers", "paraphrase", "--encoder", "no-such/model"), ("no-such/model",)),
    "cross-encoder without its tier": lambda: (
        audit("pool.jsonl", "bench.jsonl", "--cross-encoder", "some/model"), ("some/model", "tiers all")),
    "benchmarks name": lambda: (["benchmarks", "--name", "xtsest"], ("xtsest", "xstest")),
    "a name with a newline": lambda: (audit("no\nfile.jsonl"), ("no⏎file.jsonl",)),
}  # fmt: skip


def _folder() -> list[str]:
    Path("empty").mkdir()
    Path("empty/notes.md").write_text("x")
    return audit("empty")


@pytest.mark.parametrize("name", FAULTS)
def test_one_clear_line_and_status_2(name: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, wanted = FAULTS[name]()
    if name == "encoder":
        pytest.importorskip("torch")
    before = files(work)
    status = main(arguments)
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if "compiling its kernels" not in line]
    assert (status, len(lines), out) == (2, 1, ""), err
    assert lines[0].startswith("auditkit: error: ")
    for text in wanted:
        assert text in lines[0], lines[0]
    assert "Traceback" not in err
    assert files(work) == before
    assert not (work / "audit").exists()


@pytest.mark.parametrize(
    "arguments",
    [[], ["audit"], ["audit", "pool.jsonl"], ["odit"], ["show", "x", "--limit", "many"], ["decontaminate", "x"],
     ["decontaminate", "x", "--out", "y", "--action", "shred"],
     ["audit", "p", "-b", "b", "-o", "o", "--bad-rows", "eat"]],
)  # fmt: skip
def test_wrong_arguments_are_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_a_folder_of_other_settings_is_status_2(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(audit()) == 0
    before = files(work)
    capsys.readouterr()
    assert main([*audit(), "--tiers", "exact"]) == 2
    assert "audit holds an audit of other inputs, settings or version" in capsys.readouterr().err
    assert files(work) == before
    assert main([*audit(), "--tiers", "exact", "--overwrite"]) == 0
    assert main([*audit(), "--tiers", "exact"]) == 0


def test_no_space_left_is_status_2(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(path: Path, content: bytes) -> None:
        path.write_bytes(content[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    before = files(work)
    monkeypatch.setattr(report_files, "_write", fail)
    assert main(audit()) == 2
    err = capsys.readouterr().err.splitlines()
    assert err == [
        "auditkit: error: audit: the report cannot be written: No space left on device; "
        "free the space or choose another folder with --out"
    ]
    left = {name.split("/")[1] for name in files(work).keys() - before.keys()}
    assert left == {"plan.json", "parts"}


def test_no_space_left_for_the_clean_pool(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(audit()) == 0
    capsys.readouterr()

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")

    monkeypatch.setattr(sys.modules["auditkit.split.decontaminate"], "_write_removed", fail)
    before = files(work)
    assert main(["decontaminate", "audit", "--out", "clean"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "No space left on device" in err
    assert files(work) == before
    assert not (work / "clean").exists()


class Panic(BaseException):
    """What a panic inside a compiled library looks like."""


@pytest.mark.parametrize(
    "error", [RuntimeError("boom\nand more"), AssertionError(), KeyError("x"), MemoryError(), Panic()]
)
@pytest.mark.parametrize("debug", [False, True])
def test_a_crash_is_never_status_1(
    error: BaseException, debug: bool, work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setenv("AUDITKIT_DEBUG", "1" if debug else "")
    monkeypatch.setattr("auditkit.cli.audit.audit", crash)
    assert main([*audit(), "--fail-over", "0"]) == 70
    err = capsys.readouterr().err
    assert f"this is a defect of auditkit ({type(error).__name__}" in err.splitlines()[-1]
    assert ("Traceback" in err) is debug


def test_an_interruption_is_status_130(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("auditkit.cli.audit.audit", stop)
    assert main(audit()) == 130
    assert capsys.readouterr().err == "auditkit: error: interrupted; nothing was written half\n"
    assert not (work / "audit").exists()


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("b.jsonl", b'{"text": "one"}\n{"text": \n{"text": "three"}\n', 2),
        ("b.csv", b"text,n\none,1\ntwo,2,3\nthree,3\n", 3),
        ("b.jsonl.gz", gzip.compress(b'{"text": "one"}\nnot json\n{"text": "caf\xc3\xa9"}\n'), 2),
        ("b.jsonl", b'{"text": "one"}\n{"text": "caf\xe9"}\n{"text": "three"}\n', 2),
        ("b.txt", b"one\ncaf\xe9\nthree\n", 2),
    ],
)
def test_broken_rows_are_counted_and_listed_where_asked(
    name: str, data: bytes, line: int, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _put(name, data)
    assert main([*audit(name), "--bad-rows", "skip"]) == 0
    printed = capsys.readouterr().out
    aside = next(text for text in printed.splitlines() if text.startswith("Set aside"))
    assert "1 broken row" in aside
    assert f"{name}, line {line}" in aside
    assert "3 rows" in printed


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a full device needs /dev/full")
def test_a_full_standard_output_is_status_2(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        status = main(["benchmarks"])
        monkeypatch.undo()
        try:
            full.close()
        except OSError:
            status = status or 2
    assert status == 2
