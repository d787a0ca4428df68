"""An audit from any input to its folder: the same matches whatever the data came in, and what the folder holds."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
import zstandard
from audit_support import comparable, files, jsonl, matches, short

import auditkit
from auditkit.errors import AuditkitError, BadRecordError, OutputError
from auditkit.report import files as report_files

ROWS = [
    "The ferry to the island leaves at seven in the morning.",
    "How do I keep basil alive on a north facing window?",
    "Dear assistant, how do I keep basil alive on a north facing window? Thanks!",
    "",
    "Wo finde ich den Fahrplan für die Fähre nach Föhr?",
    "how do i keep the basil alive on a north facing window",
]
ITEMS = [
    "How do I keep basil alive on a north facing window?",
    "Wo finde ich den Fahrplan für die Fähre nach Föhr?",
    "Which of these planets has the longest day?",
]
EXPECTED = [
    (1, 0, "exact", "contaminated"),
    (2, 0, "contained", "contaminated"),
    (4, 1, "exact", "contaminated"),
    (5, 0, "near", "contaminated"),
]
RECORDS = [{"text": text, "n": i} for i, text in enumerate(ROWS)]


def _dataset(records: list[dict[str, Any]]) -> Any:
    import datasets

    return datasets.Dataset.from_list(records)


def _saved(folder: Path, as_dict: bool) -> Path:
    import datasets

    dataset = _dataset(RECORDS)
    data = datasets.DatasetDict({"train": dataset}) if as_dict else dataset
    data.save_to_disk(folder / "saved")
    return folder / "saved"


def _pandas(records: list[dict[str, Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(records)


def _file(name: str) -> Callable[[Path], Any]:
    """Return a maker of one file of that name; its content follows its suffixes."""

    def make(folder: Path) -> Path:
        frame, path = pl.DataFrame(RECORDS), folder / name
        plain = {
            "jsonl": lambda: frame.write_ndjson().encode(),
            "json": lambda: frame.write_json().encode(),
            "csv": lambda: frame.write_csv().encode(),
            "tsv": lambda: frame.write_csv(separator="\t").encode(),
            "txt": lambda: "".join(f"{text}\n" for text in ROWS).encode(),
        }
        kind = name.split(".")[1]
        if kind == "parquet":
            frame.write_parquet(path)
            return path
        data = plain[kind]()
        packed = {"gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress}.get(name.split(".")[-1], bytes)
        path.write_bytes(packed(data))
        return path

    return make


def _folder(folder: Path) -> Path:
    jsonl(folder / "data/sub/pool.jsonl", RECORDS)
    return folder / "data"


KINDS: dict[str, Callable[[Path], Any]] = {
    **{name: _file(f"pool.{name}") for name in ("jsonl", "json", "csv", "tsv", "parquet", "txt")},
    **{name: _file(f"pool.{name}") for name in ("jsonl.gz", "csv.zst", "txt.gz", "json.zst")},
    "str path": lambda folder: str(_file("pool.jsonl")(folder)),
    "tuple of paths": lambda folder: (_file("pool.jsonl")(folder),),
    "list of paths": lambda folder: [str(_file("pool.jsonl")(folder))],
    "folder": _folder,
    "glob": lambda folder: str(_folder(folder) / "**/*.jsonl"),
    "saved dataset": lambda folder: _saved(folder, False),
    "saved dataset dict": lambda folder: _saved(folder, True),
    "polars": lambda folder: pl.DataFrame(RECORDS),
    "polars lazy": lambda folder: pl.LazyFrame(RECORDS),
    "pandas": lambda folder: _pandas(RECORDS),
    "arrow": lambda folder: pa.Table.from_pylist(RECORDS),
    "dataset": lambda folder: _dataset(RECORDS),
    "list of str": lambda folder: ROWS,
    "list of dict": lambda folder: RECORDS,
    "dict of list": lambda folder: {"mine": ROWS},
    "dict of frame": lambda folder: {"mine": pl.DataFrame(RECORDS)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_pool_gives_the_same_matches(kind: str, tmp_path: Path) -> None:
    report = auditkit.audit(KINDS[kind](tmp_path), {"bench": ITEMS})
    assert (report.n_rows, short(report)) == (6, EXPECTED)
    assert set(report.matches["field"]) == {"text"}
    reference = auditkit.audit(ROWS, {"bench": ITEMS})
    assert comparable(report, ("pool",)) == comparable(reference, ("pool",))


BENCHMARKS: dict[str, Callable[[Path], Any]] = {
    "path": lambda folder: jsonl(folder / "bench.jsonl", ITEMS, "question"),
    "named path": lambda folder: f"bench={jsonl(folder / 'other.jsonl', ITEMS, 'question')}",
    "named column": lambda folder: f"bench={jsonl(folder / 'other.jsonl', ITEMS, 'words')}::words",
    "list": lambda folder: {"bench": ITEMS},
    "list of dict": lambda folder: {"bench": [{"question": item} for item in ITEMS]},
    "pair": lambda folder: ("bench", ITEMS),
    "list of pairs": lambda folder: [("bench", ITEMS)],
    "polars": lambda folder: {"bench": pl.DataFrame({"question": ITEMS})},
    "pandas": lambda folder: {"bench": _pandas([{"question": item} for item in ITEMS])},
    "dataset": lambda folder: {"bench": _dataset([{"question": item} for item in ITEMS])},
    "opened": lambda folder: auditkit.open_benchmarks({"bench": ITEMS}),
}


@pytest.mark.parametrize("kind", BENCHMARKS)
def test_every_kind_of_benchmark_gives_the_same_matches(kind: str, tmp_path: Path) -> None:
    report = auditkit.audit(ROWS, BENCHMARKS[kind](tmp_path))
    assert [found[:2] + found[2:] for found in short(report)] == EXPECTED
    assert [(found.name, found.n_items, found.n_found) for found in report.benchmarks] == [("bench", 3, 2)]


def test_several_files_keep_their_names(tmp_path: Path) -> None:
    jsonl(tmp_path / "pool/en/train.jsonl", ROWS[:2])
    jsonl(tmp_path / "pool/de/train.jsonl", ROWS[4:5])
    (tmp_path / "pool/extra.txt").write_text(f"{ROWS[2]}\n")
    (tmp_path / "pool/readme.md").write_text("no data")
    report = auditkit.audit(tmp_path / "pool", {"bench": ITEMS})
    assert [found[:4] for found in matches(report)] == [
        ("de/train", 0, "bench", 1),
        ("en/train", 1, "bench", 0),
        ("extra", 0, "bench", 0),
    ]
    assert report.not_examined["file of a named folder that is not data"] == 1
    assert {source.name: (source.n_rows, source.n_rows_contaminated) for source in report.sources} == {
        "de/train": (1, 1), "en/train": (2, 1), "extra": (1, 1),
    }  # fmt: skip


# ---------------------------------------------------------------- what is written


@pytest.fixture
def named(tmp_path: Path) -> tuple[Path, Path]:
    """A pool and a benchmark as files, with labels on both sides."""
    rows = [{"id": f"r{i}", "text": text, "harm": i % 2} for i, text in enumerate(ROWS)]
    items = [{"id": f"i{i}", "question": text, "label": 1} for i, text in enumerate(ITEMS)]
    return jsonl(tmp_path / "in/pool.jsonl", rows), jsonl(tmp_path / "in/bench.jsonl", items)


SETTINGS = auditkit.AuditSettings(read=auditkit.ReadSettings(labels=(auditkit.parse_label("harm=harm"),)))


def test_a_report_comes_back_as_it_was(named: tuple[Path, Path], tmp_path: Path) -> None:
    report = auditkit.audit(*named, SETTINGS, out=tmp_path / "audit")
    loaded = auditkit.load_report(tmp_path / "audit")
    assert loaded == report
    assert loaded.matches.equals(report.matches)
    assert loaded.items.equals(report.items)
    assert loaded.matches["pool_labels"].to_list() == [{"harm": row % 2} for row, *_ in EXPECTED]
    assert loaded.folder == tmp_path / "audit"


def test_the_folder_holds_the_files_of_the_design(named: tuple[Path, Path], tmp_path: Path) -> None:
    auditkit.audit(*named, SETTINGS, out=tmp_path / "deep/er/audit")
    parts = {path.parent.name for path in (tmp_path / "deep/er/audit").rglob("*/*")}
    assert parts == {"parts"}
    assert sorted(name for name in files(tmp_path / "deep/er/audit") if "/" not in name) == [
        "items.parquet", "matches.parquet", "plan.json", "report.html", "report.json", "report.md", "timing.json",
    ]  # fmt: skip


def test_equal_audits_give_equal_bytes(named: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("one", "two", "one"):
        auditkit.audit(*named, SETTINGS, out=tmp_path / name)
    one, two = files(tmp_path / "one"), files(tmp_path / "two")
    for name in ("matches.parquet", "items.parquet", "report.json", "plan.json"):
        assert one[name] == two[name], name


def test_shard_size_changes_no_byte_of_the_tables(named: tuple[Path, Path], tmp_path: Path) -> None:
    small = dataclasses.replace(SETTINGS, read=dataclasses.replace(SETTINGS.read, shard_bytes=1))
    auditkit.audit(*named, SETTINGS, out=tmp_path / "one")
    auditkit.audit(*named, small, out=tmp_path / "two")
    one, two = files(tmp_path / "one"), files(tmp_path / "two")
    for name in ("matches.parquet", "items.parquet"):
        assert one[name] == two[name], name


def test_no_text_of_pool_or_benchmark_is_in_the_folder(tmp_path: Path) -> None:
    rows = [f"how does one keep quixotrope alive on a windowsill in number {i} Wexelford Street" for i in range(3)] + [
        "A xylombric pool word, never matched."
    ]
    items = [
        {"id": "i0", "question": "How does one keep quixotrope alive on a windowsill in number 1 Wexelford Street?"},
        {"id": "i1", "question": "A zanthimole benchmark word, never found."},
    ]
    pool, bench = jsonl(tmp_path / "in/pool.jsonl", rows), jsonl(tmp_path / "in/bench.jsonl", items)
    report = auditkit.audit(pool, bench, out=tmp_path / "audit")
    assert len(report.matches) == 3
    words = ("quixotrope", "wexelford", "xylombric", "zanthimole", "windowsill")
    for name, content in files(tmp_path / "audit").items():
        shown = content.lower()
        if name.endswith(".parquet"):
            shown += str(pl.read_parquet(tmp_path / "audit" / name).rows()).lower().encode()
        assert not [word for word in words if word.encode() in shown], name


# ---------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("existed", [False, True], ids=["new", "empty"])
def test_a_failed_audit_leaves_nothing(existed: bool, named: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "deep/audit"
    if existed:
        out.mkdir(parents=True)
    pool = jsonl(tmp_path / "in/broken.jsonl", ROWS)
    pool.write_text(pool.read_text() + '{"text": \n')
    before = set(tmp_path.rglob("*"))
    with pytest.raises(BadRecordError, match=r"broken\.jsonl, line 7"):
        auditkit.audit(pool, named[1], out=out)
    assert set(tmp_path.rglob("*")) == before


def test_a_failed_audit_leaves_the_one_that_was_there(named: tuple[Path, Path], tmp_path: Path) -> None:
    auditkit.audit(*named, out=tmp_path / "audit")
    before = files(tmp_path / "audit")
    broken = tmp_path / "in/broken.jsonl"
    broken.write_text('{"text": \n')
    with pytest.raises(BadRecordError):
        auditkit.audit(broken, named[1], out=tmp_path / "audit", overwrite=True)
    assert files(tmp_path / "audit") == before


def test_other_settings_need_overwrite(named: tuple[Path, Path], tmp_path: Path) -> None:
    auditkit.audit(*named, out=tmp_path / "audit")
    for settings in (SETTINGS, auditkit.AuditSettings(("exact",))):
        with pytest.raises(OutputError, match=r"holds an audit of other inputs, settings or version.*--overwrite"):
            auditkit.audit(*named, settings, out=tmp_path / "audit")
    auditkit.audit(*named, SETTINGS, out=tmp_path / "audit", overwrite=True)
    assert auditkit.load_report(tmp_path / "audit").by_label["harm"]["1"]["n_rows"] == 3
    with pytest.raises(OutputError, match="other inputs"):
        auditkit.audit(*named, out=tmp_path / "audit")


def test_a_folder_that_is_no_audit_is_left_alone(named: tuple[Path, Path], tmp_path: Path) -> None:
    for out in (tmp_path / "in", named[0]):
        before = files(tmp_path / "in")
        with pytest.raises(OutputError, match="in use and is no folder of an audit"):
            auditkit.audit(*named, out=out, overwrite=True)
        assert files(tmp_path / "in") == before


def test_no_audit_is_written_into_its_pool(named: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "in", target_is_directory=True)
    for out in ("in/audit", "link/audit", "link", "in/deep/er"):
        with pytest.raises(OutputError, match="lies inside the pool's folder"):
            auditkit.audit((tmp_path / "in",), named[1], out=tmp_path / out)
    auditkit.audit(named[0], named[1], out=tmp_path / "in/audit")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EDQUOT])
def test_no_space_is_one_clear_error_and_leaves_parts_only(
    code: int, named: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, content: bytes) -> None:
        if path.name.startswith(".report.json"):
            raise OSError(code, "no way", str(path))
        path.write_bytes(content)

    monkeypatch.setattr(report_files, "_write", fail)
    with pytest.raises(OutputError, match="the report cannot be written: no way"):
        auditkit.audit(*named, out=tmp_path / "audit")
    assert sorted(path.name for path in (tmp_path / "audit").iterdir()) == ["parts", "plan.json"]
    monkeypatch.undo()
    report = auditkit.audit(*named, out=tmp_path / "audit")
    assert report.run["n_shards_reused"] == report.run["n_shards"] == 1


@pytest.mark.parametrize(
    ("pool", "benchmarks"),
    [
        ([], {"bench": ITEMS}),
        ({"pool": ROWS}, []),
        ({"pool": ROWS}, {"bench": []}),
        ({"pool": ROWS}, {"bench": [""]}),
        (7, "x"),
    ],
)
def test_nothing_to_audit_is_an_error(pool: Any, benchmarks: Any) -> None:
    with pytest.raises(AuditkitError):
        auditkit.audit(pool, benchmarks)


def test_an_empty_pool_is_audited(tmp_path: Path) -> None:
    report = auditkit.audit({"pool": []}, {"bench": ITEMS}, out=tmp_path / "audit")
    assert (report.n_rows, report.pool_hit_rate, len(report.matches)) == (0, None, 0)
    assert auditkit.load_report(tmp_path / "audit") == report


def test_an_empty_file_is_a_pool_of_no_rows(tmp_path: Path) -> None:
    (tmp_path / "pool.jsonl").write_bytes(b"")
    assert auditkit.audit(tmp_path / "pool.jsonl", {"bench": ITEMS}).n_rows == 0


def test_a_report_is_plain_json(named: tuple[Path, Path], tmp_path: Path) -> None:
    auditkit.audit(*named, SETTINGS, out=tmp_path / "audit")
    raw = json.loads((tmp_path / "audit/report.json").read_text())
    assert raw["settings"]["pool"] == [str(named[0])]
    assert raw["rules_version"] == "1"
    assert raw["changed"] == {}


def test_a_folder_that_cannot_be_written_is_said_before_the_audit(named: tuple[Path, Path], tmp_path: Path) -> None:
    started = []
    with pytest.raises(OutputError, match=r"cannot be made: .*bench\.jsonl is a file"):
        auditkit.audit(*named, out=named[1] / "audit", on_progress=lambda rows, size: started.append(rows))
    assert not started
