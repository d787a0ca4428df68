"""Detectors and verification together: what is a match, of which tier, where."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import lexical
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lexical import only, verified
from strategies import disguises, sentences, texts

from auditkit.detect.protocol import Rows
from auditkit.text.items import ItemTexts
from auditkit.text.normalise import canonical, tokens_of
from auditkit.verify import matches
from auditkit.verify.items import prepare
from auditkit.verify.matches import verify
from auditkit.verify.records import VERIFIED
from auditkit.verify.rules import default_rules

ITEM = "Please explain how the old clock tower was built in nine days"
NOISE = "I was walking home yesterday and wondered about something else entirely today"


def verdicts(parts: list[str], rows: list[str], **rules: dict[str, object]) -> list[tuple[int, int, str, str, str]]:
    found = verified(parts, rows, lexical.rules_with(**rules))
    return found.pairs.select("unit", "text", "tier", "verdict", "rule").rows()


# ---------------------------------------------------------------- planted copies


@settings(max_examples=120)
@given(st.data())
def test_a_disguised_item_in_noise_is_found_where_it_stands(data: st.DataObject) -> None:
    wanted = data.draw(sentences.filter(lambda words: len(canonical(" ".join(words))) >= 25))
    others = data.draw(st.lists(st.lists(st.sampled_from(NOISE.split()), min_size=4, max_size=12), max_size=3))
    before, after = data.draw(texts), data.draw(texts)
    row = f"{before}\n{data.draw(disguises(wanted))}\n{after}"
    parts = [" ".join(wanted), *(" ".join(words) for words in others)]
    mine = verified(parts, ["no such thing", row]).pairs.filter(unit=1, text=0)
    is_alone = not tokens_of(before) and not tokens_of(after)
    assert len(mine) >= 1
    for match in mine.iter_rows(named=True):
        assert match["tier"] == ("exact" if is_alone else "contained")
        assert match["verdict"] == "contaminated"
        assert canonical(row[match["row_start"] : match["row_end"]]) == canonical(parts[0])
        assert (match["item_first"], match["item_last"]) == (0, len(tokens_of(parts[0])))
        assert match["containment"] == 1.0
        assert match["numbers_differ"] is False


@given(st.data())
def test_copies_of_one_item_have_separate_places(data: st.DataObject) -> None:
    words = ITEM.split()
    copies = [data.draw(disguises(words)) for _ in range(data.draw(st.integers(2, 4)))]
    row = f"{NOISE}\n" + data.draw(st.sampled_from(["\n", f"\n{NOISE}.\n"])).join(copies)
    found = verified([ITEM], [row]).pairs
    assert [canonical(row[a:b]) for a, b in found.select("row_start", "row_end").iter_rows()] == [
        canonical(ITEM)
    ] * len(copies)
    starts, ends = found["row_start"].to_list(), found["row_end"].to_list()
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert found["tier"].unique().to_list() == ["contained"]


def test_the_item_is_found_by_words_and_not_by_letters() -> None:
    item = "art is fun to do every single day"
    row = f"I start is fun to do every single day, {NOISE}, and art is fun to do every single day indeed"
    found = verified([item], [row]).pairs.filter(rule="contained.whole")
    assert [row[a:b] for a, b in found.select("row_start", "row_end").iter_rows()] == [item]


@pytest.mark.parametrize(
    ("item", "row"),
    [
        ("ปัจจุบันเราไปโรงเรียนกัน", "เขาบอกว่า ปัจจุบันเราไปโรงเรียนกัน แล้วก็กลับบ้าน"),
        ("今日は東京へ行きましょうか", "ええと、今日は東京へ行きましょうか。はい、そうします。"),
        ("か゛ら今日は東京へ行きましょう", "ええと、か゛ら今日は東京へ行きましょう。はい"),
        ("请问怎么制作一个坚固的绳结", "你好！请问怎么制作一个坚固的绳结？谢谢"),
    ],
)
def test_items_of_scripts_without_spaces_inside_a_row(item: str, row: str) -> None:
    match = only(verified([item], [row]))
    assert (match["tier"], match["verdict"], match["rule"]) == ("contained", "contaminated", "contained.whole")
    assert canonical(row[match["row_start"] : match["row_end"]]) == canonical(item)


def test_an_item_that_mixes_scripts_inside_a_row() -> None:
    item, row = "what does the japanese word 猫 mean to you", "so: what does the japanese word 猫 mean to you, tell me"
    match = only(verified([item], [row]))
    assert (match["rule"], row[match["row_start"] : match["row_end"]]) == ("contained.whole", item)


# ---------------------------------------------------------------- what is no copy


@pytest.mark.parametrize(
    ("item", "row"),
    [
        ("今天天气很好我们去公园散步吧", "今天天气很好但是他要在家工作"),
        ("مرحبا كيف حالك اليوم يا صديقي", "الطقس جميل جدا في المدينة القديمة"),
        ("The meeting starts at noon on Friday", "Kill all humans now"),
        ("What about the following statement on trade?", "What about the following recipe with eggs and rice?"),
        ("cat", "the cat sat on the mat"),
        ("how are you", "well how are you today"),
        ("", "!!!"),
        ("these people are just so very 😀", "those cats were never at all 😡"),
    ],
)
def test_unlike_texts_do_not_match(item: str, row: str) -> None:
    assert verdicts([item], [row]) == []


def test_rows_that_differ_in_one_emoji_are_not_exact() -> None:
    found = verdicts(["I really do think these people are 😀"], ["I really do think these people are 😡"])
    assert [pair[2] for pair in found] == ["near"]


@pytest.mark.parametrize("tiers", [frozenset(["exact"]), lexical.LEXICAL])
def test_short_items_are_found_by_equality(tiers: frozenset[str]) -> None:
    found = verified(["cat", "two words"], ["Cat!", "TWO words", "a cat", "two words more"], tiers=tiers).pairs
    assert found.select("unit", "text", "tier", "verdict").rows() == [
        (0, 0, "exact", "contaminated"),
        (1, 1, "exact", "contaminated"),
    ]


# ---------------------------------------------------------------- edited copies


def test_numbers_that_differ_are_for_review() -> None:
    item, row = (
        "Road 1506 is closed for repairs until further notice",
        "Road 1507 is closed for repairs until further notice",
    )
    match = only(verified([item], [row]))
    assert (match["tier"], match["verdict"], match["rule"]) == ("near", "review", "near.numbers_condemn")
    assert match["numbers_differ"] is True
    assert match["ratio"] >= match["threshold"] == 0.9
    assert verdicts([item], [row], near={"numbers_condemn": True}) == [(0, 0, "near", "contaminated", "near.ratio")]


def test_numbers_that_differ_inside_a_longer_row_are_for_review() -> None:
    item = "Tom has 48 friends and gives each of them two apples, how many are left"
    row = f"{NOISE}: tom has 52 friends and gives each of them two apples, how many are left? {NOISE}"
    match = only(verified([item], [row]))
    assert (match["tier"], match["verdict"], match["rule"]) == ("contained", "review", "near.numbers_condemn")
    same = row.replace("52", "48").replace("apples", "aples")
    assert verdicts([item], [same]) == [(0, 0, "contained", "contaminated", "contained.ratio")]


@pytest.mark.parametrize(
    ("row", "tier", "rule"),
    [
        (ITEM.replace("tower", "towr"), "near", "near.ratio"),
        ("how the old clock tower was built in nine days please explain", "near", "near.token_sort"),
        (f"{NOISE}. {ITEM}. {NOISE}", "contained", "contained.whole"),
        (f"{NOISE}. {ITEM.replace('tower', 'towr')}. {NOISE}", "contained", "contained.ratio"),
        (f"Q: {ITEM}", "contained", "contained.whole"),
        ("Please explain how the old clock tower was built", "contained", "contained.part_tokens"),
        (ITEM.upper() + "!!", "exact", "exact"),
    ],
)
def test_kinds_of_copies(row: str, tier: str, rule: str) -> None:
    assert verdicts([ITEM], [row]) == [(0, 0, tier, "contaminated", rule)]


def test_a_part_names_the_stretch_of_the_item() -> None:
    row = "the old clock tower was built in nine days"
    match = only(verified([ITEM], [row]))
    assert (match["item_first"], match["item_last"], match["is_partial"]) == (3, 12, True)
    assert (match["row_start"], match["row_end"]) == (0, len(row))


def test_a_long_stretch_of_a_long_item_inside_a_longer_row() -> None:
    words = [
        f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(40)
    ]  # no digits: numbers that are cut off count
    row = " ".join([f"x{i}" for i in range(60)] + words[5:33] + [f"y{i}" for i in range(60)])
    match = only(verified([" ".join(words)], [row]))
    assert (match["rule"], match["verdict"]) == ("contained.stretch_tokens", "contaminated")
    assert (match["item_first"], match["item_last"]) == (5, 33)
    assert row[match["row_start"] : match["row_end"]] == " ".join(words[5:33])
    assert verdicts([" ".join(words)], [row], contained={"stretch_tokens": 29, "review_stretch_tokens": 29}) == []


@pytest.mark.parametrize(
    ("row", "rules", "is_condemned"),
    [
        ("make to a sturdy bookshelf out of oak", {}, True),  # lacks "how", which six of eight items have
        ("make to a sturdy bookshelf out of oak", {"common_share": 0.75}, True),
        ("make to a sturdy bookshelf out of oak", {"common_share": 0.76}, False),
        ("how to make a sturdy bookshelf out of ash", {}, False),  # lacks "oak", which is the item's own
    ],
)
def test_words_that_many_items_have_may_differ(row: str, rules: dict[str, float], is_condemned: bool) -> None:
    parts = [f"how to make thing{i} and other{i} work{i} fast{i}" for i in range(5)]
    parts += ["some text of an entirely other kind", "one more text of no such kind"]
    item = "how to make a sturdy bookshelf out of oak"
    near = {"ratio": 0.99, "token_sort": 0.99, "common_ratio": 0.7, **rules}
    contained = {"ratio": 1.0, "stretch_tokens": 99}
    found = verdicts([*parts, item], [row], near=near, contained=contained)
    assert (("near.common_ratio", "contaminated") in {(pair[4], pair[3]) for pair in found}) is is_condemned


@pytest.mark.parametrize("ratio", [0.91, 0.99])
def test_overlap_below_the_threshold_is_not_condemned(ratio: float) -> None:
    row = ITEM.replace("clock", "bell").replace("nine", "ten")
    none = {"ratio": 0.99, "token_sort": 0.99, "common_ratio": 0.99, "review_ratio": ratio, "short_ratio": 0.99}
    edited = {"ratio": 1.0, "review_ratio": 1.0, "stretch_tokens": 99, "review_stretch_tokens": 99}
    assert verdicts([ITEM], [row], near=none, contained=edited) == []
    assert [pair[3] for pair in verdicts([ITEM], [row], near=none | {"review_ratio": 0.7}, contained=edited)] == [
        "review"
    ]


def test_raising_every_threshold_leaves_only_equality() -> None:
    rows = [ITEM, ITEM.replace("tower", "towr"), f"{NOISE} {ITEM.replace('tower', 'towr')} {NOISE}", ITEM[:40]]
    assert {pair[0] for pair in verdicts([ITEM], rows)} == {0, 1, 2, 3}
    near = dict.fromkeys(("ratio", "token_sort", "common_ratio", "review_ratio", "short_ratio"), 1.0)
    contained = {
        "ratio": 1.0,
        "review_ratio": 1.0,
        "part_min_tokens": 99,
        "stretch_tokens": 99,
        "review_stretch_tokens": 99,
    }
    assert verdicts([ITEM], rows, near=near, contained=contained) == [(0, 0, "exact", "contaminated", "exact")]


# ---------------------------------------------------------------- templates

INSTRUCTION = (
    "You are a careful assistant and must answer the question below in one short sentence without any preamble, "
    "naming your source and nothing else at all:"
)
QUESTIONS = [f"river{i} passes{i} town{i} before{i} lake{i}" for i in range(30)]


def test_an_instruction_shared_by_many_items_is_no_leak() -> None:
    parts = [f"{INSTRUCTION} {question}" for question in QUESTIONS]
    assert len(INSTRUCTION.split()) >= 25
    found = verified(parts, [f"{INSTRUCTION} who painted picture{i} there" for i in range(5)])
    assert len(found.pairs) == 0
    assert found.n_template_only > 0


def test_the_same_instruction_and_nearly_the_same_question_is_for_review() -> None:
    capitals = ("France", "Peru", "Kenya", "Laos", "Chad", "Oman", "Fiji", "Mali")
    parts = [f"{INSTRUCTION} what is the capital of {name}" for name in capitals]
    rows = [f"{INSTRUCTION} what is the capital of {name}" for name in ("Mongolia", "Peru")]
    found = verified(parts, rows).pairs
    assert set(found.filter(pl.col("unit") == 0)["verdict"]) <= {"review"}
    assert found.filter(pl.col("verdict") == "contaminated").select("unit", "text").rows() == [(1, 1)]


def test_the_same_instruction_and_question_is_a_leak() -> None:
    parts = [f"{INSTRUCTION} {question}" for question in QUESTIONS]
    found = verified(parts, [f"{INSTRUCTION} {QUESTIONS[3]} please", f"{INSTRUCTION} {QUESTIONS[4]}"]).pairs
    assert found.select("unit", "text").rows() == [(0, 3), (1, 4)]


@pytest.mark.parametrize(
    ("rules", "is_dropped"),
    [
        ({}, True),
        ({"payload": 0.4}, False),  # the row holds two of the five words that are the item's own
        ({"payload": 0.41}, True),
        ({"min_texts": 7}, False),
        ({"min_texts": 6}, True),
        ({"gram": 26}, False),
        ({"share": 0.2}, False),
        ({"share": 0.19}, True),
    ],
)
def test_template_rules_decide_what_is_dropped(rules: dict[str, float], is_dropped: bool) -> None:
    words = " ".join(f"say{i}" for i in range(25))
    parts = [f"{words} a{i} b{i} c{i} d{i} e{i}" for i in range(6)]
    parts += [f"unrelated{i} thing{i} number{i} of{i} its{i} own{i}" for i in range(25)]  # 6 of 31 share the words
    found = verified(parts, [f"{words} a0 b0 x y z"], lexical.rules_with(templates=rules))
    assert (0 not in found.pairs["text"].to_list()) is is_dropped
    assert (found.n_template_only == 6) is is_dropped


def test_an_item_of_nothing_but_a_template_is_still_an_item() -> None:
    words = " ".join(f"say{i}" for i in range(12))
    found = verified([words, *(f"{words} more{i} words{i}" for i in range(30))], [f"so {words} now"]).pairs
    assert found.filter(text=0).select("tier", "verdict").rows() == [("contained", "contaminated")]


# ---------------------------------------------------------------- frames


@pytest.mark.parametrize("rows", [[], [""], ["!!!", ""]])
@pytest.mark.parametrize("parts", [["!!!"], ["cat"], [ITEM]])
def test_nothing_to_find_is_an_empty_frame(parts: list[str], rows: list[str]) -> None:
    found = verified(parts, rows)
    assert found.pairs.schema == VERIFIED
    assert len(found.pairs) == found.n_template_only == 0


def test_ten_equal_rows_are_ten_matches() -> None:
    found = verified([ITEM], [ITEM] * 10).pairs
    assert found["unit"].to_list() == list(range(10))
    assert found["row_sequence"].n_unique() == 1


def test_equal_rows_that_share_a_template_only_are_all_counted() -> None:
    parts = [f"{INSTRUCTION} {question}" for question in QUESTIONS]
    row = f"{INSTRUCTION} who painted picture there"
    one, three = verified(parts, [row]), verified(parts, [row, row.upper(), f"{row}!"])
    assert three.n_template_only == 3 * one.n_template_only > 0


def test_equal_rows_are_placed_each_in_its_own_text() -> None:
    rows = [f"{NOISE}. {ITEM}", f"  {NOISE}: -- {ITEM}".upper()]
    found = verified([ITEM], rows).pairs
    assert [canonical(rows[unit][a:b]) for unit, a, b in found.select("unit", "row_start", "row_end").rows()] == [
        canonical(ITEM)
    ] * 2
    assert found["row_start"].n_unique() == 2


def test_a_row_is_decided_only_for_items_proposed_for_it() -> None:
    rows, items = lexical.rows_of([ITEM, ITEM]), lexical.items_of([ITEM])
    proposed = lexical.candidates_of(items, rows).filter(pl.col("unit") == 1)
    found = verify(proposed, rows.texts, rows.tokens, prepare(items, default_rules()), lexical.LEXICAL)
    assert found.pairs["unit"].to_list() == [1]


def test_threads_that_share_the_items_find_the_same() -> None:
    items = lexical.items_of([ITEM, *(f"{INSTRUCTION} {question}" for question in QUESTIONS)])
    rows = lexical.rows_of([f"{NOISE} {ITEM}", ITEM, f"{INSTRUCTION} {QUESTIONS[3]} please", "été 日本 " + ITEM] * 5)
    proposed, expected = lexical.candidates_of(items, rows), verified_once(items, rows)
    prepared = prepare(items, default_rules())
    with ThreadPoolExecutor(4) as threads:
        found = list(
            threads.map(lambda _: verify(proposed, rows.texts, rows.tokens, prepared, lexical.LEXICAL).pairs, range(16))
        )
    assert all(one.equals(expected) for one in found)


def verified_once(items: ItemTexts, rows: Rows) -> pl.DataFrame:
    proposed = lexical.candidates_of(items, rows)
    return verify(proposed, rows.texts, rows.tokens, prepare(items, default_rules()), lexical.LEXICAL).pairs


def test_a_row_goes_only_for_its_own_match() -> None:
    """A is like B and B like C, but A is unlike C."""
    a = "one two three four five six seven eight nine ten eleven twelve"
    b = "one two three four five six seven eight nine ten eleven thirteen"
    c = "other words three four five six seven eight nine place elsewhere thirteen"
    found = verified([a], [b, c]).pairs
    assert found["unit"].to_list() == [0]


rows_lists = st.lists(
    st.one_of(st.just(ITEM), sentences.map(" ".join), st.sampled_from([f"{NOISE} {ITEM}", ITEM[:44], NOISE])),
    max_size=8,
)


@settings(max_examples=30)
@given(rows_lists, st.randoms(use_true_random=False))
def test_permuting_rows_and_adding_clean_ones_changes_no_match(rows: list[str], random: object) -> None:
    parts = [ITEM, "please list ten ways to boil eggs without rope", "how do i make a strong knot"]
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    columns = ["text", *(name for name in VERIFIED if name not in ("unit", "text"))]
    plain = verified(parts, rows).pairs
    shuffled = verified(parts, [*(rows[i] for i in order), "entirely clean", "row of its own"]).pairs
    back = sorted((order[unit], *rest) for unit, *rest in shuffled.select("unit", *columns).rows())
    assert back == sorted(plain.select("unit", *columns).rows())
    for i, row in enumerate(rows):
        alone = verified(parts, [row]).pairs.select(columns).rows()
        assert alone == plain.filter(unit=i).select(columns).rows()


@settings(max_examples=30)
@given(st.lists(texts, min_size=1, max_size=8))
def test_a_benchmark_against_itself_is_found_whole(parts: list[str]) -> None:
    items = lexical.items_of(parts)
    found = verified(parts, parts).pairs
    exact = {(unit, text) for unit, text, tier in found.select("unit", "text", "tier").iter_rows() if tier == "exact"}
    assert exact == {(i, text) for i, text in items.parts.select("part_index", "text_index").iter_rows()}


def test_a_cut_copy_whose_numbers_were_cut_off_with_it_is_condemned() -> None:
    item = "Tom gives each of his friends two apples and a pear and then he walks home with 48 left"
    row = "Tom gives each of his friends two apples and a pear and then he walks home"
    match = only(verified([item], [row]))
    assert (match["rule"], match["verdict"], match["numbers_differ"]) == (
        "contained.part_tokens",
        "contaminated",
        False,
    )


def test_one_word_beside_an_instruction_is_no_part_of_the_item() -> None:
    parts = [f"{INSTRUCTION} {question}" for question in QUESTIONS]
    found = verified(parts, [f"{INSTRUCTION} {QUESTIONS[3].split()[0]}"])
    assert len(found.pairs) == 0
    assert found.n_template_only > 0


# ---------------------------------------------------------------- settled by tokens alone

settled_parts = st.lists(
    st.one_of(
        sentences.map(" ".join), texts, st.just(ITEM), st.sampled_from(QUESTIONS).map(f"{INSTRUCTION} {{}}".format)
    ),
    min_size=1,
    max_size=4,
)
some_tiers = st.sets(st.sampled_from(["exact", "contained", "near"]), min_size=1).map(frozenset)


@settings(max_examples=60)
@given(settled_parts, st.lists(texts, max_size=2), some_tiers, st.booleans())
def test_what_tokens_settle_is_what_all_scores_decide(
    parts: list[str], noise: list[str], tiers: frozenset[str], condemns: bool
) -> None:
    rows = [*parts, *(f"{before} {part} {part}" for part in parts for before in noise), *noise]
    rules = lexical.rules_with(exact={"condemns": condemns})
    found = verified(parts, rows, rules, tiers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matches, "are_settled", lambda windows, tiers: np.zeros(len(windows), np.bool_))
        expected = verified(parts, rows, rules, tiers)
    assert found.pairs.equals(expected.pairs)
    assert found.n_template_only == expected.n_template_only
