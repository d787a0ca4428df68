"""A pool by sides: nothing lost, families whole, no near pair across, equal bytes again; wrong input in one line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from audit_support import condemned, files, jsonl

import auditkit
from auditkit.errors import InputError, LabelError, OutputError, UsageError
from auditkit.read import open_pool, parse_labels
from auditkit.records import ReadSettings
from auditkit.stories import split as story
from auditkit.stories.near import FamilySettings
from auditkit.stories.split import split_pool

LABELLED = FamilySettings(read=ReadSettings(labels=parse_labels(["harm=harm", "block=block"])))


def records(n: int = 120, seed: int = 1) -> list[dict[str, Any]]:
    """Rows of random words, every third one with an edited copy; labels and source go round."""
    rng = random.Random(seed)
    words = [f"word{i}" for i in range(300)]
    rows = []
    for i in range(n):
        text = " ".join(rng.choices(words, k=14))
        copies = [text, text.replace(" word", " Word", 3) + " please"] if i % 3 == 0 else [text]
        for copy in copies:
            rows.append({"id": len(rows), "text": copy, "harm": i % 2, "block": i // 2 % 2, "from": f"s{i % 3}"})
    rng.shuffle(rows)
    return rows


def sides_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {side: [json.loads(line) for path in sorted((folder / side).glob("*.jsonl"))
                   for line in path.read_text("utf-8").splitlines()] for side in ("train", "dev", "test")}  # fmt: skip


def test_each_row_is_written_once_and_unchanged_and_families_are_whole(tmp_path: Path) -> None:
    rows = records()
    pool = jsonl(tmp_path / "pool.jsonl", rows)
    result = split_pool(pool, tmp_path / "out", seed=3, source_column="from", settings=LABELLED)
    written = sides_of(tmp_path / "out")
    assert sorted(row["id"] for side in written.values() for row in side) == list(range(len(rows)))
    assert all(rows[rows.index(row)] == row for side in written.values() for row in side)
    placed = pl.read_parquet(tmp_path / "out/split.parquet")
    assert placed.columns == ["pool", "row", "family", "side"]
    assert placed.group_by("family").agg(pl.col("side").n_unique())["side"].max() == 1
    assert (
        {side: len(found) for side, found in written.items()} == result.counts == {"train": 128, "dev": 16, "test": 16}
    )
    assert result.n_families == 120
    assert result.proof.n_crossing == 0


def test_an_audit_of_each_side_against_the_others_condemns_nothing(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", records())
    split_pool(pool, tmp_path / "out")
    train = str(tmp_path / "out/train/pool.jsonl")
    for side in ("dev", "test"):
        assert condemned(auditkit.audit(train, [f"{side}={tmp_path / 'out' / side / 'pool.jsonl'}"])) == set()
        assert condemned(auditkit.audit(str(tmp_path / "out" / side), [f"train={train}"])) == set()


def test_cells_and_sources_are_in_proportion_and_in_the_manifest(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", records(240))
    result = split_pool(pool, tmp_path / "out", source_column="from", settings=LABELLED)
    manifest = json.loads((tmp_path / "out/manifest.json").read_text("utf-8"))
    assert manifest["by_cell"] == result.by_cell
    for counts in [*result.by_cell.values(), *result.by_source.values()]:
        n = sum(counts.values())
        assert all(abs(counts[side] - share * n) <= 4 for side, share in (("train", 0.8), ("dev", 0.1), ("test", 0.1)))
    assert set(result.by_cell) == {"C1", "C0", "D10", "D01"}
    assert set(result.by_source) == {"s0", "s1", "s2"}
    assert manifest["proof"]["n_crossing"] == 0
    assert manifest["counts"] == {"train": 256, "dev": 32, "test": 32}


def test_equal_input_and_seed_give_equal_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", records(60))
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        split_pool(pool, tmp_path / name, seed=seed)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert files(tmp_path / "a")["train/pool.jsonl"] != files(tmp_path / "c")["train/pool.jsonl"]


def test_files_keep_their_formats_and_names(tmp_path: Path) -> None:
    rows = records(60)
    pl.DataFrame(rows[:40]).write_parquet(tmp_path / "in.parquet")
    pl.DataFrame(rows[40:]).write_csv(tmp_path / "more.csv")
    split_pool((tmp_path / "in.parquet", tmp_path / "more.csv"), tmp_path / "out")
    names = set(files(tmp_path / "out"))
    assert names == {f"{s}/{f}" for s in ("train", "dev", "test") for f in ("in.parquet", "more.csv")} | {
        "split.parquet", "manifest.json"
    }  # fmt: skip
    whole = pl.concat([pl.read_parquet(tmp_path / "out" / side / "in.parquet") for side in ("train", "dev", "test")])
    assert whole.sort("id").equals(pl.read_parquet(tmp_path / "in.parquet").sort("id"))


def test_a_split_folder_is_read_as_the_pool_that_it_is(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", records(30))
    split_pool(pool, tmp_path / "out")
    opened = open_pool(tmp_path / "out")
    assert [source.name for source in opened.sources] == ["train/pool", "dev/pool", "test/pool"]
    assert opened.skipped_files == ()


def test_a_pool_in_memory_is_written_as_json_lines(tmp_path: Path) -> None:
    split_pool({"mine": [row["text"] for row in records(30)]}, tmp_path / "out")
    assert (tmp_path / "out/train/mine.jsonl").is_file()


def test_pairs_that_only_an_audit_of_sides_condemns_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"text": " ".join(f"word{i}x{j}" for j in range(12))} for i in range(30)]
    pool = jsonl(tmp_path / "pool.jsonl", [*rows, rows[0]])
    monkeypatch.setattr(story, "families_of", lambda rows, settings: pl.DataFrame(
        {"pool": "pool", "row": range(31), "family": [f"pool:{i}" for i in range(31)], "size": [1] * 31},
        schema={"pool": pl.String, "row": pl.Int64, "family": pl.String, "size": pl.Int64}))  # fmt: skip
    results = [split_pool(pool, tmp_path / f"out{seed}", seed=seed) for seed in range(6)]
    for result in results:
        side = dict(result.placed.select("row", "side").iter_rows())
        assert side[0] == side[30]
    assert {result.proof.n_rounds for result in results} == {1, 2}
    assert {result.n_families for result in results if result.proof.n_rounds == 2} == {30}


def test_what_still_crosses_in_the_end_is_an_error_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", records(30))
    one = pl.DataFrame({"left_pool": ["pool"], "left_row": [0], "right_pool": ["pool"], "right_row": [1]})
    monkeypatch.setattr(story, "prove", lambda *_: (one, {}))
    with pytest.raises(UsageError, match="1 near pairs still stand on two sides"):
        split_pool(pool, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pool.jsonl"]


def test_one_giant_family_is_said_or_refused(tmp_path: Path) -> None:
    frame = "How do I keep basil alive on a north facing window in winter"
    pool = jsonl(tmp_path / "pool.jsonl", [frame + "!" * i for i in range(20)])
    with pytest.raises(UsageError) as error:
        split_pool(pool, tmp_path / "out")
    assert "20 rows are 1 near-duplicate families (the largest has 20 rows), fewer than the 3 sides" in str(error.value)
    assert not (tmp_path / "out").exists()
    others = [row["text"] for row in records(20)]
    result = split_pool(jsonl(tmp_path / "more.jsonl", [*[frame] * 20, *others]), tmp_path / "out")
    assert any("the largest family has 20 of" in note and "--fields" in note for note in result.notes)


def test_unknown_and_one_class_labels_are_noted(tmp_path: Path) -> None:
    rows = [{**row, "harm": 1, "block": ["yes", "no", "maybe"][i % 3]} for i, row in enumerate(records(30))]
    result = split_pool(jsonl(tmp_path / "pool.jsonl", rows), tmp_path / "out", settings=LABELLED)
    assert any(note.startswith("policy harm: all labels are 1") for note in result.notes)
    assert any("policy block: 13 unmapped: 'maybe'" in note for note in result.notes)
    assert set(result.by_cell) == {"C1", "D10", "unknown"}


def test_rows_without_text_and_broken_rows_are_counted(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", [*records(30), {"text": ""}, {"text": None}])
    with pool.open("a") as file:
        file.write("{broken\n")
    with pytest.raises(InputError, match=r"line 43"):
        split_pool(pool, tmp_path / "out")
    settings = FamilySettings(read=ReadSettings(bad_rows="skip"))
    result = split_pool(pool, tmp_path / "out", settings=settings)
    assert sum(result.counts.values()) == 42
    assert any("1 broken records were left out" in note for note in result.notes)


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        ({"shares": {"train": 0.8, "dev": 0.1, "test": 0.2}}, UsageError, "make 1.1"),
        ({"shares": {"train": "nan", "dev": 0.1}}, UsageError, "share train is 'nan'"),
        ({"source_column": "form"}, InputError, "no source column 'form'; did you mean 'from'?"),
        ({"shares": {"../up": 0.5, "b": 0.5}}, OutputError, "cannot be the name of a folder"),
        (
            {"settings": FamilySettings(read=ReadSettings(labels=parse_labels(["harm=harmful"])))},
            LabelError,
            "no label column 'harmful'",
        ),
        (
            {"settings": FamilySettings(read=ReadSettings(labels=parse_labels(["harm=from"])))},
            LabelError,
            "none of the 40 values of column 'from' is a known label (40 unmapped: 's0', 's1', 's2')",
        ),
    ],
)
def test_wrong_input_is_one_clear_error_and_writes_nothing(
    tmp_path: Path, change: dict[str, Any], kind: type[Exception], says: str
) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", sorted(records(30), key=lambda row: row["from"]))
    with pytest.raises(kind) as error:
        split_pool(pool, tmp_path / "out", **change)
    message = str(error.value)
    assert says in message.replace("(40 unmapped: 's1', 's0', 's2')", "(40 unmapped: 's0', 's1', 's2')")
    assert "\n" not in message
    assert not (tmp_path / "out").exists()


def test_the_output_is_never_an_input_or_in_use(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "in/pool.jsonl", records(30))
    with pytest.raises(OutputError, match="lies inside the input"):
        split_pool(tmp_path / "in", tmp_path / "in/out")
    jsonl(tmp_path / "out/other.jsonl", ["a"])
    with pytest.raises(OutputError, match="is not empty"):
        split_pool(pool, tmp_path / "out")


def test_rows_of_one_group_stand_on_one_side_and_rows_without_one_alone(tmp_path: Path) -> None:
    rows = [{**row, "template": f"t{i % 20}" if i % 4 else None} for i, row in enumerate(records())]
    result = split_pool(jsonl(tmp_path / "pool.jsonl", rows), tmp_path / "out", group_column="template")
    sides: dict[str, set[str]] = {}
    for side, found in sides_of(tmp_path / "out").items():
        for row in found:
            sides.setdefault(row["template"] or f"row {row['id']}", set()).add(side)
    assert {len(names) for names in sides.values()} == {1}
    assert sum(name.startswith("row ") for name in sides) == len(rows) // 4
    assert {side for names in sides.values() for side in names} == {"train", "dev", "test"}
    assert json.loads((tmp_path / "out/manifest.json").read_text("utf-8"))["settings"]["group_column"] == "template"
    assert result.proof.n_crossing == 0


def test_a_group_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", records(12))
    with pytest.raises(InputError, match="no group column 'fro'"):
        split_pool(pool, tmp_path / "out", group_column="fro")
    assert not (tmp_path / "out").exists()


@pytest.mark.shared
def test_the_template_families_of_hatecheck_stand_on_one_side(shared: Path, tmp_path: Path) -> None:
    pool = shared / "data/hatecheck/test_suite_cases.csv"
    split_pool(
        str(pool), tmp_path / "out", group_column="templ_id", settings=FamilySettings(ReadSettings(("test_case",)))
    )
    placed = pl.read_parquet(tmp_path / "out/split.parquet").sort("row")
    templates = pl.read_csv(pool)["templ_id"]
    assert len(placed) == len(templates) == 3728
    assert placed.with_columns(templates).group_by("templ_id").agg(pl.col("side").n_unique())["side"].max() == 1
    assert set(placed["side"]) == {"train", "dev", "test"}
