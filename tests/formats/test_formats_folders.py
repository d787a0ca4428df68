"""Folders in a store appear file by file, the one that vouches for them last, and only when all went well."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import Fault, Store

from auditkit.errors import InputError, OutputError
from auditkit.formats import retry
from auditkit.formats.folders import read_folder, written_folder

OUT = "s3://pools/out"


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(retry.time, "sleep", found.append)
    return found


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def puts(store: Store) -> list[str]:
    return [path for method, path in store.requests if method == "PUT"]


def test_a_folder_on_a_disk_is_itself(tmp_path: Path) -> None:
    with written_folder(tmp_path / "a", "z") as folder, read_folder(str(tmp_path / "a")) as again:
        assert folder == again == tmp_path / "a"


def test_the_file_that_vouches_is_put_last(store: Store) -> None:
    with written_folder(f"{OUT}/", "report.json", without="parts") as folder:
        write(folder, report_json="r", zz__b_parquet="b", a="a", parts__p="left behind")
        assert store.all_keys() == []
    assert puts(store) == ["/pools/out/a", "/pools/out/zz/b.parquet", "/pools/out/report.json"]
    assert (store.get("out/zz/b.parquet"), store.get("out/report.json")) == (b"b", b"r")
    with read_folder(OUT) as copy:
        assert sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()) == [
            "a", "report.json", "zz/b.parquet",
        ]  # fmt: skip
        assert (copy / "zz/b.parquet").read_bytes() == b"b"


def test_nothing_is_put_where_the_block_fails(store: Store) -> None:
    def fail() -> None:
        with written_folder(OUT, "z") as folder:
            write(folder, z="z")
            raise OutputError(f"{folder}/x: no space")

    with pytest.raises(OutputError, match=r"^s3://pools/out/x: no space$"):
        fail()
    assert store.all_keys() == []


def test_a_folder_in_use_is_refused_or_claimed(store: Store) -> None:
    store.put("out/plan.json", b"mine")
    with (
        pytest.raises(OutputError, match=r"s3://pools/out is in use \(it holds plan\.json\)"),
        written_folder(OUT, "z"),
    ):
        raise AssertionError
    with written_folder(OUT, "report.json", claim="plan.json") as folder:
        assert (folder / "plan.json").read_bytes() == b"mine"
        write(folder, report_json="new")
    assert store.get("out/report.json") == b"new"
    store.requests.clear()
    store.faults += [Fault("403 Forbidden", method="PUT")]
    with (
        pytest.raises(OutputError, match=r"s3://pools/out/plan\.json: access is denied.*allow it to be written"),
        written_folder(OUT, "report.json", claim="plan.json") as folder,
    ):
        write(folder, report_json="newer")
    # Half of a new audit does not look like a whole one.
    assert store.all_keys() == ["out/plan.json"]


@pytest.mark.parametrize("pool", ["s3://pools/out", "s3://pools/out/", "s3://pools", "s3://pools/"])
def test_an_output_inside_the_pool_is_refused(store: Store, pool: str) -> None:
    with (
        pytest.raises(OutputError, match=r"s3://pools/out lies inside the pool's folder s3://pools"),
        written_folder(OUT, "z", apart_from=["train.jsonl", pool]),
    ):
        raise AssertionError
    with written_folder(OUT, "z", apart_from=["s3://pools/o", "s3://pools/out.jsonl"]) as folder:
        write(folder, z="z")


def test_busy_stores_are_asked_again_for_writing_too(store: Store, pauses: list[float]) -> None:
    store.faults += [Fault("503 Slow Down", (("Retry-After", "4"),), "PUT")]
    with written_folder(OUT, "z") as folder:
        write(folder, z="z", a="a")
    assert pauses == [4.0]
    assert store.all_keys() == ["out/a", "out/z"]
    store.faults += [Fault("503 Slow Down", method="PUT")] * 9
    with (
        pytest.raises(OutputError, match=r"other/a: could not be written in 6 attempts \(status 503\)"),
        written_folder("s3://pools/other", "z") as folder,
    ):
        write(folder, z="z", a="a")


def test_where_nothing_can_be_written_or_read(store: Store) -> None:
    for out, message in (
        ("https://host/out", "https:// cannot be written to; choose a folder, s3:// or gs://"),
        ("s3://nobucket/out", "s3://nobucket/out: no such file or folder"),
    ):
        with pytest.raises(OutputError, match=message), written_folder(out, "z"):
            raise AssertionError
    with pytest.raises(InputError, match="s3://pools/gone: no such folder"), read_folder("s3://pools/gone"):
        raise AssertionError
