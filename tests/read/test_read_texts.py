"""Which texts of a source are read, what is counted instead, and that fast and slow paths agree."""

from __future__ import annotations

import datetime
import gzip
import hashlib
from pathlib import Path
from typing import Any

import datasets
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from read_support import addresses, counts, read, source_of

from auditkit import tables
from auditkit.errors import FieldError
from auditkit.formats import read_records
from auditkit.formats.fields import get_text, replace_text
from auditkit.read import read_texts
from auditkit.read.ids import NOT_COMPARED
from auditkit.records import ReadSettings


def test_usual_columns_are_scanned_and_the_rest_is_counted() -> None:
    rows = [
        {"id": "a", "Prompt": "p", "response": "", "source": "web", "note": "n", "n_tokens": 3, "label": 1},
        {"id": "b", "Prompt": None, "response": "r", "source": "", "note": None, "n_tokens": 4, "label": 0},
        {"id": "a", "Prompt": None, "response": None, "source": "web", "note": "n", "n_tokens": 5, "label": None},
    ]
    texts, counted = read(rows)
    tables.check(texts, tables.TEXTS, "test")
    assert texts.rows() == [
        ("pool", 0, "a", "Prompt", None, None, "p"),
        ("pool", 0, "a", "response", None, None, ""),
        ("pool", 1, "b", "response", None, None, "r"),
    ]
    assert counted == {
        "null field Prompt": 2,
        "null field response": 1,
        "excluded field note": 2,
        "field id (metadata)": 3,
        "field source (metadata)": 2,
        "row without text": 1,
        "duplicate id": 1,
    }
    columnar, seen = read(pl.DataFrame(rows))
    assert (columnar.rows(), seen) == (texts.rows(), counted)


def test_scalars_binary_and_media_are_counted() -> None:
    rows = [
        {"text": 3, "prompt": True, "input": b"raw", "image": {"bytes": b"x", "path": "a.png"}, "answer": "yes",
         "audio": {"array": [0.5], "sampling_rate": 16, "path": "a.wav"}, "question": datetime.date(2024, 1, 2)},
    ]  # fmt: skip
    texts, counted = read(pl.DataFrame(rows).to_arrow())
    assert addresses(texts) == [(0, "answer", None, None, "yes")]
    assert counted == {
        "field text not text": 1,
        "field prompt not text": 1,
        "field input binary": 1,
        "field question not text": 1,
        "image or audio": 1,
        "audio": 1,
    }


def test_nested_usual_columns() -> None:
    rows = [
        {
            "choices": ["x", None, "y", 3],
            "answers": {"text": ["z"], "answer_start": [1], "id": "k", "extra": {"deep": "w"}},
        },
        {"choices": [], "answers": None},
    ]
    texts, counted = read(rows)
    assert addresses(texts) == [
        (0, "choices[0]", None, None, "x"),
        (0, "choices[2]", None, None, "y"),
        (0, "answers.text[0]", None, None, "z"),
        (0, "answers.extra.deep", None, None, "w"),
    ]
    assert counted == {
        "null field choices[*]": 1,
        "field choices[*] not text": 1,
        "field answers.id (metadata)": 1,
        "null field answers": 1,
        "row without text": 1,
    }


def test_columns_that_come_later() -> None:
    rows: list[dict[str, Any]] = [{"text": str(i)} for i in range(150)]
    rows += [{"prompt": "late", "remark": "unknown", "blob": [{"role": "user", "content": "chat"}]}, {"blob": "flat"}]
    texts, counted = read(rows)
    assert addresses(texts)[150:] == [
        (150, "blob[].content", 0, "user", "chat"),
        (150, "prompt", None, None, "late"),
    ]
    assert counted == {"excluded field remark": 1, "excluded field blob": 1, "row without text": 1}


def test_the_only_column_of_strings_is_text() -> None:
    assert addresses(read([{"id": "1", "en": "hi", "n": 3}])[0]) == [(0, "en", None, None, "hi")]
    assert addresses(read(pl.DataFrame({"id": ["1"], "en": ["hi"]}))[0]) == [(0, "en", None, None, "hi")]
    # a usual name that never holds text does not stand in its way
    assert addresses(read([{"target": 1, "en": "hi"}])[0]) == [(0, "en", None, None, "hi")]
    assert addresses(read(["hi", ""])[0]) == [(0, "text", None, None, "hi"), (1, "text", None, None, "")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"en": "a", "zh": "b"}],
         "memory: which of several columns is text is not clear (columns: en, zh); name the text columns with "
         "--fields"),
        ([{"id": "a", "label": "b", "n": 1}],
         "memory: no column holds text that is not metadata (columns: id, label, n); name the text columns "
         "with --fields"),
        ([{"n\x1b[31m": 1}],
         'memory: no column holds text that is not metadata (columns: ["n\\u001b[31m"]); name the text columns with '
         "--fields"),
    ],
)  # fmt: skip
def test_where_it_is_not_clear_the_columns_are_listed(rows: list[Any], message: str) -> None:
    with pytest.raises(FieldError) as error:
        read(rows)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (("prompt",), ["p", "c"]),
        (("PROMPT",), ["p", "c"]),
        (("label",), ["harmful"]),
        (("meta.text",), ["m"]),
        (("Meta.Text",), ["m"]),
        (("meta",), ["m", "n"]),
        (("messages",), ["u", "a", "part"]),
        (("messages.content",), ["u", "a", "part"]),
        (("messages[].content",), ["u", "a", "part"]),
        (("messages[].content[0].text",), ["part"]),
        (("messages[].name",), ["eve"]),
        (("a.b",), ["dotted"]),
        (('["a.b"]',), ["dotted"]),
        (("prompt", "a.b"), ["p", "dotted", "c"]),
    ],
)
def test_fields(fields: tuple[str, ...], found: list[str]) -> None:
    messages = [
        {"role": "user", "content": "u", "name": "eve"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": [{"type": "text", "text": "part"}]},
    ]
    rows = [
        {"prompt": "p", "label": "harmful", "meta": {"text": "m", "k": "n"}, "messages": messages, "a.b": "dotted"},
        {"prompt": "c"},
    ]
    assert read(rows, fields=fields)[0]["text"].to_list() == found


def test_fields_count_what_they_leave_out() -> None:
    rows = [
        {"prompt": "p", "answer": "a", "id": "1", "chat": [{"role": "user", "content": "u"}], "meta": {"text": "m"}}
    ]
    texts, counted = read(rows, fields=("prompt",))
    assert addresses(texts) == [(0, "prompt", None, None, "p")]
    assert counted == {
        "excluded field answer": 1,
        "field id (metadata)": 1,
        "excluded field chat": 1,
        "field meta (metadata)": 1,
    }
    assert read(pl.DataFrame(rows), fields=("prompt",))[1] == counted


@pytest.mark.parametrize("as_frame", [True, False])
def test_a_missing_field_names_the_nearest(as_frame: bool) -> None:
    rows = [{"Prompt": "p", "answer": "a"}] * 2
    with pytest.raises(FieldError) as error:
        read(pl.DataFrame(rows) if as_frame else rows, fields=("promt",))
    assert str(error.value) == "memory: no field 'promt'; did you mean 'Prompt'? (columns: Prompt, answer)"
    with pytest.raises(FieldError) as error:
        read(pl.DataFrame(rows) if as_frame else rows, id_column="key")
    assert str(error.value) == "memory: no id column 'key' (columns: Prompt, answer)"


def test_a_field_of_uneven_records_may_come_late_but_must_come() -> None:
    rows: list[dict[str, Any]] = [{"text": "a"}, {"text": "b", "x": 1}] * 60
    assert read([*rows, {"late": "l"}], fields=("late",))[0]["text"].to_list() == ["l"]
    with pytest.raises(FieldError, match=r"no field 'late' \(columns: text, x\)"):
        read(rows, fields=("late",))


def test_ids() -> None:
    rows = [{"uid": value, "text": "t"} for value in ("a", 7, 7.0, 0.5, True, None, float("nan"), [1])]
    texts, counted = read(rows)
    assert texts["row_id"].to_list() == ["a", "7", "7", "0.5", "true", None, None, "[1]"]
    assert counted["duplicate id"] == 1
    texts, counted = read(pl.DataFrame({"n": [3, None, 3, 3], "text": ["t"] * 4}), id_column="N")
    assert texts["row_id"].to_list() == ["3", None, "3", "3"]
    assert counted["duplicate id"] == 2
    assert read(["t"])[0]["row_id"].to_list() == [None]


@pytest.mark.parametrize("as_frame", [True, False])
def test_an_id_that_is_a_text_is_a_digest(as_frame: bool) -> None:
    long = "é" * 201
    digest = f"sha256:{hashlib.sha256(long.encode()).hexdigest()[:16]}"
    rows = [{"id": text, "text": "t"} for text in ("é" * 200, long, None, long)]
    texts, counted = read(pl.DataFrame(rows) if as_frame else rows)
    assert texts["row_id"].to_list() == ["é" * 200, digest, None, digest]
    assert counted["duplicate id"] == 1
    assert read([{"id": [long], "text": "t"}])[0]["row_id"][0].startswith("sha256:")


def test_ids_that_come_again_in_later_shards(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"".join(orjson.dumps({"id": i % 500, "text": "t"}) + b"\n" for i in range(2000)))
    batches = list(read_texts(source_of(str(path)), ReadSettings(shard_bytes=1000)))
    assert len(batches) > 20
    assert counts(batches)["duplicate id"] == 1500


def test_ids_of_the_first_rows_only_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditkit.read.texts.MAX_COMPARED_ROWS", 4)
    rows = [{"id": value, "text": "t"} for value in ("a", "a", None, "b", "a", None, "c")]
    _, counted = read(rows)
    assert counted["duplicate id"] == 1
    assert counted[NOT_COMPARED] == 2


def test_broken_rows_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'{"text":"a"}\n{"text":\n{"text":"c"}\n')
    batches = list(read_texts(source_of(str(path)), ReadSettings(bad_rows="skip")))
    assert [(batch.n_rows, len(batch.bad_rows)) for batch in batches] == [(3, 1)]
    assert batches[0].texts["row"].to_list() == [0, 2]
    assert batches[0].labels["row"].to_list() == [0, 2]


def test_nothing_in_it() -> None:
    for data in (pl.DataFrame(schema={"text": pl.String()}), pl.DataFrame()):
        (batch,) = read_texts(source_of(data), ReadSettings())
        assert (batch.n_rows, batch.texts.height, batch.not_examined) == (0, 0, {})
        tables.check(batch.texts, tables.TEXTS, "test")


def test_a_row_of_a_megabyte(tmp_path: Path) -> None:
    text = "नमस्ते دنیا 世界 " * 40_000
    pl.DataFrame({"text": [text, "short"]}).write_ndjson(tmp_path / "p.jsonl")
    pl.DataFrame({"text": [text, "short"]}).write_parquet(tmp_path / "p.parquet")
    assert len(text.encode()) > 1_000_000
    for name in ("p.jsonl", "p.parquet"):
        assert read(str(tmp_path / name), shard_bytes=1000)[0]["text"].to_list() == [text, "short"]


def test_names_from_hostile_data_are_bounded() -> None:
    rows = [{"text": "t", f"k{i}\x1b[31m": "v"} for i in range(500)]
    _, counted = read(rows)
    assert counted['excluded field ["k7\\u001b[31m"]'] == 1
    assert counted["excluded field (beyond the first 200 names)"] == 300
    assert len(counted) == 201


# ---------------------------------------------------------------- the fast path equals the slow one

STRINGS = [
    pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()),
]  # fmt: skip
VALUES = ["a", None, "", "नमस्ते", "x" * 40, "a", '[{"role":"user","content":"q"}]', "\x00", "e\u0301🙂"]


@pytest.mark.parametrize("kind", STRINGS, ids=str)
def test_every_arrow_string_type(kind: Any, tmp_path: Path) -> None:
    rows = [{"id": f"i{n}", "text": value, "note": value} for n, value in enumerate(VALUES)]
    columns = {name: [row[name] for row in rows] for name in ("id", "text", "note")}
    plain = pa.table(columns, schema=pa.schema([(name, pa.string()) for name in columns]))
    table = plain.cast(pa.schema([(name, pa.large_string()) for name in columns])).to_pydict()
    table = pa.table({name: pa.array(values, kind) if not pa.types.is_dictionary(kind)
                      else pa.array(values, kind.value_type).dictionary_encode().cast(kind)
                      for name, values in table.items()})  # fmt: skip
    assert table.schema.field("text").type == kind
    expected, counted = read(rows)
    chunked = pa.concat_tables([table.slice(0, 4), table.slice(4)])
    for data in (table, chunked):
        texts, seen = read(data)
        assert (texts.rows(), seen) == (expected.rows(), counted)
    pq.write_table(table, tmp_path / "pool.parquet")
    texts, seen = read(str(tmp_path / "pool.parquet"), shard_bytes=200)
    assert (texts.rows(), seen) == (expected.rows(), counted)


def test_polars_and_nested_string_types() -> None:
    frame = pl.DataFrame({
        "text": pl.Series(["a", "b", None], dtype=pl.Categorical()),
        "prompt": pl.Series(["x", None, "y"], dtype=pl.Enum(["x", "y"])),
        "choices": pl.Series([["p", None], [], None], dtype=pl.List(pl.Categorical())),
        "options": pl.Series([["q", "r"], ["", None], ["s", "t"]], dtype=pl.Array(pl.String(), 2)),
        "question": [{"text": "k", "n": 1}, None, {"text": None, "n": 2}],
    })  # fmt: skip
    texts, counted = read(frame)
    expected, expected_counts = read(frame.to_dicts())
    assert (texts.rows(), counted) == (expected.rows(), expected_counts)
    assert texts["text"].to_list() == ["a", "x", "p", "q", "r", "k", "b", "", "y", "s", "t"]


def test_maps_are_read_key_and_value() -> None:
    table = pa.table({"text": pa.array([[("k", "v")], None], pa.map_(pa.string(), pa.string()))})
    texts, _ = read(table)
    assert addresses(texts) == [(0, "text[0][0]", None, None, "k"), (0, "text[0][1]", None, None, "v")]
    record = next(next(iter(read_records(source_of(table)))).rows())
    assert replace_text(record, "text[0][1]", None, "new") == {"text": [("k", "new")]}


LEAF = st.one_of(st.none(), st.text(max_size=5))
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "eve", None]), "content": LEAF, "id": st.text(max_size=3)}
)
ROWS = st.lists(
    st.fixed_dictionaries({
        "id": LEAF, "text": LEAF, "note": LEAF, "source": LEAF,
        "messages": st.one_of(st.none(), st.lists(MESSAGE, max_size=3)),
        "blob": st.one_of(st.none(), st.lists(MESSAGE, max_size=2)),
        "remark": st.one_of(st.none(), st.lists(LEAF, max_size=2)),
        "answers": st.one_of(st.none(), st.fixed_dictionaries({"text": st.lists(LEAF, max_size=2), "label": LEAF})),
    }),
    min_size=1, max_size=6,
)  # fmt: skip
_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string()), ("id", pa.string())])
SCHEMA = pa.schema([
    ("id", pa.string()), ("text", pa.string()), ("note", pa.string()), ("source", pa.string()),
    ("messages", pa.list_(_MESSAGE)), ("blob", pa.list_(_MESSAGE)), ("remark", pa.list_(pa.string())),
    ("answers", pa.struct([("text", pa.list_(pa.string())), ("label", pa.string())])),
])  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(
    ROWS, st.sampled_from([{}, {"roles": ("user",)}, {"fields": ("messages", "note")}, {"fields": ("answers.text",)}])
)
def test_arrow_and_python_read_the_same(rows: list[dict[str, Any]], narrowed: dict[str, Any]) -> None:
    rows = [{name: row[name] for name in SCHEMA.names} for row in rows]
    try:
        expected, counted = read(rows, **narrowed)
    except FieldError:  # nothing but nulls where the dotted field would be
        return
    texts, seen = read(pa.Table.from_pylist(rows, schema=SCHEMA), **narrowed)
    assert (texts.rows(), seen) == (expected.rows(), counted)


# ---------------------------------------------------------------- every text can be found again and replaced alone

KEYS = st.one_of(
    st.sampled_from(
        ["text", "messages", "prompt", "a.b", "x[0]", "", "role", "content", "from", "value", "id", "type"]
    ),
    st.text(max_size=3),
)
TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=4)),
    lambda children: st.one_of(
        st.lists(children, max_size=3),
        st.dictionaries(KEYS, children, max_size=3),
        st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": children}), max_size=2),
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.dictionaries(KEYS, TREES, max_size=4), min_size=1, max_size=3))
def test_each_text_is_fetched_by_its_address_and_replaced_alone(records: list[dict[str, Any]]) -> None:
    records = [{**record, "text": "always"} for record in records]
    before = orjson.dumps(records)
    texts, _ = read(records)
    new = "0 new"
    for row, field, turn, role, text in addresses(texts):
        assert get_text(records[row], field, turn) == text
        changed = [*records[:row], replace_text(records[row], field, turn, new), *records[row + 1 :]]
        expected = [(*a[:4], new) if a[:3] == (row, field, turn) else a for a in addresses(texts)]
        assert addresses(read(changed)[0]) == expected, (field, role)
        assert replace_text(changed[row], field, turn, text) == records[row]
    assert orjson.dumps(records) == before
    assert len({a[:3] for a in addresses(texts)}) == len(texts)


@settings(max_examples=15, deadline=None)
@given(ROWS, st.integers(1, 4000))
def test_the_size_of_shards_changes_nothing(rows: list[dict[str, Any]], shard_bytes: int) -> None:
    many = [*rows * 40, {"late": "x", "prompt": "y", "aaa": [{"role": "user", "content": "z"}]}]
    whole, counted = read(many)
    small, seen = read(many, shard_bytes=shard_bytes)
    assert (small.rows(), seen) == (whole.rows(), counted)


def test_saved_dataset_and_dataset_in_memory(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "id": [1, 2, 3]})
    datasets.disable_progress_bars()
    data.save_to_disk(str(tmp_path / "saved"))
    expected = [(0, "text", None, None, "a"), (1, "text", None, None, "b"), (2, "text", None, None, "c")]
    assert addresses(read(str(tmp_path / "saved"))[0]) == expected
    assert addresses(read(data)[0]) == expected
    assert read(data.select([2, 0]))[0]["text"].to_list() == ["c", "a"]


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_what_was_consumed_adds_up_to_the_file_on_disk(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"p{suffix}"
    data = b"".join(b'{"prompt": "%d", "other": "not scanned"}\n' % n for n in range(5000))
    packers = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}
    path.write_bytes(packers.get(path.suffix, bytes)(data))
    source = source_of(str(path))
    batches = list(read_texts(source, ReadSettings(shard_bytes=1 << 16)))
    assert len(batches) > 3
    assert sum(batch.n_source_bytes for batch in batches) == source.n_bytes == path.stat().st_size
