"""decontaminate after a real audit: kept + removed = pool in every format, and a second audit condemns nothing."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from audit_support import condemned, files, jsonl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import auditkit
from auditkit.errors import OutputError, StaleAuditError, UsageError

TOKEN = "[removed by auditkit]"
BASIL = "How do I keep basil alive on a north facing window?"
FERRY = "Wo finde ich den Fahrplan für die Fähre nach Föhr?"
SUNDIAL = "Explain to a child, in simple words, how a sundial shows the time and why it fails at night."
UNTOUCHED = "Which of these planets has the longest day of all?"
ITEMS = [BASIL, FERRY, UNTOUCHED, SUNDIAL]
ROWS = [
    "The ferry to the island leaves at seven in the morning.",
    BASIL,
    f'Dear assistant,   {BASIL.lower()} Thanks, "Olga" & co.',
    "",
    f"{FERRY.upper()} 🦊",
    "Quotes: \"a, b\"; tabs\tand 'more' — done.",
    f"First {BASIL} then {SUNDIAL} and, once more, {BASIL} Enough.",
    "سؤال عن الطقس في الجبال اليوم",
    SUNDIAL.replace("sundial", "sundail").replace("simple", "easy"),
    " ".join(SUNDIAL.split()[:13]),
]
CONDEMNED = {1, 2, 4, 6, 8, 9}
MASKABLE = {2, 4, 6}
RECORDS = [
    {"id": f"r{i}", "text": text, "n": i if i != 3 else None, "x": i / 4, "ok": i % 2 == 0}
    for i, text in enumerate(ROWS)
]


def _bench(folder: Path) -> Path:
    return jsonl(folder / "in/bench.jsonl", [{"id": f"i{i}", "question": text} for i, text in enumerate(ITEMS)])


def _pack(data: bytes, suffix: str) -> bytes:
    return {"gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress}.get(suffix, bytes)(data)


def _unpack(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if path.suffix == ".zst" else data


def _encode(kind: str, frame: pl.DataFrame) -> bytes:
    if kind == "jsonl":
        return "".join(
            json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(frame.rows(named=True))
        ).encode()
    if kind == "json":
        return json.dumps(frame.rows(named=True), ensure_ascii=False, indent=1).encode()
    if kind == "txt":
        return "".join(f"{text}\n" for text in frame["text"]).encode()
    return frame.write_csv(separator="," if kind == "csv" else "\t").encode()


def _decode(kind: str, data: bytes) -> list[Any]:
    text = data.decode()
    if kind == "jsonl":
        return [json.loads(line) for line in text.splitlines() if line]
    if kind == "json":
        return json.loads(text)  # type: ignore[no-any-return]
    if kind == "txt":
        return text.split("\n")[:-1]
    separator = "," if kind == "csv" else "\t"
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


NAMES = [
    f"pool.{kind}{suffix}" for kind in ("jsonl", "json", "csv", "tsv", "txt") for suffix in ("", ".gz", ".zst")
]  # fmt: skip


@pytest.mark.parametrize("action", ["remove", "mask"])
@pytest.mark.parametrize("name", NAMES)
def test_kept_and_removed_are_the_pool(name: str, action: Any, tmp_path: Path) -> None:
    kind = name.split(".")[1]
    pool, bench = tmp_path / "in" / name, _bench(tmp_path)
    pool.write_bytes(_pack(_encode(kind, pl.DataFrame(RECORDS)), name.split(".")[-1]))
    before = _decode(kind, _unpack(pool))
    assert len(before) == len(ROWS)
    report = auditkit.audit(pool, bench, out=tmp_path / "audit")
    assert {row for row, _ in condemned(report)} == CONDEMNED
    split = auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean", action=action)
    after = _decode(kind, _unpack(tmp_path / "clean" / name))
    gone = set(split.removed.filter(pl.col("action") == "removed")["row"])
    masked = set(split.removed.filter(pl.col("action") == "masked")["row"])
    assert gone | masked == CONDEMNED
    assert masked >= MASKABLE if action == "mask" else not masked
    kept = [row for row in range(len(ROWS)) if row not in gone]
    assert len(after) == len(kept)
    for row, record in zip(kept, after, strict=True):
        if row not in masked:
            assert record == before[row]
        elif kind != "txt":
            assert {**record, "text": 0} == {**before[row], "text": 0}
    again = auditkit.audit(tmp_path / "clean", bench)
    assert (again.n_rows, again.n_rows_contaminated) == (len(kept), 0)


@pytest.mark.parametrize("action", ["remove", "mask"])
@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed"])
def test_parquet_comes_back_value_for_value(compression: Any, action: Any, tmp_path: Path) -> None:
    pool, bench = tmp_path / "in/pool.parquet", _bench(tmp_path)
    frame = pl.DataFrame(RECORDS).with_columns(
        pl.col("n").cast(pl.Int16),
        pl.datetime(2024, 1, pl.col("n").fill_null(0) + 1).alias("when"),
        pl.struct(pl.col("x"), pl.col("id").alias("name")).alias("nested"),
        pl.concat_list("x", "x").alias("several"),
        pl.col("id").cast(pl.Categorical).alias("kind"),
    )
    frame.write_parquet(pool, compression=compression, row_group_size=3)
    auditkit.audit(pool, bench, out=tmp_path / "audit")
    split = auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean", action=action)
    after = pl.read_parquet(tmp_path / "clean/pool.parquet")
    gone = split.removed.filter(pl.col("action") == "removed")["row"]
    expected = frame.with_row_index("row").filter(~pl.col("row").is_in(gone.implode())).drop("row")
    assert after.schema == frame.schema
    assert after.drop("text").equals(expected.drop("text"), null_equal=True)
    if action == "remove":
        assert after.equals(expected, null_equal=True)
    assert auditkit.audit(tmp_path / "clean", bench).n_rows_contaminated == 0


@pytest.mark.parametrize("as_dict", [False, True])
def test_a_saved_dataset_comes_back(as_dict: bool, tmp_path: Path) -> None:
    import datasets

    bench = _bench(tmp_path)
    data = datasets.Dataset.from_list(RECORDS)
    saved = datasets.DatasetDict({"train": data, "test": data.select([0, 1])}) if as_dict else data
    saved.save_to_disk(tmp_path / "in/saved")
    auditkit.audit(tmp_path / "in/saved", bench, out=tmp_path / "audit")
    auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean")
    kept = [record for i, record in enumerate(RECORDS) if i not in CONDEMNED]
    loaded = datasets.load_from_disk(
        tmp_path / "clean/saved" if (tmp_path / "clean/saved").exists() else tmp_path / "clean"
    )
    train = loaded["train"] if as_dict else loaded
    assert train.to_list() == kept
    assert train.features == data.features
    if as_dict:
        assert loaded["test"].to_list() == RECORDS[:1]
    assert auditkit.audit(tmp_path / "clean", bench).n_rows_contaminated == 0


def _pandas() -> Any:
    import pandas as pd

    return pd.DataFrame(RECORDS)


def _dataset() -> Any:
    import datasets

    return datasets.Dataset.from_list(RECORDS)


@pytest.mark.parametrize("action", ["remove", "mask"])
@pytest.mark.parametrize(
    "make",
    [lambda: pl.DataFrame(RECORDS), _pandas, _dataset, lambda: RECORDS, lambda: ROWS],
    ids=["polars", "pandas", "dataset", "dicts", "texts"],
)
def test_data_in_memory_is_written_by_name(make: Callable[[], Any], action: Any, tmp_path: Path) -> None:
    data, bench = {"mine": make()}, {"bench": ITEMS}
    report = auditkit.audit(data, bench)
    with pytest.raises(UsageError, match="the pool of this audit came from memory"):
        auditkit.decontaminate(report, tmp_path / "clean", benchmarks=bench)
    split = auditkit.decontaminate(report, tmp_path / "clean", pool=data, benchmarks=bench, action=action)
    assert split.n_kept == (4 if action == "remove" else 4 + split.n_masked)
    assert auditkit.audit(tmp_path / "clean", bench).n_rows_contaminated == 0
    output = tmp_path / "clean" / split.sources[0].output
    assert output.suffix in (".parquet", ".jsonl")
    if action == "remove":
        texts = pl.read_parquet(output)["text"].to_list() if output.suffix == ".parquet" else None
        if texts is None:
            lines = [json.loads(line) for line in output.read_text().splitlines()]
            texts = [line if isinstance(line, str) else line["text"] for line in lines]
        assert texts == [ROWS[i] for i in range(len(ROWS)) if i not in CONDEMNED]


def test_several_files_and_a_folder_of_folders(tmp_path: Path) -> None:
    bench = _bench(tmp_path)
    pool = tmp_path / "pool"
    jsonl(pool / "en/train.jsonl", RECORDS[:5])
    jsonl(pool / "de/train.jsonl", RECORDS[5:])
    (pool / "notes.txt").write_text("A line.\n")
    (pool / "readme.md").write_text("no data")
    auditkit.audit(pool, bench, out=tmp_path / "audit")
    auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean")
    written = set(files(tmp_path / "clean"))
    assert {"en/train.jsonl", "de/train.jsonl", "notes.txt", "removed.parquet", "manifest.json"} <= written
    assert "benchmarks/bench.clean.jsonl" in written
    again = auditkit.audit(tmp_path / "clean", bench)
    assert (again.n_rows, again.n_rows_contaminated) == (5, 0)
    assert [source.name for source in again.sources] == ["de/train", "en/train", "notes"]


# ---------------------------------------------------------------- masking


def _masked(records: list[dict[str, Any]], items: list[Any], tmp_path: Path) -> list[dict[str, Any]]:
    """Mask, check that the second audit condemns nothing, and return the records."""
    pool, bench = jsonl(tmp_path / "in/pool.jsonl", records), jsonl(tmp_path / "in/bench.jsonl", items, "question")
    report = auditkit.audit(pool, bench)
    assert report.n_rows_contaminated
    auditkit.decontaminate(report, tmp_path / "clean", action="mask")
    assert auditkit.audit(tmp_path / "clean", bench).n_rows_contaminated == 0
    return _lines(tmp_path / "clean/pool.jsonl")


def test_all_copies_in_a_row_are_masked(tmp_path: Path) -> None:
    text = f"One: {BASIL} Two: {SUNDIAL} Three: {BASIL.upper()} Four: {FERRY} End."
    (record,) = _masked([{"text": text, "keep": "BASIL"}], [BASIL, SUNDIAL, FERRY], tmp_path)
    assert record["text"].count(TOKEN) == 4
    assert record["text"].startswith(f"One: {TOKEN}")
    assert record["text"].endswith("End.")
    for word in ("basil", "sundial", "Fahrplan", "BASIL"):
        assert word not in record["text"]
    assert record["keep"] == "BASIL"


def test_only_the_turn_that_matched_is_masked(tmp_path: Path) -> None:
    chat = [
        {"role": "user", "content": "Good morning."},
        {"role": "assistant", "content": f"Try this: {BASIL} It is fun."},
        {
            "role": "user",
            "content": [{"type": "text", "text": f"Or this: {SUNDIAL} Yes?"}, {"type": "text", "text": "ok"}],
        },
    ]
    (record,) = _masked([{"messages": chat}], [BASIL, SUNDIAL], tmp_path)
    assert record["messages"][0] == chat[0]
    assert record["messages"][1]["role"] == "assistant"
    assert record["messages"][1]["content"].startswith(f"Try this: {TOKEN}")
    assert record["messages"][1]["content"].endswith("It is fun.")
    assert record["messages"][2]["content"][0]["text"].startswith(f"Or this: {TOKEN}")
    assert record["messages"][2]["content"][1]["text"] == "ok"


def test_turns_of_roles_that_were_not_audited_stay(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": f"So: {BASIL} Right?"}, {"role": "assistant", "content": f"Echo: {BASIL} Yes."}]
    pool, bench = jsonl(tmp_path / "in/pool.jsonl", [{"messages": chat}]), _bench(tmp_path)
    only_user = auditkit.AuditSettings(read=auditkit.ReadSettings(roles=("user",)))
    auditkit.audit(pool, bench, only_user, out=tmp_path / "audit")
    auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean", action="mask")
    (record,) = _lines(tmp_path / "clean/pool.jsonl")
    assert record["messages"][0]["content"].startswith(f"So: {TOKEN}")
    assert record["messages"][1] == chat[1]


def test_edited_copies_are_masked(tmp_path: Path) -> None:
    edited = SUNDIAL.replace("simple", "simpler").replace("fails", "faails")
    (record,) = _masked([{"text": f"Please do it now. {edited} I would be glad to hear it all."}], [SUNDIAL], tmp_path)
    assert TOKEN in record["text"]
    assert "sundial" not in record["text"]
    assert record["text"].startswith("Please do it now.")
    assert record["text"].endswith("glad to hear it all.")


pieces = st.sampled_from(
    [
        BASIL, BASIL.upper(), BASIL[:-9], SUNDIAL, SUNDIAL.replace(" a ", " one "), FERRY,
        FERRY.replace("ä", "a\u0308"), "Good day.", "And then,", "42", "🦊", "\n", "ferry", "basil alive on a",
        "how a sundial shows the time",
    ]
)  # fmt: skip


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.lists(pieces, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=5))
def test_nothing_is_condemned_after_masking(rows: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("mask")
    bench, data = {"bench": [BASIL, SUNDIAL, FERRY]}, {"pool": rows}
    report = auditkit.audit(data, bench)
    split = auditkit.decontaminate(report, folder / "clean", pool=data, benchmarks=bench, action="mask")
    assert split.n_kept + split.n_removed == len(rows)
    assert auditkit.audit(folder / "clean", bench).n_rows_contaminated == 0
    kept = _lines(folder / "clean/pool.jsonl")
    dirty = {row for row, _ in condemned(report)}
    assert [text for text in kept if TOKEN not in text] == [text for row, text in enumerate(rows) if row not in dirty]


# ---------------------------------------------------------------- verdicts, benchmarks, guards


def test_review_rows_go_only_when_asked(tmp_path: Path) -> None:
    other = "Route 1506 of the night bus runs from the harbour to the old mill."
    pool = jsonl(tmp_path / "in/pool.jsonl", [other.replace("1506", "1507"), BASIL, "Clean."])
    bench = jsonl(tmp_path / "in/bench.jsonl", [other, BASIL, UNTOUCHED])
    report = auditkit.audit(pool, bench)
    assert (report.n_rows_contaminated, report.n_rows_review) == (1, 1)
    counts = {}
    for verdict in ("contaminated", "review"):
        split = auditkit.decontaminate(report, tmp_path / verdict, verdict=verdict)  # type: ignore[arg-type]
        clean = [record["text"] for record in _lines(tmp_path / verdict / "benchmarks/bench.clean.jsonl")]
        counts[verdict] = (split.n_kept, split.n_removed, clean)
    assert counts == {"contaminated": (2, 1, [other, UNTOUCHED]), "review": (1, 2, [UNTOUCHED])}
    assert not len(auditkit.audit(tmp_path / "review", bench).matches)


def test_masking_review_matches_leaves_no_match(tmp_path: Path) -> None:
    other = "Route 1506 of the night bus runs from the harbour to the old mill."
    pool = jsonl(tmp_path / "in/pool.jsonl", [f"So: {other.replace('1506', '1507')} Fine, that was the text.", BASIL])
    bench = jsonl(tmp_path / "in/bench.jsonl", [other, BASIL])
    report = auditkit.audit(pool, bench)
    auditkit.decontaminate(report, tmp_path / "clean", action="mask", verdict="review")
    assert not len(auditkit.audit(tmp_path / "clean", bench).matches)


def test_clean_subsets_hold_the_original_records(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "in/pool.jsonl", RECORDS)
    records = [{"key": i, "question": text, "answer": [i, None], "meta": {"a": i}} for i, text in enumerate(ITEMS)]
    bench = jsonl(tmp_path / "in/bench.jsonl", records)
    split = auditkit.decontaminate(auditkit.audit(pool, bench), tmp_path / "clean")
    assert _lines(tmp_path / "clean/benchmarks/bench.clean.jsonl") == [records[2]]
    assert [(b.name, b.n_items, b.n_clean) for b in split.benchmarks] == [("bench", 4, 1)]
    # A clean subset is a benchmark again, and none of it is in the pool.
    assert auditkit.audit(pool, tmp_path / "clean/benchmarks/bench.clean.jsonl").benchmarks[0].n_found == 0


def test_every_removed_row_has_its_reason(tmp_path: Path) -> None:
    pool, bench = jsonl(tmp_path / "in/pool.jsonl", RECORDS), _bench(tmp_path)
    auditkit.decontaminate(auditkit.audit(pool, bench), tmp_path / "clean")
    removed = pl.read_parquet(tmp_path / "clean/removed.parquet")
    assert removed["row"].to_list() == sorted(CONDEMNED)
    assert removed["row_id"].to_list() == [f"r{row}" for row in sorted(CONDEMNED)]
    first = removed.row(0, named=True)
    assert first["reason"] == "contaminated: exact match of bench item 0, rule exact"
    assert (first["action"], first["item_id"], first["field"]) == ("removed", "i0", "text")


def test_a_changed_pool_or_benchmark_is_stale(tmp_path: Path) -> None:
    pool, bench = jsonl(tmp_path / "in/pool.jsonl", RECORDS), _bench(tmp_path)
    auditkit.audit(pool, bench, out=tmp_path / "audit")
    for path in (pool, bench):
        before = path.read_bytes()
        path.write_bytes(before.replace(b"north", b"south"))
        with pytest.raises(StaleAuditError, match=f"{path.name}.*audit it again"):
            auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean")
        assert not (tmp_path / "clean").exists()
        path.write_bytes(before)
    jsonl(tmp_path / "in/more.jsonl", ["x"])
    auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean")


def test_relative_paths_need_the_folder_of_the_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl(tmp_path / "in/pool.jsonl", RECORDS)
    _bench(tmp_path)
    monkeypatch.chdir(tmp_path / "in")
    auditkit.audit("pool.jsonl", "bench.jsonl", out=tmp_path / "audit")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StaleAuditError, match=r"pool\.jsonl: no such file.*relative: go to the folder"):
        auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean")
    monkeypatch.chdir(tmp_path / "in")
    assert auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean").n_removed == len(CONDEMNED)


def test_a_file_that_joined_the_folder_is_stale(tmp_path: Path) -> None:
    jsonl(tmp_path / "pool/a.jsonl", RECORDS)
    auditkit.audit(tmp_path / "pool", _bench(tmp_path), out=tmp_path / "audit")
    jsonl(tmp_path / "pool/b.jsonl", ["x"])
    with pytest.raises(StaleAuditError):
        auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean")


def test_the_output_is_never_an_input_through_links_neither(tmp_path: Path) -> None:
    jsonl(tmp_path / "pool/a.jsonl", RECORDS)
    bench = _bench(tmp_path)
    auditkit.audit(tmp_path / "pool", bench, out=tmp_path / "audit")
    (tmp_path / "link").symlink_to(tmp_path / "pool", target_is_directory=True)
    (tmp_path / "empty").mkdir()
    before = files(tmp_path / "pool"), files(tmp_path / "audit")
    for out in ("pool", "link", "pool/clean", "link/clean", "audit", "audit/clean", "in", "."):
        with pytest.raises(OutputError):
            auditkit.decontaminate(tmp_path / "audit", tmp_path / out)
    assert (files(tmp_path / "pool"), files(tmp_path / "audit")) == before
    auditkit.decontaminate(tmp_path / "audit", tmp_path / "empty")


def test_a_report_in_memory_is_as_good_as_its_folder(tmp_path: Path) -> None:
    pool, bench = jsonl(tmp_path / "in/pool.jsonl", RECORDS), _bench(tmp_path)
    report = auditkit.audit(pool, bench, out=tmp_path / "audit")
    auditkit.decontaminate(report, tmp_path / "one")
    auditkit.decontaminate(str(tmp_path / "audit"), tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_broken_rows_set_aside_stay_out(tmp_path: Path) -> None:
    pool, bench = jsonl(tmp_path / "in/pool.jsonl", RECORDS), _bench(tmp_path)
    lines = pool.read_text().splitlines(keepends=True)
    pool.write_text("".join([*lines[:2], '{"text": \n', *lines[2:]]))
    read = auditkit.ReadSettings(bad_rows="skip")
    report = auditkit.audit(pool, bench, auditkit.AuditSettings(read=read), out=tmp_path / "audit")
    assert (report.n_rows, [(bad.line, bad.row) for bad in report.bad_rows]) == (11, [(3, 2)])
    split = auditkit.decontaminate(tmp_path / "audit", tmp_path / "clean")
    assert (split.n_kept, split.n_removed, split.n_set_aside) == (4, 6, 1)
    assert auditkit.audit(tmp_path / "clean", bench).n_rows_contaminated == 0
