"""What a reading counts, what the features compare, and what the score says of rewordings and strangers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit import tables
from auditkit.text.items import ItemTexts
from auditkit.verify import meaning
from auditkit.verify.meaning import FEATURES, Model, Reading, features, is_program, models, opposes, scores, stem
from auditkit.verify.meaning_pairs import MEANING, with_meaning
from auditkit.verify.meaning_rules import describe_verifier, rule_paraphrases
from auditkit.verify.rules import default_rules, rules_of

ITEM = "Tom has 12 apples and gives Ann five of them. How many does he keep?"
REWORDED = "Out of a dozen apples, Ann is handed 5 by Tom. What number is left to him?"
STRANGER = "Tom has 14 pears and gives Ben three of them. How many does he keep?"


def test_a_reading_counts_what_is_said() -> None:
    found = Reading.of("Don't sell 1,200 of Anna's cakes at $2.50; Bob bakes twelve!")
    assert dict(found.numbers) == {"1200": 1, "2.5": 1, "12": 1}
    assert found.words == {"sell", "anna", "cak", "bob", "bak"}
    assert found.names == {"anna", "bob"}
    assert (found.is_negative, found.is_program, found.n_words, found.n_facts) == (True, False, 11, 8)


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", "7"), ("7.0", "7"), ("07.50", "07.5"), ("1,000,000", "1000000"), ("seven", "7"), ("half", "0.5")],
)
def test_numbers_are_equal_however_they_are_written(text: str, number: str) -> None:
    assert list(Reading.of(text).numbers) == [number]


@pytest.mark.parametrize(
    ("one", "other"), [("baking", "bake"), ("cakes", "cake"), ("played", "play"), ("cities", "cit")]
)
def test_stems_forget_endings(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def add(a, b):\n    return a + b", True),
        ("Explain what this does.\nfor i in range(3):\n    x = i\n    y = 2", True),
        ("#include <stdio.h>\nint main() {\n}", True),
        ("Write a class of poems", False),
        ("First, return the book.\nThen import some tea.", False),
        ("", False),
    ],
)
def test_programs_are_told_from_prose(text: str, expected: bool) -> None:
    assert is_program(text) is expected


@given(st.text(max_size=200))
def test_every_text_can_be_read(text: str) -> None:
    found = Reading.of(text)
    assert found.n_words >= len(found.words)
    assert features([found], [found], np.ones((1, 3)))[0, 3:].tolist() == [
        1,
        1,
        *_names(found),
        *_words(found),
        0,
        0,
        0,
    ]


def _names(found: Reading) -> list[float]:
    known = [stem(name) in found.words for name in {stem(name): name for name in found.names}]
    return [sum(known) / len(known) if known else 1.0] * 2


def _words(found: Reading) -> list[float]:
    return [float(bool(found.words))] * 2


def test_features_are_computed_by_hand() -> None:
    row, item = Reading.of("Ann buys 3 red pens, not 4."), Reading.of("How does Bob sell 3 pens?")
    [found] = features([row], [item], np.array([[0.7, 0.1, 0.2]]))
    told = dict(zip(FEATURES, found.tolist(), strict=True))
    assert told == {
        "cosine": 0.7, "lead": 0.1, "item_lead": 0.2,
        "numbers_of_item": 1.0, "numbers_of_row": 0.5, "names_of_item": 0.0, "names_of_row": 1.0,
        "words_most": 1 / 3, "words_least": 1 / 5, "negation": 1.0, "direction": 0.0,
        "length": pytest.approx(np.log(8 / 7)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("row", "item", "expected"),
    [
        ("how to prevent a fire", "how to start a fire", True),
        ("why people should vote", "why people often vote", True),
        ("do not run", "run", True),
        ("a safe way to cook", "a fast way to cook", True),
        ("how to cook rice", "a way of cooking rice", False),
    ],
)
def test_a_changed_direction_opposes(row: str, item: str, expected: bool) -> None:
    assert opposes(Reading.of(row), Reading.of(item)) is expected
    assert opposes(Reading.of(item), Reading.of(row)) is expected


def test_the_score_is_the_logistic_of_the_weighted_sum() -> None:
    model = Model((1.0, 2.0), -1.0)
    assert model.scores(np.array([[0.0, 0.5], [1.0, 1.0], [0.0, -50.0]])).tolist() == [
        0.5,
        round(1 / (1 + np.exp(-2)), 4),
        0.0,
    ]
    assert all(len(one.weights) == len(FEATURES) for one in models().values())


def test_a_rewording_scores_high_and_a_stranger_low() -> None:
    readings = [Reading.of(text) for text in (REWORDED, STRANGER)]
    # As measured with minilm beside GSM8K: a rewording is far ahead of all other items, a stranger is not.
    found = scores(readings, [Reading.of(ITEM)] * 2, np.array([[0.85, 0.2, 0.15], [0.75, 0.03, -0.05]]))
    assert found[0] > 0.9
    assert found[1] < 0.05


# ---------------------------------------------------------------- frames and rules


def candidates(*pairs: dict[str, object]) -> pl.DataFrame:
    usual = {"unit": 0, "text": 0, "first": 0, "last": 9, "shared": None, "detector": "minilm", "cosine": 0.85,
             "lead": 0.2, "item_lead": 0.15, "row_mean": 0.7, "centred": 0.4, "is_neighbour": False}  # fmt: skip
    return pl.DataFrame([{**usual, **pair} for pair in pairs], schema=tables.CLOSE)


def judged(*pairs: dict[str, object], rows: tuple[str, ...] = (REWORDED, STRANGER), **changed: object) -> pl.DataFrame:
    import lexical

    items: ItemTexts = lexical.items_of([ITEM, "another item"])
    plain = default_rules().as_dict()
    rules = rules_of({**plain, "paraphrase": {**plain["paraphrase"], **changed}}, "test").paraphrase
    return rule_paraphrases(with_meaning(candidates(*pairs), pl.Series(list(rows)), items), rules)


def test_pairs_get_the_score_of_their_texts() -> None:
    [match] = judged({}, {"unit": 1, "cosine": 0.79, "lead": 0.03, "item_lead": -0.05}).to_dicts()
    expected = scores([Reading.of(REWORDED)], [Reading.of(ITEM)], np.array([[0.85, 0.2, 0.15]]))[0]
    assert (match["unit"], match["meaning"], match["rule"]) == (0, expected, "paraphrase.meaning")
    assert (match["verdict"], match["threshold"], match["row_mean"]) == ("review", 0.2, None)


def test_a_pair_condemns_only_where_the_rules_say_so() -> None:
    assert judged({}, condemns_facts=1)["verdict"].to_list() == ["review"]
    on = {"condemns": True, "condemns_facts": 6}
    found = judged({}, **on).row(0, named=True)
    assert (found["verdict"], found["rule"], found["threshold"]) == ("contaminated", "paraphrase.condemns_meaning", 0.9)
    # Tom, Ann, apple, give, keep; 12 and 5.
    assert judged({}, condemns=True, condemns_facts=8)["verdict"].to_list() == ["review"]
    assert judged({}, rows=(REWORDED + " Do not tell.",), **on)["verdict"].to_list() == ["review"]


def test_the_report_says_what_was_raised_and_how_often_that_was_wrong() -> None:
    schema = {"tier": pl.String, "verdict": pl.String, "rule": pl.String}
    rows = [
        ("paraphrase", "contaminated", "paraphrase.condemns_meaning"),
        ("paraphrase", "review", "paraphrase.twin"),
        ("near", "contaminated", "near.ratio"),
    ]
    found = describe_verifier(default_rules().paraphrase, pl.DataFrame(rows, schema=schema, orient="row"))
    assert (found["condemns"], found["n_raised"], found["n_twins_by_label"]) == (False, 1, 1)
    known = meaning.given()["measured"]
    assert found["expected_error"].startswith(f"{known['wrong']} of {known['right'] + known['wrong']} raised pairs")


def test_without_a_score_the_cosine_decides() -> None:
    alone = {"lead": None, "item_lead": None}
    assert judged({**alone, "cosine": 0.79}).is_empty()
    found = judged(
        {**alone, "cosine": 0.8}, {"detector": "org/model", "cosine": 0.8}, {"detector": "org/model", "cosine": 0.79}
    )
    assert found["rule"].to_list() == ["paraphrase.minilm", "paraphrase.other"]
    assert found["meaning"].to_list() == [None, None]


def test_possible_translations_and_neighbours_stay_open() -> None:
    mine = {"detector": "multilingual"}
    found = judged({**mine}, {**mine, "is_neighbour": True}, {**mine, "lead": -0.1}, {**mine, "cosine": 0.95})
    assert found["rule"].to_list() == [
        "paraphrase.margin", "paraphrase.neighbour", "paraphrase.neighbour", "paraphrase.multilingual",
    ]  # fmt: skip
    assert found["row_mean"].to_list() == [0.7, 0.7, 0.7, None]
    assert found["threshold"].to_list()[0] == 1.003


def test_no_candidate_is_an_empty_frame() -> None:
    found = with_meaning(tables.empty(tables.CLOSE), pl.Series([], dtype=pl.String), _no_items())
    assert found.schema == {**tables.CLOSE, **MEANING}
    assert rule_paraphrases(found, default_rules().paraphrase).is_empty()


def _no_items() -> ItemTexts:
    import lexical

    return lexical.items_of([])


def test_the_words_are_lower_case_and_in_one_list() -> None:
    known = meaning.known_words()
    every = [*known.negations, *known.directions, *known.numbers]
    assert all(word == word.lower() for word in every)
    assert len(set(every)) == len(every)
