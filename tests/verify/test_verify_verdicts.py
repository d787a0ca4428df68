"""What only the whole pool can tell: contexts, labels, names of items, the order of matches."""

from __future__ import annotations

from typing import Any

import lexical
import polars as pl
import pytest

from auditkit import tables
from auditkit.text.normalise import canonical
from auditkit.verify.items import prepare
from auditkit.verify.matches import verify
from auditkit.verify.rules import Rules, default_rules
from auditkit.verify.verdicts import conclude

QUESTION = "Explain step by step how the mechanism works and what is needed"
CONTEXT_A = "The grandfather clock in the hall has three weights and a long brass pendulum that swings slowly"
CONTEXT_B = "An old water mill beside the river turns two heavy stones with a wooden wheel and many gears"
ADDRESS: dict[str, Any] = {"pool": "train", "row_id": None, "field": "text", "turn": None}

#: Two items that differ in their context only, as some of HarmBench do.
ITEMS = [
    {"item": 0, "part": "context", "kind": "context", "text": CONTEXT_A},
    {"item": 0, "part": "question", "text": QUESTION},
    {"item": 1, "part": "context", "kind": "context", "text": CONTEXT_B},
    {"item": 1, "part": "question", "text": QUESTION},
]


def concluded(
    parts: list[Any], rows: list[str | dict[str, Any]], rules: Rules | None = None, labels: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return the matches of rows: a text, or a dict with a text and its address."""
    records = [{**ADDRESS, "row": i, **({"text": row} if isinstance(row, str) else row)} for i, row in enumerate(rows)]
    schema = {name: kind for name, kind in tables.TEXTS.items() if name != "role"}
    texts = pl.DataFrame(records, schema=schema)
    items, shard = lexical.items_of(parts), lexical.rows_of(texts["text"].to_list())
    prepared = prepare(items, rules or default_rules())
    found = verify(lexical.candidates_of(items, shard), shard.texts, shard.tokens, prepared, lexical.LEXICAL).pairs
    addressed = texts.drop("text")[found["unit"]].hstack(found.drop("unit"))
    labels = labels if labels is not None else pl.DataFrame(schema={"pool": pl.String(), "row": pl.Int64()})
    return conclude(addressed, prepared, labels)


def short(matches: pl.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return matches.select(*(names or ("row", "item", "part", "verdict"))).rows()


# ---------------------------------------------------------------- contexts


def test_a_context_alone_is_for_review() -> None:
    matches = concluded(ITEMS, [f"Look: {CONTEXT_A}."])
    assert short(matches, "item", "part", "verdict", "rule") == [(0, "context", "review", "context.condemns_alone")]


def test_a_context_alone_can_be_made_to_condemn() -> None:
    rules = lexical.rules_with(context={"condemns_alone": True})
    assert short(concluded(ITEMS, [CONTEXT_A], rules)) == [(0, 0, "context", "contaminated")]


def test_the_context_is_part_of_the_items_key() -> None:
    matches = concluded(ITEMS, [f"{CONTEXT_A}. {QUESTION}?"])
    assert short(matches, "item", "part", "verdict", "rule") == [
        (0, "context", "contaminated", "contained.whole"),
        (0, "question", "contaminated", "contained.whole"),
        (1, "question", "review", "context.other"),
    ]


def test_a_question_without_any_context_condemns_all_items_that_ask_it() -> None:
    assert short(concluded(ITEMS, [QUESTION])) == [
        (0, 0, "question", "contaminated"),
        (0, 1, "question", "contaminated"),
    ]


def test_context_and_question_in_different_rows_do_not_support_each_other() -> None:
    assert short(concluded(ITEMS[:2], [CONTEXT_A, QUESTION])) == [
        (0, 0, "context", "review"),
        (1, 0, "question", "contaminated"),
    ]


def test_context_and_question_in_two_turns_of_one_row_do() -> None:
    turns = [{"row": 7, "turn": turn, "text": text} for turn, text in enumerate((CONTEXT_A, QUESTION))]
    assert short(concluded(ITEMS, turns), "row", "turn", "item", "part", "verdict") == [
        (7, 0, 0, "context", "contaminated"),
        (7, 1, 0, "question", "contaminated"),
        (7, 1, 1, "question", "review"),
    ]


def test_items_without_contexts_are_not_weakened_by_those_of_others() -> None:
    parts = [*ITEMS[:2], {"benchmark": "c", "item": 0, "text": QUESTION}]
    matches = concluded(parts, [f"{CONTEXT_B} {QUESTION}"])
    assert short(matches, "benchmark", "verdict") == [("b", "contaminated"), ("c", "contaminated")]


def test_an_answer_condemns_with_its_context() -> None:
    parts = [ITEMS[0], {"item": 0, "part": "answer", "kind": "answer", "text": QUESTION}]
    assert short(concluded(parts, [f"{CONTEXT_A} {QUESTION}"])) == [
        (0, 0, "answer", "contaminated"),
        (0, 0, "context", "contaminated"),
    ]


# ---------------------------------------------------------------- items


def test_identical_items_of_two_benchmarks_are_both_named() -> None:
    parts = [
        {"benchmark": "a", "item": 3, "item_id": "x", "text": QUESTION},
        {"benchmark": "c", "item": 9, "item_id": "y", "text": QUESTION.upper() + "!"},
        {"benchmark": "c", "item": 10, "item_id": "z", "text": f"{QUESTION}?"},
    ]
    rows = [QUESTION, f"And now: {QUESTION}, please"]
    assert short(concluded(parts, rows), "row", "benchmark", "item", "item_id", "tier") == [
        (0, "a", 3, "x", "exact"),
        (0, "c", 9, "y", "exact"),
        (0, "c", 10, "z", "exact"),
        (1, "a", 3, "x", "contained"),
        (1, "c", 9, "y", "contained"),
        (1, "c", 10, "z", "contained"),
    ]


def test_places_are_characters_of_each_text_as_read() -> None:
    parts = [f"  «{QUESTION}»", {"item": 1, "text": QUESTION.replace("Explain", "Ex\u200bplain")}]
    row = f"Well: {QUESTION.upper()}!"
    matches = concluded(parts, [row])
    assert len(matches) == 2
    for match in matches.iter_rows(named=True):
        text = parts[0] if match["item"] == 0 else parts[1]["text"]
        assert canonical(text[match["item_start"] : match["item_end"]]) == canonical(QUESTION)
        assert row[match["row_start"] : match["row_end"]] == QUESTION.upper()
    assert short(matches, "item_start", "item_end") == [(3, 3 + len(QUESTION)), (0, 1 + len(QUESTION))]


def test_the_address_of_a_match_is_that_of_its_text() -> None:
    row = {"pool": "en/train", "row": 12, "row_id": "r-12", "field": "messages", "turn": 2, "text": QUESTION}
    match = concluded([QUESTION], ["clean", row]).row(0, named=True)
    assert {name: match[name] for name in row if name != "text"} == {name: row[name] for name in row if name != "text"}


def test_matches_come_in_one_order() -> None:
    rows = [{"pool": pool, "row": row, "text": QUESTION} for pool in ("b", "a") for row in (2, 0, 1)]
    for given in (rows, rows[::-1]):
        matches = concluded([QUESTION], given)
        assert short(matches, "pool", "row") == [(pool, row) for pool in ("a", "b") for row in (0, 1, 2)]


def test_a_pair_reached_by_one_part_twice_is_two_matches_of_different_places() -> None:
    matches = concluded([QUESTION], [f"{QUESTION}. And again: {QUESTION}."])
    assert len(matches) == 2
    assert matches["row_end"][0] <= matches["row_start"][1]


@pytest.mark.parametrize("rows", [[], ["clean"], [""]])
def test_no_match_is_an_empty_frame_of_the_same_columns(rows: list[str]) -> None:
    matches = concluded([QUESTION], rows)
    tables.check(matches, tables.MATCHES, "test")
    assert len(matches) == 0
    assert matches.columns == [*tables.MATCHES, "pool_labels"]


def test_no_text_stands_in_a_match() -> None:
    matches = concluded(ITEMS, [f"{CONTEXT_A}. {QUESTION}?"])
    assert not any(isinstance(value, str) and " " in value for row in matches.rows() for value in row)


# ---------------------------------------------------------------- labels


def labels_of(**policies: list[int | None]) -> pl.DataFrame:
    n = len(next(iter(policies.values())))
    schema = {"pool": pl.String(), "row": pl.Int64(), **dict.fromkeys(policies, pl.Int8())}
    return pl.DataFrame({"pool": ["train"] * n, "row": range(n), **policies}, schema=schema)


@pytest.mark.parametrize(
    ("pool", "item", "conflict"),
    [(1, 1, False), (0, 0, False), (1, 0, True), (0, 1, True), (None, 1, None), (1, None, None), (None, None, None)],
)
def test_labels_conflict_where_both_are_known_and_differ(
    pool: int | None, item: int | None, conflict: bool | None
) -> None:
    matches = concluded([{"text": QUESTION, "label": item}], [QUESTION], labels=labels_of(harm=[pool]))
    assert short(matches, "item_label", "label_conflict", "pool_labels") == [(item, conflict, {"harm": pool})]


@pytest.mark.parametrize(
    ("harm", "block", "conflict"), [(1, 1, False), (1, 0, True), (None, 1, None), (None, 0, True), (None, None, None)]
)
def test_several_policies_stand_side_by_side(harm: int | None, block: int | None, conflict: bool | None) -> None:
    labels = labels_of(harm=[harm], block=[block])
    matches = concluded([{"text": QUESTION, "label": 1}], [QUESTION], labels=labels)
    assert short(matches, "label_conflict", "pool_labels") == [(conflict, {"harm": harm, "block": block})]


def test_without_policies_there_is_no_conflict_to_know() -> None:
    matches = concluded([{"text": QUESTION, "label": 1}], [QUESTION])
    assert short(matches, "item_label", "label_conflict", "pool_labels") == [(1, None, None)]


def test_labels_are_those_of_the_row() -> None:
    matches = concluded([{"text": QUESTION, "label": 1}], [QUESTION, QUESTION], labels=labels_of(harm=[0, 1]))
    assert short(matches, "row", "label_conflict") == [(0, True), (1, False)]


def test_a_policy_may_have_the_name_of_a_column() -> None:
    matches = concluded([{"text": QUESTION, "label": 1}], [QUESTION], labels=labels_of(tier=[0], verdict=[1]))
    assert short(matches, "tier", "verdict", "pool_labels") == [("exact", "contaminated", {"tier": 0, "verdict": 1})]


# ---------------------------------------------------------------- twins


@pytest.mark.parametrize(
    ("item_label", "label", "verdict", "rule"),
    [
        (1, 0, "review", "paraphrase.twin"),
        (1, 1, "contaminated", "paraphrase.condemns_meaning"),
        (None, 0, "contaminated", "paraphrase.condemns_meaning"),
        (1, None, "contaminated", "paraphrase.condemns_meaning"),
    ],
)
def test_a_paraphrase_of_opposite_label_is_a_twin(
    item_label: int | None, label: int | None, verdict: str, rule: str
) -> None:
    items, shard = lexical.items_of([{"text": QUESTION, "label": item_label}]), lexical.rows_of([QUESTION])
    prepared = prepare(items, default_rules())
    pairs = verify(lexical.candidates_of(items, shard), shard.texts, shard.tokens, prepared, lexical.LEXICAL).pairs
    close = pairs.drop("unit").with_columns(
        pl.lit("paraphrase").alias("tier"), pl.lit("paraphrase.condemns_meaning").alias("rule")
    )
    address = pl.DataFrame([{**ADDRESS, "row": 0}], schema={name: tables.TEXTS[name] for name in (*ADDRESS, "row")})
    labels = pl.DataFrame({"pool": ["train"], "row": [0], "harm": pl.Series([label], dtype=pl.Int8)})
    matches = conclude(address.hstack(close), prepared, labels)
    assert short(matches, "verdict", "rule", "label_conflict") == [
        (verdict, rule, None if None in (item_label, label) else label != item_label)
    ]
