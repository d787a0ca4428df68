"""Labels: how they are declared, and what becomes of every kind of value."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_support import counts, source_of

from auditkit.errors import LabelError, UsageError
from auditkit.read import parse_label, parse_labels, read_texts
from auditkit.read.labels import DEFAULT_VALUES, UNMAPPED, label_of
from auditkit.records import LabelRule, ReadSettings


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ("harm=is_harmful", LabelRule("harm", "is_harmful")),
        ("harm=a.b", LabelRule("harm", "a.b")),
        ("harm=v:Unsafe=1,safe=0,unsure=null", LabelRule("harm", "v", {"unsafe": 1, "safe": 0, "unsure": None})),
        ("block=is_safe:true=0,false=1", LabelRule("block", "is_safe", {"true": 0, "false": 1})),
        (' a = my col : yes clearly = 1 , no = 0', LabelRule("a", "my col", {"yes clearly": 1, "no": 0})),
        ('"a=b"="x:y":"p,q"=1,"say \\"no\\" \\\\"=0', LabelRule("a=b", "x:y", {"p,q": 1, 'say "no" \\': 0})),
        ("हानि=लेबल:हाँ=1", LabelRule("हानि", "लेबल", {"हाँ": 1})),
    ],
)  # fmt: skip
def test_specs(spec: str, rule: LabelRule) -> None:
    assert parse_label(spec) == rule


HOW = "expected POLICY=COLUMN or POLICY=COLUMN:VALUE=1,VALUE=0,VALUE=null, parts with = : , in double quotes"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", f"label '': nothing to read at character 0; {HOW}"),
        ("harm", f"label 'harm': 'the end' at character 4 instead of '='; {HOW}"),
        ("=x", f"label '=x': nothing to read at character 0; {HOW}"),
        ("a=", f"label 'a=': nothing to read at character 2; {HOW}"),
        ("a=b:", f"label 'a=b:': nothing to read at character 4; {HOW}"),
        ("a=b:c", f"label 'a=b:c': 'the end' at character 5 instead of '='; {HOW}"),
        ("a=b=c", f"label 'a=b=c': '=' at character 3 instead of ':'; {HOW}"),
        ("a=b:c=1,", f"label 'a=b:c=1,': nothing to read at character 8; {HOW}"),
        ('a="b', f"label 'a=\"b': nothing to read at character 2; {HOW}"),
        ('""=b', f"label '\"\"=b': an empty name at character 0; {HOW}"),
        ("a=b:c=2", "label 'a=b:c=2': value 'c' is mapped to '2'; expected 1, 0 or null"),
        ("a=b:c=1,C=0", "label 'a=b:c=1,C=0': value 'C' is mapped twice; map each value once"),
        ("row=b", "label 'row=b': a policy cannot be called 'row'; choose another name"),
    ],
)
def test_wrong_specs(spec: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_label(spec)
    assert str(error.value) == message


NAME = st.text(min_size=1, max_size=6).filter(lambda text: text.isprintable() and text != "row")


@given(
    NAME,
    NAME,
    st.dictionaries(st.text(min_size=1, max_size=5).map(str.casefold), st.sampled_from([0, 1, None]), max_size=3),
)
def test_quoted_specs_hold_any_text(policy: str, column: str, values: dict[str, int | None]) -> None:
    def quote(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    mapped = ",".join(f"{quote(value)}={'null' if label is None else label}" for value, label in values.items())
    folded = {value.casefold(): label for value, label in values.items()}
    if len(folded) == len(values) and "" not in values:
        spec = f"{quote(policy)}={quote(column)}" + (f":{mapped}" if mapped else "")
        assert parse_label(spec) == LabelRule(policy, column, folded)


def test_a_policy_is_named_once() -> None:
    with pytest.raises(UsageError) as error:
        parse_labels(["harm=a", "block=b", "harm=c"])
    assert str(error.value) == "policy 'harm' is declared twice, from column 'a' and from 'c'; name each policy once"
    with pytest.raises(UsageError):
        list(read_texts(source_of(["t"]), ReadSettings(labels=(LabelRule("a", "x"), LabelRule("a", "y")))))


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (True, 1), (False, 0), (1, 1), (0, 0), (1.0, 1), (0.0, 0), ("1", 1), ("0", 0), ("1.0", 1), (" TRUE ", 1),
        ("No", 0), ("Harmful", 1), ("benign", 0), ("unsafe", 1), ("safe", 0), ("toxic", 1), ("non-toxic", 0),
        ("not_toxic", 0), ("Not Flagged", 0), ("block", 1), ("allow", 0), ("unharmful", 0),
        (None, None), (float("nan"), None), ("", None), ("  ", None),
        (2, UNMAPPED), (-1, UNMAPPED), (0.5, UNMAPPED), ("maybe", UNMAPPED), ("nan", UNMAPPED), ([1], UNMAPPED),
        ({"a": 1}, UNMAPPED), (b"1", UNMAPPED), (datetime.date(2024, 1, 1), UNMAPPED),
    ],
)  # fmt: skip
def test_default_map(value: Any, label: Any) -> None:
    assert label_of(value, LabelRule("p", "c")) == label


def test_a_map_of_ones_own_replaces_the_default() -> None:
    rule = parse_label("block=is_safe:true=0,false=1,maybe=null")
    assert [label_of(value, rule) for value in (True, False, "MAYBE", None, 1, "yes")] == [
        0, 1, None, None, UNMAPPED, UNMAPPED,
    ]  # fmt: skip
    assert set(DEFAULT_VALUES.values()) == {0, 1}


def _labels(data: Any, *specs: str, **settings: Any) -> tuple[dict[str, list[Any]], dict[str, int]]:
    rules = parse_labels(specs)
    batches = list(read_texts(source_of(data), ReadSettings(labels=rules, **settings)))
    frame = pl.concat([batch.labels for batch in batches])
    assert dict(frame.schema) == {"row": pl.Int64(), **{rule.policy: pl.Int8() for rule in rules}}
    counted = {reason: n for reason, n in counts(batches).items() if reason.startswith("label")}
    return frame.to_dict(as_series=False), counted


COLUMNS: list[tuple[list[Any], Any]] = [
    ([True, False, None], pa.bool_()),
    ([1, 0, 7, None], pa.int8()),
    ([1.0, 0.0, 0.5, float("nan"), None], pa.float64()),
    (["unsafe", "safe", "maybe", "maybe", "", None], pa.string()),
    (["unsafe", "safe", "maybe", None], pa.string_view()),
    (["unsafe", "safe", "maybe", None], pa.dictionary(pa.int8(), pa.string())),
    ([[1], None], pa.list_(pa.int8())),
    ([{"a": 1}, None], pa.struct([("a", pa.int8())])),
    ([None, None], pa.null()),
]


@pytest.mark.parametrize(("values", "kind"), COLUMNS, ids=[str(kind) for _, kind in COLUMNS])
def test_columns_of_every_type_equal_the_values_one_by_one(values: list[Any], kind: Any) -> None:
    if pa.types.is_dictionary(kind):
        array = pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    else:
        array = pa.array(values, kind)
    expected = [label_of(value, LabelRule("p", "v")) for value in values]
    as_list, counted = _labels([{"text": "t", "v": value} for value in values], "p=v")
    table = pa.table({"text": ["t"] * len(values), "v": array})
    as_table, seen = _labels(pa.concat_tables([table.slice(0, 1), table.slice(1)]), "p=v")
    assert as_list["p"] == as_table["p"] == [None if label == UNMAPPED else label for label in expected]
    assert counted == seen
    assert counted.get("label p null", 0) == expected.count(None)
    assert counted.get("label p unmapped", 0) == expected.count(UNMAPPED)


def test_what_is_not_mapped_is_counted_and_named() -> None:
    rows = [{"text": "t", "v": value} for value in ["Maybe", "maybe", "\x1b[31m", "x" * 25, None, 1]] + [{"text": "t"}]
    labels, counted = _labels(rows, "harm=v")
    assert labels == {"row": [0, 1, 2, 3, 4, 5, 6], "harm": [None, None, None, None, None, 1, None]}
    assert counted == {
        "label harm null": 2,
        "label harm unmapped": 4,
        "label harm unmapped value 'maybe'": 2,
        "label harm unmapped value '\\x1b[31m'": 1,
        "label harm unmapped: longer values": 1,
    }


@pytest.mark.parametrize("as_frame", [True, False])
def test_a_text_column_that_is_declared_as_a_label_is_not_shown(as_frame: bool) -> None:
    texts = ["how do I bake", "x" * 24, "x" * 25, "How do I bake bread?", "how do I bake bread?", "y" * 5000, "a b c"]
    rows = [{"text": text, "n": 1} for text in texts]
    _, counted = _labels(pl.DataFrame(rows) if as_frame else rows, "harm=text", fields=("n",))
    assert counted == {
        "label harm unmapped": 7,
        f"label harm unmapped value '{'x' * 24}'": 1,
        "label harm unmapped value 'a b c'": 1,
        "label harm unmapped: longer values": 5,
    }


def test_many_unmapped_values_are_counted_exactly(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"".join(orjson.dumps({"text": "t", "v": f"v{i % 70}"}) + b"\n" for i in range(700)))
    _, counted = _labels(str(path), "harm=v", shard_bytes=2000)
    assert counted.pop("label harm unmapped") == 700
    assert counted.pop("label harm unmapped: short values beyond the first 20") == 500
    assert counted == {f"label harm unmapped value 'v{i}'": 10 for i in range(20)}


def test_nested_label_columns() -> None:
    rows = [
        {"text": "t", "scores": {"harm": True}},
        {"text": "t", "scores": {"harm": None}},
        {"text": "t", "scores": None},
    ]
    expected = {"row": [0, 1, 2], "harm": [1, None, None]}
    assert _labels(rows, "harm=scores.harm")[0] == expected
    assert _labels(pl.DataFrame(rows), "harm=scores.harm")[0] == expected


def test_several_policies_and_case() -> None:
    labels, counted = _labels(
        [{"text": "t", "Harm": "yes", "is_safe": True}], "harm=harm", "block=is_safe:true=0,false=1"
    )
    assert (labels, counted) == ({"row": [0], "harm": [1], "block": [0]}, {})


@pytest.mark.parametrize("as_frame", [True, False])
def test_a_missing_label_column_names_the_nearest(as_frame: bool) -> None:
    rows = [{"text": "t", "is_harmful": True}] * 2
    with pytest.raises(LabelError) as error:
        _labels(pl.DataFrame(rows) if as_frame else rows, "harm=is_harmfull")
    assert str(error.value) == (
        "memory: no label column 'is_harmfull' for policy 'harm'; did you mean 'is_harmful'? "
        "(columns: text, is_harmful)"
    )


def test_a_sparse_label_may_come_late_but_must_come() -> None:
    rows: list[dict[str, Any]] = [{"text": "a"}, {"text": "b", "x": 1}] * 60
    labels, counted = _labels([*rows, {"text": "c", "harm": 1}], "harm=harm")
    assert labels["harm"] == [None] * 120 + [1]
    assert counted == {"label harm null": 120}
    with pytest.raises(LabelError, match=r"no label column 'harm' for policy 'harm' \(columns: text, x\)"):
        _labels(rows, "harm=harm")
