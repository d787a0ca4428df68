"""Nothing is written over an input, nothing is half-written, and a stale audit is refused."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from split_support import benchmark_of, file_source, match, memory_source, report_of, split

from auditkit.errors import BadRecordError, OutputError, StaleAuditError
from auditkit.formats import decontaminated_files
from auditkit.records import Benchmark, Pool, Source
from auditkit.split.clean import clean_names
from auditkit.split.guard import output_names


@pytest.fixture
def pool_file(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "pool.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b"}\n')
    return path


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def refused(out: Path, pool_file: Path, tmp_path: Path, message: str, **more: Any) -> None:
    """Check that `out` is refused in one line and nothing in the folder changed."""
    benchmarks = more.pop("benchmarks", None) or [benchmark_of(tmp_path / "data", [{"q": "x"}])]
    before = snapshot(tmp_path)
    with pytest.raises(OutputError, match=message) as caught:
        split([file_source(pool_file)], [match("pool", 0)], out, tmp_path, benchmarks=benchmarks, **more)
    assert "\n" not in str(caught.value)
    assert snapshot(tmp_path) == before


def test_the_input_is_no_output(tmp_path: Path, pool_file: Path) -> None:
    refused(pool_file, pool_file, tmp_path, "is an input")
    refused(pool_file.parent, pool_file, tmp_path, "holds the input")
    (tmp_path / "link").symlink_to(pool_file)
    refused(tmp_path / "link", pool_file, tmp_path, "is an input")
    (tmp_path / "folder").symlink_to(pool_file.parent)
    refused(tmp_path / "folder", pool_file, tmp_path, "holds the input")
    refused(tmp_path, pool_file, tmp_path, "holds the input")


def test_a_link_in_the_output_to_an_input_is_refused(tmp_path: Path, pool_file: Path) -> None:
    for name, link in (("soft", os.symlink), ("hard", os.link)):
        (tmp_path / name).mkdir()
        link(pool_file, tmp_path / name / "pool.jsonl")
        refused(tmp_path / name, pool_file, tmp_path, "links to the input")


def test_audit_and_named_folders_are_protected(tmp_path: Path, pool_file: Path) -> None:
    audit = tmp_path / "audit"
    audit.mkdir()
    benchmark = benchmark_of(tmp_path / "data", [{"q": "x"}])
    report = report_of(Pool((file_source(pool_file),)), [benchmark], [], audit)
    for out in (audit, audit / "clean", audit / "deeper" / "clean"):
        refused(out, pool_file, tmp_path, "an input|inside the input", report=report, benchmarks=[benchmark])
    refused(tmp_path / "data" / "clean", pool_file, tmp_path, "inside the input", protected=[tmp_path / "data"])
    (tmp_path / "alias").symlink_to(tmp_path / "data")
    refused(tmp_path / "alias" / "clean", pool_file, tmp_path, "inside the input", protected=[tmp_path / "data"])
    refused(tmp_path / "data" / "bench.jsonl", pool_file, tmp_path, "is an input")


def test_a_folder_in_use_and_a_file_are_refused(tmp_path: Path, pool_file: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "note.txt").write_text("mine")
    refused(tmp_path / "used", pool_file, tmp_path, r"is not empty \(it holds note\.txt\)")
    (tmp_path / "file").write_text("mine")
    refused(tmp_path / "file", pool_file, tmp_path, "is a file")
    refused(tmp_path / "file" / "below", pool_file, tmp_path, "cannot be written")


def test_an_empty_folder_a_link_to_one_and_a_new_one_are_taken(tmp_path: Path, pool_file: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for out in (tmp_path / "empty", tmp_path / "link", tmp_path / "a" / "b", pool_file.parent / "beside"):
        split([file_source(pool_file)], [match("pool", 0)], out, tmp_path)
        assert (out / "pool.jsonl").read_text() == '{"text": "b"}\n'
        assert out.stat().st_mode & 0o777 == 0o777 & ~current_umask()
    assert (tmp_path / "link").is_symlink()
    assert not list(tmp_path.rglob(".*"))


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(
    "relative",
    ["../pool.jsonl", "a/../../pool.jsonl", "/tmp/pool.jsonl", "a//b.jsonl", "./a.jsonl", "a\\..\\b.jsonl", "a\0b"],
)
def test_names_never_lead_out_of_the_folder(relative: str) -> None:
    with pytest.raises(OutputError, match="lead out of the output folder"):
        output_names([Source("pool", "here", "jsonl", "", relative, "", 0)])


@pytest.mark.parametrize("relative", ["manifest.json", "removed.parquet", "benchmarks/a.jsonl"])
def test_names_of_our_own_are_refused(relative: str) -> None:
    with pytest.raises(OutputError, match="auditkit itself writes"):
        output_names([Source("pool", "here", "jsonl", "", relative, "", 0)])


@pytest.mark.parametrize("pair", [("a.jsonl", "a.jsonl"), ("a", "a/b.jsonl")])
def test_two_sources_never_share_a_file(pair: Sequence[str]) -> None:
    sources = [Source(f"s{i}", "here", "jsonl", "", name, "", 0) for i, name in enumerate(pair)]
    with pytest.raises(OutputError, match="two sources"):
        output_names(sources)


def test_benchmark_names_become_file_names() -> None:
    assert clean_names(["a", "../x", "hf:o/n@1"]) == {
        "a": "benchmarks/a.clean.jsonl",
        "../x": "benchmarks/_x.clean.jsonl",
        "hf:o/n@1": "benchmarks/hf_o_n@1.clean.jsonl",
    }
    with pytest.raises(OutputError, match="two benchmarks"):
        clean_names(["a:b", "a/b"])


def stale(sources: Sequence[Source], tmp_path: Path, message: str, **more: Any) -> None:
    """Check that a stale audit is refused in one line and leaves nothing."""
    before = snapshot(tmp_path)
    with pytest.raises(StaleAuditError, match=message) as caught:
        split(sources, [], tmp_path / "out", tmp_path, **more)
    assert "\n" not in str(caught.value)
    assert snapshot(tmp_path) == before


def test_a_changed_pool_or_benchmark_is_refused(tmp_path: Path, pool_file: Path) -> None:
    benchmark = benchmark_of(tmp_path, [{"q": "x"}])
    source = file_source(pool_file)
    report = report_of(Pool((source,)), [benchmark], [match("pool", 0)])
    given = {"report": report, "benchmarks": [benchmark]}
    pool_file.write_text('{"text": "a"}\n{"text": "B"}\n')
    stale([source], tmp_path, "pool.jsonl: changed since it was audited", **given)
    pool_file.unlink()
    stale([source], tmp_path, r"pool\.jsonl: no such file.*it was there when it was audited", **given)
    pool_file.write_text('{"text": "a"}\n{"text": "b"}\n')
    Path(benchmark.source.location).write_text('{"q": "y"}\n')
    stale([source], tmp_path, "bench.jsonl: changed since", **given)
    stale([source], tmp_path, "benchmarks given: other; the audit has bench", report=report,
          benchmarks=[replace(benchmark, name="other")])  # fmt: skip
    stale([replace(source, name="else")], tmp_path, "the sources else, the audit has pool", **given)
    frame = memory_source(pl.DataFrame({"text": ["a"]}), "frame")
    stale([frame], tmp_path, "memory: changed", **given)


def test_rows_that_are_not_there_are_refused(tmp_path: Path, pool_file: Path) -> None:
    benchmark = benchmark_of(tmp_path, [{"q": "x"}])
    source = file_source(pool_file)
    for row, message in ((2, "condemns row 2, but it counted 2 rows"), (0, "name the source 'gone'")):
        name = "pool" if row else "gone"
        report = report_of(Pool((source,)), [benchmark], [match(name, row)])
        stale([source], tmp_path, message, report=report, benchmarks=[benchmark])
    pool_file.write_text('{"text": "a"}\nbroken\n')
    source = file_source(pool_file)
    report = report_of(Pool((source,)), [benchmark], [match("pool", 1)])
    stale([source], tmp_path, "1 rows are condemned, 0 of them are read now", report=report, benchmarks=[benchmark],
          bad_rows="skip")  # fmt: skip
    report = replace(report, sources=(replace(report.sources[0], n_rows=3),))
    stale([source], tmp_path, "condemned", report=report, benchmarks=[benchmark], bad_rows="skip")


def test_counts_that_differ_are_refused(tmp_path: Path, pool_file: Path) -> None:
    benchmark = benchmark_of(tmp_path, [{"q": "x"}])
    source = file_source(pool_file)
    report = report_of(Pool((source,)), [benchmark], [])
    wrong = replace(report, sources=(replace(report.sources[0], n_rows=3),))
    stale([source], tmp_path, "2 rows now, 3 when it was audited", report=wrong, benchmarks=[benchmark])
    wrong = replace(report, benchmarks=(replace(report.benchmarks[0], n_items=2),))
    stale([source], tmp_path, "1 items now, 2 when it was audited", report=wrong, benchmarks=[benchmark])


def test_a_broken_row_stops_without_skip(tmp_path: Path, pool_file: Path) -> None:
    pool_file.write_text('{"text": "a"}\nbroken\n')
    before = snapshot(tmp_path)
    benchmark = benchmark_of(tmp_path, [{"q": "x"}])
    before = snapshot(tmp_path)
    with pytest.raises(BadRecordError, match="line 2"):
        split([file_source(pool_file)], [], tmp_path / "out", tmp_path, benchmarks=[benchmark])
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_leaves_nothing(tmp_path: Path, pool_file: Path, error: type[BaseException]) -> None:
    benchmark = benchmark_of(tmp_path, [{"q": "x"}])

    def stop(n_rows: int) -> None:
        raise error

    before = snapshot(tmp_path)
    with pytest.raises(error):
        split([file_source(pool_file)], [], tmp_path / "new" / "out", tmp_path, benchmarks=[benchmark], on_rows=stop)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["manifest.json", "removed.parquet", "bench.clean.jsonl", ".pool.jsonl.auditkit-part"])
def test_no_space_left_is_one_line_and_leaves_nothing(
    tmp_path: Path, pool_file: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = benchmark_of(tmp_path, [{"q": "x"}])
    source = file_source(pool_file)
    before = snapshot(tmp_path)

    def full(real: Any) -> Any:
        def call(self: Any, *args: Any, **more: Any) -> Any:
            if self.name == name and (args[0] if args else more["mode"]) not in ("r", "rb"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(self, *args, **more)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full(Path.open))
        with pytest.raises(OutputError, match="No space left on device") as caught:
            split([source], [match("pool", 0)], tmp_path / "out", tmp_path, benchmarks=[benchmark])
    assert ".auditkit-" not in str(caught.value).split(":")[0]
    assert snapshot(tmp_path) == before


def test_masking_needs_a_second_look(tmp_path: Path, pool_file: Path) -> None:
    with pytest.raises(ValueError, match="rescan"):
        split([file_source(pool_file)], [], tmp_path / "out", tmp_path, action="mask")


def test_a_compressed_pool_of_a_truncated_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pool.txt.gz"
    path.write_bytes(gzip.compress(b"a\nb\n"))
    benchmark = benchmark_of(tmp_path, [{"q": "x"}])
    report = report_of(Pool((file_source(path),)), [benchmark], [])
    path.write_bytes(path.read_bytes()[:-4])
    stale([file_source(path)], tmp_path, "changed since", report=report, benchmarks=[benchmark])


def test_other_manifests_are_not_ours(tmp_path: Path) -> None:
    for text in ("[]", "{}", "no json", '{"kind": "something"}'):
        (tmp_path / "manifest.json").write_text(text)
        assert decontaminated_files(tmp_path) is None


def test_a_benchmark_in_memory_gets_a_clean_subset(tmp_path: Path, pool_file: Path) -> None:
    source = memory_source([{"q": "x"}, "y"], "list", "mine")
    benchmark = Benchmark("mine", source, pl.DataFrame(), 2)
    split([file_source(pool_file)], [match("pool", 0, benchmark="mine")], tmp_path / "out", tmp_path,
          benchmarks=[benchmark])  # fmt: skip
    assert (tmp_path / "out/benchmarks/mine.clean.jsonl").read_text() == '{"text": "y"}\n'
