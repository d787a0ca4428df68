"""open_pool: names, digests, and one clear line for everything that cannot be read."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from read_support import addresses, read

from auditkit.errors import InputError, UsageError
from auditkit.read import open_pool
from auditkit.records import LabelRule, ReadSettings

LINE = b'{"text": "a"}\n'
KINDS = (
    "a path, folder, glob pattern, s3:// or other address, hf:org/name, polars, pandas or pyarrow frame, "
    "datasets.Dataset, list of texts or dicts, or a dict of name -> one of these"
)
SUFFIXES = ".jsonl, .ndjson, .json, .csv, .tsv, .parquet, .txt, each plain or with .gz or .zst"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    datasets.disable_progress_bars()


def write(*names: str) -> None:
    for number, name in enumerate(names):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(LINE * (number + 1))


def names_of(inputs: Any) -> list[str]:
    return [source.name for source in open_pool(inputs).sources]


def error_of(inputs: Any) -> str:
    with pytest.raises(InputError) as error:
        open_pool(inputs)
    return str(error.value)


def test_one_file() -> None:
    write("data/train.jsonl.gz")
    for given in (
        "data/train.jsonl.gz",
        Path("data/train.jsonl.gz"),
        ["data/train.jsonl.gz"],
        ("data/train.jsonl.gz",),
    ):
        (source,) = open_pool(given).sources
        assert (source.name, source.location, source.format) == ("train", "data/train.jsonl.gz", "jsonl")
        assert (source.compression, source.relative, source.n_bytes) == ("gz", "train.jsonl.gz", len(LINE))
        assert source.digest == f"sha256:{hashlib.sha256(LINE).hexdigest()}"


def test_names_tell_files_apart() -> None:
    write("d/en/train.jsonl", "d/hi/train.jsonl", "d/en/dev.v2.csv", "d/a.jsonl", "d/a.csv", "d/a.jsonl.csv")
    pool = open_pool("d")
    assert [(source.name, source.relative) for source in pool.sources] == [
        ("a.csv", "a.csv"),
        ("a.jsonl", "a.jsonl"),
        ("a.jsonl.csv", "a.jsonl.csv"),
        ("en/dev.v2", "en/dev.v2.csv"),
        ("en/train", "en/train.jsonl"),
        ("hi/train", "hi/train.jsonl"),
    ]
    assert names_of("d/en") == ["dev.v2", "train"]
    assert names_of(("d/hi/train.jsonl", "d/en/train.jsonl")) == ["hi/train", "en/train"]
    assert names_of({"old": "d/en/train.jsonl", "new": "d/hi", "both": "d/a*"}) == [
        "old", "new", "both/a.csv", "both/a.jsonl", "both/a.jsonl.csv",
    ]  # fmt: skip


def test_globs() -> None:
    write("d/en/train.jsonl", "d/hi/train.jsonl", "d/x.txt", "d/README.md", "d/[odd].txt")
    assert names_of("d/*/train.jsonl") == ["en/train", "hi/train"]
    assert names_of("d/**/*.jsonl") == ["en/train", "hi/train"]
    assert names_of("d/**") == names_of("d") == ["[odd]", "en/train", "hi/train", "x"]
    assert names_of("d/[odd].txt") == ["[odd]"]
    assert open_pool("d/**").skipped_files == ("d/README.md",)
    assert error_of("d/*.parquet") == (
        f"d/*.parquet: the pattern matches no data file; expected {SUFFIXES}, or a folder saved by `datasets`"
    )


def test_what_a_folder_leaves_out_is_listed() -> None:
    write("d/a.txt", "d/.hidden.jsonl", "d/.git/x.json", "d/model.bin", "d/dataset_infos.json", "d/deep/er/b.tsv.zst")
    pool = open_pool("d")
    assert [source.name for source in pool.sources] == ["a", "deep/er/b"]
    assert pool.skipped_files == ("d/.git", "d/.hidden.jsonl", "d/dataset_infos.json", "d/model.bin")


def test_links_are_followed_once() -> None:
    write("d/sub/a.jsonl", "elsewhere/b.jsonl")
    Path("d/out").symlink_to(Path("elsewhere").absolute())
    Path("d/sub/up").symlink_to(Path("d").absolute())
    pool = open_pool("d")
    assert [source.name for source in pool.sources] == ["out/b", "sub/a"]
    assert pool.skipped_files == ("d/sub/up",)


def test_the_same_file_twice() -> None:
    write("d/a.jsonl")
    Path("d/b.jsonl").symlink_to(Path("d/a.jsonl").absolute())
    os.link("d/a.jsonl", "c.jsonl")
    assert error_of(("d/a.jsonl", "d/a.jsonl")) == "d/a.jsonl: is given twice; name each file once"
    assert error_of(("d/a.jsonl", "./d/a.jsonl")) == "./d/a.jsonl: is the same file as d/a.jsonl; name each file once"
    assert error_of("d") == "d/b.jsonl: is the same file as d/a.jsonl; name each file once"
    assert error_of(("c.jsonl", "d/a.jsonl")) == "d/a.jsonl: is the same file as c.jsonl; name each file once"


def test_paths_that_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    write("data/train.jsonl", "data/Dev.csv", "docs/README.md")
    Path("empty").mkdir()
    Path("gone.jsonl").symlink_to("nothing.jsonl")
    os.mkfifo("pipe.jsonl")
    wanted = f"expected {SUFFIXES}, or a folder saved by `datasets`"
    one_of = wanted.replace("expected", "expected one of")
    assert error_of("data/trian.jsonl") == "data/trian.jsonl: no such file or folder; did you mean 'train.jsonl'?"
    assert error_of("data/dev.csv") == "data/dev.csv: no such file or folder; did you mean 'Dev.csv'?"
    assert error_of("dta/train.jsonl") == "dta/train.jsonl: there is no folder dta; did you mean 'data'?"
    assert error_of(("zzz",)) == "zzz: no such file or folder; check the path"
    assert error_of("empty") == f"empty: the folder holds no data that can be read, it is empty; {wanted}"
    assert error_of("docs") == f"docs: the folder holds no data that can be read (seen: README.md); {wanted}"
    assert error_of("docs/README.md") == f"docs/README.md: the suffix '.md' is unknown; {one_of}"
    assert error_of("pipe.jsonl") == "pipe.jsonl: not a regular file; write its content to a file first"
    assert error_of("gone.jsonl") == "gone.jsonl: a link to a file that is not there; mend or remove it"
    assert error_of("x" * 5000).endswith(": cannot be a path; for texts in memory give a dict of name -> list")
    Path("data/gone.jsonl").symlink_to("nothing.jsonl")
    assert error_of("data") == "data/gone.jsonl: a link to a file that is not there; mend or remove it"


def test_files_and_folders_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    write("data/train.jsonl")

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        assert error_of("data/train.jsonl") == (
            "data/train.jsonl: cannot be read (Permission denied); check the file and its permissions"
        )
    monkeypatch.setattr(os, "listdir", refuse)
    assert error_of("data") == "data: cannot be read (Permission denied); check the folder and its permissions"


def test_saved_datasets() -> None:
    data = datasets.Dataset.from_dict({"text": ["a", "b"]})
    datasets.DatasetDict(train=data, test=data.select([1])).save_to_disk("saved")
    data.save_to_disk("one")
    pool = open_pool("saved")
    assert [(s.name, s.location, s.relative, s.format) for s in pool.sources] == [
        ("train", "saved", "train", "arrow"), ("test", "saved", "test", "arrow"),
    ]  # fmt: skip
    assert pool.sources[0].digest != pool.sources[1].digest
    assert addresses(read("one")[0]) == [(0, "text", None, None, "a"), (1, "text", None, None, "b")]
    assert names_of(("one", "saved")) == ["one", "saved/train", "saved/test"]
    assert names_of("**") == ["one", "saved/train", "saved/test"]


def test_of_a_decontaminated_pool_only_the_pool_is_read() -> None:
    data = datasets.Dataset.from_dict({"text": ["a"]})
    datasets.DatasetDict(train=data).save_to_disk("clean/saved")
    write("clean/en/train.jsonl", "clean/benchmarks/b.clean.jsonl", "clean/removed.parquet")
    manifest = Path("clean/manifest.json")
    content = {
        "kind": "auditkit decontaminated pool",
        "sources": [{"output": "en/train.jsonl"}, {"output": "saved/train"}],
        "benchmarks": [{"output": "benchmarks/b.clean.jsonl"}],
    }
    manifest.write_text(json.dumps(content))
    pool = open_pool("clean")
    assert [source.location for source in pool.sources] == ["clean/en/train.jsonl", "clean/saved/train"]
    assert pool.skipped_files == ()
    write("clean/other.jsonl", "clean/en/.DS_Store", "clean/benchmarks/mine.jsonl", "clean/notes/a.md")
    assert open_pool("clean").skipped_files == (
        "clean/other.jsonl", "clean/benchmarks/mine.jsonl", "clean/en/.DS_Store", "clean/notes/a.md",
    )  # fmt: skip
    assert [source.location for source in open_pool(".").sources] == ["./clean/en/train.jsonl", "./clean/saved/train"]
    for output in ("gone.jsonl", "../secret.jsonl"):
        manifest.write_text(json.dumps(content | {"sources": [{"output": output}]}))
        assert error_of("clean") == (f"clean/{output}: named by manifest.json and not there; write the folder again")


def test_in_memory() -> None:
    frame = pl.DataFrame({"text": ["a", None]})
    forms: list[Any] = [frame, frame.lazy(), frame.to_arrow(), pd.DataFrame({"text": ["a", None]}),
                        datasets.Dataset.from_dict({"text": ["a", None]}), [{"text": "a"}, {"text": None}]]  # fmt: skip
    for data in forms:
        (source,) = open_pool(data).sources
        assert (source.name, source.location, source.relative) == ("pool", "memory", "")
        assert source.digest == open_pool(data).sources[0].digest
        texts, counted = read(data)
        assert addresses(texts) == [(0, "text", None, None, "a")]
        assert counted == {"null field text": 1, "row without text": 1}
    assert open_pool(frame).sources[0].digest != open_pool(frame.reverse()).sources[0].digest
    assert names_of([frame, frame.to_arrow()]) == ["pool-1", "pool-2"]
    assert names_of({"a": frame, "b": ["x.jsonl", "text"]}) == ["a", "b"]
    assert names_of(datasets.DatasetDict(train=forms[4], test=forms[4])) == ["train", "test"]
    assert names_of({"d": datasets.DatasetDict(train=forms[4], test=forms[4])}) == ["d/train", "d/test"]


def test_texts_or_paths() -> None:
    write("a.jsonl", "b c.txt")
    assert [s.format for s in open_pool(["a.jsonl", "b c.txt"]).sources] == ["jsonl", "text"]
    assert [s.format for s in open_pool(["how do I", "a.jsonl"]).sources] == ["list"]
    assert error_of(["dev.csv"]) == "dev.csv: no such file or folder; check the path"
    assert error_of(["a.jsonl", "how do I"]) == (
        "a list that starts with a path (a.jsonl) and goes on with 'how do I', which is none; give texts as a dict of "
        "name -> list, and paths as a tuple"
    )


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], f"no input given; expected {KINDS}"),
        ((), f"no input given; expected {KINDS}"),
        (3, f"a pool cannot be a int; expected {KINDS}"),
        ({3: ["a"]}, "a pool cannot be called 3; expected a dict of name -> data"),
        ({"": ["a"]}, "a pool cannot be called ''; expected a dict of name -> data"),
        ({"a": {1, 2}}, f"a pool cannot be a set; expected {KINDS}"),
    ],
)
def test_what_is_no_pool(inputs: Any, message: str) -> None:
    assert error_of(inputs) == message


def test_wrong_settings_stop_before_anything_is_read() -> None:
    for settings in (ReadSettings(roles=("x",)), ReadSettings(labels=(LabelRule("a", "b"), LabelRule("a", "c")))):
        with pytest.raises(UsageError):
            open_pool("missing.jsonl", settings)


def test_arrow_types_that_frames_cannot_hold() -> None:
    assert error_of(pd.DataFrame({"text": ["a", 3]})).startswith("memory: the frame cannot be held as Arrow columns")
    assert error_of(pa.array(["a"])).startswith("memory: a pyarrow.lib.StringArray, expected a polars or pandas frame")
