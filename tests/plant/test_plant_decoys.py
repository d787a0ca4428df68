"""Decoys are like items in length, script and frame, are copies of none, and are the same for the same seed."""

from __future__ import annotations

from pathlib import Path
from random import Random

import lexical
import numpy as np
import polars as pl
import pytest

from auditkit import AuditSettings, audit, tables
from auditkit.plant.decoys import MAX_DECOYS, Decoys, make_decoys
from auditkit.text.items import ItemTexts, distinct_texts
from auditkit.text.normalise import tokens_of
from auditkit.verify.items import prepare
from auditkit.verify.rules import default_rules

VERBS = ["bake", "repair", "paint", "plant", "sell", "borrow", "carry", "clean", "draw", "measure"]
THINGS = ["bread", "bicycle", "fence", "rose", "lamp", "ladder", "basket", "window", "map", "garden"]
PLACES = ["kitchen", "cellar", "attic", "yard", "harbour", "library", "market", "station", "valley", "meadow"]
HAN = "明日天气很好我们去公园散步看书喝茶吃饭唱歌跳舞学习工作"


def questions(n: int, seed: int = 1) -> list[str]:
    """Return n different questions of one frame and other content."""
    rng, made = Random(seed), dict[str, None]()
    while len(made) < n:
        verb, thing, place = rng.choice(VERBS), rng.choice(THINGS), rng.choice(PLACES)
        made[f"How do I {verb} the {thing} that my {rng.choice(THINGS)} left in the {place}?"] = None
    return list(made)


def texts_of(items: list[str]) -> ItemTexts:
    return distinct_texts(lexical.item_frame(items), min_answer_tokens=8)


def made_of(items: list[str], n: int | None = None, seed: int = 1) -> Decoys:
    texts = texts_of(items)
    return make_decoys(texts, prepare(texts, default_rules()).in_template, n, seed)


def test_a_decoy_has_the_length_of_its_item_and_other_words() -> None:
    items = questions(60)
    decoys = made_of(items)
    assert decoys.n_decoys + decoys.n_left_out == decoys.n_items == 60
    lengths = {len(tokens_of(item)) for item in items}
    assert all(len(tokens_of(text)) in lengths for text in decoys.parts["text"])
    vocabulary = {token for item in items for token in tokens_of(item)}
    assert all(set(tokens_of(text)) <= vocabulary for text in decoys.parts["text"])


def test_half_of_the_content_words_are_exchanged_and_the_frame_is_kept() -> None:
    items = questions(60)
    content, decoys = {*VERBS, *THINGS, *PLACES}, made_of(items)
    for text, source in (
        decoys.parts.join(decoys.sources, on=["benchmark", "item"]).select("text", "source").iter_rows()
    ):
        pairs = list(zip(text.split(), tokens_of(items[source]), strict=True))
        changed = [(a, b) for a, b in pairs if a != b]
        assert 1 <= len(changed) <= 2  # of four
        assert all(a in content and b in content for a, b in changed)


def test_what_is_exchanged_stands_between_the_same_words() -> None:
    """Verbs stay verbs: the frame before and behind a word says what can stand there."""
    for text in made_of(questions(60)).parts["text"]:
        words = text.split()
        assert words[:3] == ["how", "do", "i"]
        assert words[3] in VERBS
        assert words[5] in THINGS
        assert words[-1] in PLACES


def test_no_decoy_is_an_item() -> None:
    for items in (questions(60), questions(12), ["What is the name of the river?", "Who wrote this old song for you?"]):
        known = {" ".join(tokens_of(item)) for item in items}
        texts = distinct_texts(lexical.item_frame(items), min_answer_tokens=8, decoys=made_of(items).parts)
        assert not known & set(texts.canonicals[texts.n_own :])


def test_equal_seeds_give_equal_decoys_and_others_give_others() -> None:
    items = questions(40)
    one, again, other = made_of(items), made_of(items), made_of(items, seed=2)
    assert one.parts.equals(again.parts)
    assert not one.parts.equals(other.parts)


def test_the_number_is_that_of_the_items_and_at_most_the_stated_one() -> None:
    assert made_of(questions(30)).n_sets == 1
    few = made_of(questions(30), 10)
    assert (few.n_sets, few.n_decoys + few.n_left_out) == (1, 10)
    several = made_of(questions(30), 75)
    assert (several.n_sets, several.n_decoys + several.n_left_out) == (3, 75)
    assert several.scale == pytest.approx(30 * 3 / several.n_decoys)
    words = [f"alpha{i} beta{i * 7 % 999} gamma{i * 13 % 997} delta{i * 5 % 991}" for i in range(MAX_DECOYS + 50)]
    assert made_of(words).n_decoys == MAX_DECOYS
    assert made_of(questions(30), 0).n_decoys == 0


def test_no_decoy_bears_the_number_of_an_item() -> None:
    assert made_of(questions(20)).parts["item"].max() < 0


def test_a_template_is_kept_and_what_it_asks_is_exchanged() -> None:
    template = "Read the following request with care and answer it in one short sentence only:"
    items = [f"{template} {question}" for question in questions(40)]
    kept = " ".join(tokens_of(template))
    assert all(text.startswith(kept) for text in made_of(items).parts["text"])


def test_numbers_stand_for_numbers() -> None:
    rng = Random(3)
    years = [f"{rng.randrange(1000, 9999)} of the {rng.choice(THINGS)} in {rng.randrange(10, 99)}" for _ in range(50)]
    items = [f"{rng.choice(VERBS)} {year} days" for year in years]
    for text in made_of(items).parts["text"]:
        words = text.split()
        assert [word.isdigit() for word in words] == [False, True, False, False, False, False, True, False]


def test_scripts_without_spaces_stay_without() -> None:
    rng = Random(5)
    items = ["".join(rng.choice(HAN) for _ in range(14)) for _ in range(40)]
    decoys = made_of(items)
    assert decoys.n_decoys > 0
    assert all(len(text) == 14 and " " not in text for text in decoys.parts["text"])


def test_what_has_no_other_words_gives_no_decoy_and_is_counted() -> None:
    decoys = made_of(["only one item stands in this benchmark"])
    assert (decoys.n_decoys, decoys.n_left_out, decoys.n_items) == (0, 1, 1)
    assert decoys.scale == 0.0


def test_decoys_change_no_seed_template_or_common_word_of_the_items() -> None:
    items = lexical.item_frame([f"Name the colour of the {t} in the {p}." for t in THINGS for p in PLACES])
    alone = distinct_texts(items, min_answer_tokens=8)
    decoys = make_decoys(alone, prepare(alone, default_rules()).in_template, 300)
    both = distinct_texts(items, min_answer_tokens=8, decoys=decoys.parts)
    assert both.n_own == alone.n_own == len(alone)
    mine, theirs = prepare(alone, default_rules()), prepare(both, default_rules())
    assert mine.common == theirs.common
    assert np.array_equal(mine.in_template, theirs.in_template[: len(mine.in_template)])
    assert both.unmatchable.tolist() == alone.unmatchable.tolist()
    rows = lexical.rows_of([f"please {text} now" for text in items["text"][:30]])
    found, wanted = (lexical.candidates_of(texts, rows).filter(pl.col("text") < alone.n_own) for texts in (both, alone))
    order = ["unit", "text", "first", "detector"]
    assert found.sort(order).equals(wanted.sort(order))


def test_a_decoy_equal_to_an_item_is_left_out() -> None:
    items = lexical.item_frame(["the cat sat on the mat", "a dog ran after the ball"])
    texts = distinct_texts(items, min_answer_tokens=8, decoys=items.with_columns(pl.lit(-1, pl.Int64).alias("item")))
    assert len(texts) == texts.n_own == 2
    assert texts.parts["item"].to_list() == [0, 1]


@pytest.mark.shared
@pytest.mark.parametrize("seed", [1, 2])
def test_decoys_match_a_pool_that_is_clean_about_as_often_as_items_do(shared_data: Path, seed: int) -> None:
    """GSM8K's test questions are not among its training questions: neither they nor their decoys are condemned."""
    train = pl.read_ndjson(shared_data / "gsm8k" / "train.jsonl")["question"].sample(1500, seed=seed)
    test = pl.read_ndjson(shared_data / "gsm8k" / "test.jsonl")["question"].sample(400, seed=seed)
    report = audit(train.to_frame("text"), test.to_frame("text"), AuditSettings(decoys=800))
    assert report.errors is not None
    assert report.errors.n_decoys > 790
    assert sum(tier.n_contaminated for tier in report.errors.tiers) <= 1
    assert sum(tier.n_decoy_contaminated for tier in report.errors.tiers) <= 1


def test_decoy_parts_are_items() -> None:
    tables.check(made_of(questions(20)).parts, tables.ITEMS, "decoys")
