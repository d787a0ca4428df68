"""Masking: only the matched characters change, and a row that still matches is masked again, then removed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from split_support import SECRET, file_source, match, matches_frame, rescan_for, split

from auditkit.errors import StaleAuditError, UsageError
from auditkit.split import SplitSettings
from auditkit.split.mask import masked_record, masked_text, merged

SPANS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda pair: (min(pair), max(pair))))


@given(st.text(min_size=12, max_size=20), SPANS)
def test_masked_text_equals_marking_each_character(text: str, spans: list[tuple[int, int]]) -> None:
    marked = [any(start <= i < end for start, end in spans) for i in range(len(text))]
    expected, was_marked = "", False
    for char, is_marked in zip(text, marked, strict=True):
        expected += ("" if was_marked else "#") if is_marked else char
        was_marked = is_marked
    assert masked_text(text, spans, "#") == expected


def test_spans_that_overlap_or_touch_are_one() -> None:
    assert merged([(5, 7), (0, 2), (1, 3), (3, 4), (9, 9)]) == [(0, 4), (5, 7)]


def test_offsets_are_characters_and_the_record_stays_as_it_was() -> None:
    record = {"chat": [{"content": "hi"}, {"content": "😀 é leak 你好"}], "n": 2**70}
    masked = masked_record(record, [("chat[].content", 1, 4, 8)], "[x]", "here")
    assert masked == {"chat": [{"content": "hi"}, {"content": "😀 é [x] 你好"}], "n": 2**70}
    assert record["chat"] == [{"content": "hi"}, {"content": "😀 é leak 你好"}]
    with pytest.raises(StaleAuditError, match="here: a match ends beyond the text"):
        masked_record(record, [("chat[].content", 0, 0, 3)], "[x]", "here")


def spans_of(text: str, row: int, pool: str = "pool", **more: object) -> dict[str, object]:
    at = text.index(SECRET)
    return match(pool, row, tier="contained", row_start=at, row_end=at + len(SECRET), **more)


FORMATS = {
    "pool.jsonl": (
        '{"text":"a TEXT b","n":1e3}\r\n{"text":"c" }\n',
        '{"text": "a MASK b", "n": 1000.0}\r\n{"text":"c" }\n',
    ),
    "pool.json": ('[{"text":"a TEXT b"} , "c"]', '[{"text": "a MASK b"} , "c"]'),
    "pool.txt": ("a TEXT b\nc", "a MASK b\nc"),
    "pool.csv": ('n,text\r\n1,"a TEXT b"\r\n"2",c\r\n', 'n,text\r\n1,a MASK b\r\n"2",c\r\n'),
    "pool.tsv": ('text\tn\na TEXT b\t1\n"c"\t2\n', 'text\tn\na MASK b\t1\n"c"\t2\n'),
}


@pytest.mark.parametrize("name", FORMATS)
def test_only_the_span_changes_in_every_format(tmp_path: Path, name: str) -> None:
    before, after = FORMATS[name]
    (tmp_path / name).write_bytes(before.replace("TEXT", SECRET).encode())
    result = split([file_source(tmp_path / name)], [spans_of(f"a {SECRET} b", 0)], tmp_path / "out", tmp_path,
                   action="mask", mask_token="[gone]", rescan=rescan_for(SECRET))  # fmt: skip
    assert (tmp_path / "out" / name).read_bytes() == after.replace("MASK", "[gone]").encode()
    assert (result.n_kept, result.n_masked, result.n_removed) == (2, 1, 0)
    assert result.removed.select("row", "action").rows() == [(0, "masked")]


def test_a_chat_in_parquet_keeps_its_other_turns(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": f"x {SECRET}"}]
    table = pa.table({"chat": [turns, turns[:1]], "n": pa.array([1, 2], pa.int8())})
    pq.write_table(table, tmp_path / "pool.parquet")
    found = spans_of(f"x {SECRET}", 0, field="chat[].content", turn=1)
    rescan = rescan_for(SECRET, "chat[].content", 1)
    split([file_source(tmp_path / "pool.parquet")], [found], tmp_path / "out", tmp_path,
          action="mask", mask_token="-", rescan=rescan)  # fmt: skip
    after = pq.read_table(tmp_path / "out" / "pool.parquet")
    assert after.schema.equals(pq.read_schema(tmp_path / "pool.parquet"), check_metadata=True)
    assert after.to_pylist() == [
        {"chat": [turns[0], {"role": "assistant", "content": "x -"}], "n": 1},
        {"chat": turns[:1], "n": 2},
    ]


def test_a_second_copy_is_found_and_masked_again(tmp_path: Path) -> None:
    text = f"{SECRET}, {SECRET.upper()} and {SECRET}"
    (tmp_path / "pool.txt").write_text(f"{text}\nfine\n")
    result = split([file_source(tmp_path / "pool.txt")], [spans_of(text, 0)], tmp_path / "out", tmp_path,
                   action="mask", mask_token="#", rescan=rescan_for(SECRET))  # fmt: skip
    assert (tmp_path / "out" / "pool.txt").read_text() == "#, # and #\nfine\n"
    assert result.n_masked == 1


def test_a_row_that_stays_condemned_is_removed(tmp_path: Path) -> None:
    (tmp_path / "pool.jsonl").write_text(json.dumps({"text": SECRET}) + '\n{"text": "fine"}\n')
    source = file_source(tmp_path / "pool.jsonl")
    again = matches_frame([match("pool", 0, tier="near", item=2, rule="r9")])
    result = split([source], [spans_of(SECRET, 0)], tmp_path / "out", tmp_path, action="mask", rescan=lambda _: again)
    assert (tmp_path / "out" / "pool.jsonl").read_text() == '{"text": "fine"}\n'
    assert (result.n_masked, result.n_removed, result.n_kept) == (0, 1, 1)
    assert result.removed["reason"].to_list() == [
        "contaminated: contained match of bench item 0, rule r1; still condemned after masking "
        "(contaminated: near match of bench item 2, rule r9)"
    ]


def test_a_review_match_after_masking_does_not_condemn(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text(f"{SECRET}\n")
    again = matches_frame([match("pool", 0, verdict="review")])
    for verdict, n_masked in (("contaminated", 1), ("review", 0)):
        result = split([file_source(tmp_path / "pool.txt")], [spans_of(SECRET, 0)], tmp_path / verdict, tmp_path,
                       action="mask", verdict=verdict, rescan=lambda _: again)  # fmt: skip
        assert result.n_masked == n_masked


def test_a_match_without_bounds_masks_the_whole_text(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text("one\ntwo\n")
    split([file_source(tmp_path / "pool.txt")], [match("pool", 1)], tmp_path / "out", tmp_path,
          action="mask", mask_token="-", rescan=rescan_for(SECRET))  # fmt: skip
    assert (tmp_path / "out" / "pool.txt").read_text() == "one\n-\n"


def test_masked_records_keep_exact_numbers(tmp_path: Path) -> None:
    record = {"text": SECRET, "n": 2**70, "f": 0.1, "s": "é\u2028"}
    (tmp_path / "pool.jsonl").write_text(json.dumps(record) + "\n")
    split([file_source(tmp_path / "pool.jsonl")], [spans_of(SECRET, 0)], tmp_path / "out", tmp_path,
          action="mask", mask_token="-", rescan=rescan_for(SECRET))  # fmt: skip
    assert json.loads((tmp_path / "out" / "pool.jsonl").read_text("utf-8")) == record | {"text": "-"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"action": "delete"}, "action 'delete' is unknown; expected one of remove, mask"),
        ({"verdict": "contaminatd"}, "did you mean 'contaminated'"),
        ({"mask_token": "a\nb"}, "one line"),
        ({"mask_token": "\ud800"}, "one line"),
        ({"bad_rows": "drop"}, "expected one of error, skip"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SplitSettings(**wrong)  # type: ignore[arg-type]
