"""The demo's input: stated shares, several formats, equal bytes, and nothing of a person's overwritten."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from pathlib import Path

import orjson
import polars as pl
import pytest

from auditkit.demo import LABELS, DemoPaths, write_demo
from auditkit.errors import OutputError


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoPaths:
    return write_demo(tmp_path_factory.mktemp("demo") / "new" / "folder")


def contents(paths: DemoPaths) -> dict[str, bytes]:
    files = sorted(path for path in paths.folder.rglob("*") if path.is_file())
    return {path.relative_to(paths.folder).as_posix(): path.read_bytes() for path in files}


def json_lines(path: Path) -> list[dict[str, object]]:
    content = path.read_bytes()
    return [orjson.loads(line) for line in (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()]


def test_only_the_named_files_are_written(demo: DemoPaths) -> None:
    named = {path.relative_to(demo.folder).as_posix() for path in (*demo.pool, *demo.benchmarks, demo.truth)}
    assert set(contents(demo)) == named
    assert {path.name for path in demo.pool} == {"train.jsonl", "chats.jsonl.gz"}


def test_rows_have_ids_text_and_both_labels(demo: DemoPaths) -> None:
    train, chats = (json_lines(path) for path in demo.pool)
    assert (len(train), len(chats)) == (1_600, 400)
    assert {tuple(row) for row in train} == {("id", "prompt", "harm", "block", "source")}
    assert {tuple(row) for row in chats} == {("id", "messages", "harm", "block", "source")}
    assert len({row["id"] for row in [*train, *chats]}) == 2_000
    assert {rule.column for rule in LABELS} <= set(train[0])


def test_the_policies_disagree_on_a_fifth_of_the_rows(demo: DemoPaths) -> None:
    rows = [row for path in demo.pool for row in json_lines(path)]
    counts = Counter((row["harm"], row["block"]) for row in rows)
    assert counts == {(0, 0): 1_100, (0, 1): 240, (1, 0): 160, (1, 1): 500}


def test_prompts_are_distinct_and_of_a_prompt_s_length(demo: DemoPaths) -> None:
    prompts = [row["prompt"] for row in json_lines(demo.pool[0])]
    assert len(set(prompts)) == len(prompts)
    assert min(len(str(prompt)) for prompt in prompts) >= 25
    assert not any("{" in str(prompt) for prompt in prompts)


def test_every_chat_holds_a_question_and_an_answer(demo: DemoPaths) -> None:
    for row in json_lines(demo.pool[1]):
        roles = [turn["role"] for turn in row["messages"]]  # type: ignore[attr-defined]
        assert [role for role in roles if role != "system"][:2] == ["user", "assistant"]


def test_benchmarks_have_forty_to_eighty_labelled_items(demo: DemoPaths) -> None:
    for path in demo.benchmarks:
        separator = {".csv": ",", ".tsv": "\t"}.get(path.suffix)
        frame = pl.read_csv(path, separator=separator) if separator else pl.read_ndjson(path)
        assert frame.columns == ["id", "prompt", "label"]
        assert 40 <= frame.height <= 80
        assert frame["label"].unique().to_list() == [int("harmful" in path.stem)]
        assert frame["prompt"].n_unique() == frame["id"].n_unique() == frame.height
    assert {path.suffix for path in demo.benchmarks} == {".jsonl", ".csv", ".tsv"}


def test_equal_seeds_give_equal_bytes_and_others_do_not(demo: DemoPaths, tmp_path: Path) -> None:
    again, other = write_demo(tmp_path / "again"), write_demo(tmp_path / "other", seed=2)
    assert contents(again) == contents(demo)
    assert contents(other)["truth.jsonl"] != contents(demo)["truth.jsonl"]
    assert contents(other)["pool/train.jsonl"] != contents(demo)["pool/train.jsonl"]


def test_it_is_written_in_under_half_a_second(tmp_path: Path) -> None:
    """Measured 0.03 s; the best of three, since other work may run beside the tests."""
    seconds = []
    for n in range(3):
        start = time.perf_counter()
        write_demo(tmp_path / str(n))
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5


def test_a_second_call_leaves_the_files_alone(tmp_path: Path) -> None:
    first = write_demo(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in first.pool}
    assert write_demo(tmp_path) == first
    assert {path: path.stat().st_mtime_ns for path in first.pool} == before


def test_another_s_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "train.jsonl").write_text("mine\n", encoding="utf-8")
    with pytest.raises(OutputError, match=r"train\.jsonl: exists and is not what the demo would write"):
        write_demo(tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["train.jsonl"]
    assert (tmp_path / "pool" / "train.jsonl").read_text(encoding="utf-8") == "mine\n"


def test_a_folder_that_is_a_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    with pytest.raises(OutputError, match=r"taken.*: cannot write the demo there"):
        write_demo(tmp_path / "taken")


def test_no_half_written_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, content: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_demo(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
