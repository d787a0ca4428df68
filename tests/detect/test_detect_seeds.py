"""The seed scan equals a search that tries every seed, row and window."""

from __future__ import annotations

from fractions import Fraction

import lexical
import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import token_lists

from auditkit.detect.seeds import SeedDetector, SeedIndex
from auditkit.text.items import ItemTexts

#: The same eight tokens as words, and as characters of a script without spaces.
KANA = dict(zip("abcdefgh", "あいうえおかきく", strict=True))


def texts_of(items: ItemTexts) -> list[list[str]]:
    return [items.tokens.words(i) for i in range(len(items))]


def shortest_seeds(items: ItemTexts) -> list[int]:
    shapes = zip(items.tokens.lengths, items.are_unspaced, strict=True)
    return [1 if n < 6 else 3 if unspaced else 2 for n, unspaced in shapes]


def seeded_texts(index: SeedIndex) -> set[int]:
    """Return the texts that have a seed: a posting is text << 32 less a position."""
    return {-(-posting >> 32) for posting in index.arrays.postings.tolist()}


def scanned(index: SeedIndex, rows: list[str]) -> list[tuple[int, ...]]:
    return sorted(index.scan(lexical.rows_of(rows)).select("unit", "text", "first", "last").rows())


lists = st.lists(token_lists, max_size=12)


@settings(max_examples=150)
@given(
    lists,
    st.lists(token_lists, max_size=5),
    st.sampled_from([1, 2, 3, 32]),
    st.sampled_from([3, 8]),
    st.sampled_from(["1", "0.6", "0.3"]),
    st.integers(1, 10),
    st.booleans(),
)
@example([list("abcd"), *([*"abcd", x] for x in "efgh")], [list("habcdh")], 2, 8, "1", 1, False)
@example([[*"abcdefgh"], [*"abxc"], [*"ghab"]], [[*"abcdefgh"]], 3, 8, "0.3", 1, False)
def test_the_scan_equals_trying_everything(
    item_words: list[list[str]],
    row_words: list[list[str]],
    max_texts: int,
    max_gram: int,
    kept: str,
    min_kept: int,
    is_unspaced: bool,
) -> None:
    if is_unspaced:
        item_words, row_words = ([[KANA[w] for w in words] for words in many] for many in (item_words, row_words))
    items = lexical.items_of([" ".join(words) for words in item_words])
    detector = SeedDetector(max_texts=max_texts, max_gram=max_gram, kept=float(kept), min_kept=min_kept)
    seeds = oracles.seeds(texts_of(items), shortest_seeds(items), max_texts, max_gram, Fraction(kept), min_kept)
    expected = [found[:4] for found in oracles.scan(row_words, texts_of(items), seeds)]
    index = detector.index(items)
    assert scanned(index, [" ".join(words) for words in row_words]) == sorted(expected)
    assert len(index.arrays.postings) == sum(len(places) for places in seeds)
    assert seeded_texts(index) == {t for t, words in enumerate(texts_of(items)) if len(words) >= 4}


def test_an_item_that_begins_many_others_has_a_seed() -> None:
    items = lexical.items_of(["how do i cook", *(f"how do i cook thing{i}" for i in range(40))])
    index = SeedDetector().index(items)
    assert seeded_texts(index) == set(range(41))
    assert 0 in {text for _, text, _, _ in scanned(index, ["well how do i cook"])}


@given(st.lists(token_lists, min_size=1, max_size=40), st.data())
def test_a_row_that_holds_an_item_proposes_it(item_words: list[list[str]], data: st.DataObject) -> None:
    items = lexical.items_of([" ".join(words) for words in item_words])
    texts = [(i, words) for i, words in enumerate(texts_of(items)) if len(words) >= 4]
    if not texts:
        return
    text, words = data.draw(st.sampled_from(texts))
    before, after = data.draw(token_lists), data.draw(token_lists)
    rows = [" ".join([*before, *words, *after])]
    windows = [(a, b) for _, t, a, b in scanned(SeedDetector(max_texts=2).index(items), rows) if t == text]
    at = len(before)
    assert any(a <= at and at + len(words) <= b for a, b in windows)


@given(st.integers(5, 30), st.data())
def test_a_row_with_tokens_replaced_proposes_the_item(n: int, data: st.DataObject) -> None:
    items = lexical.items_of([" ".join(f"w{data.draw(st.integers(0, 60))}" for _ in range(n)) for _ in range(5)])
    text = data.draw(st.integers(0, len(items) - 1))
    words = texts_of(items)[text]
    places = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=1 if n < 6 else 2, unique=True))
    row = ["other" if i in places else word for i, word in enumerate(words)]
    rows = [" ".join(["noise"] * data.draw(st.integers(0, 9)) + row)]
    assert text in {t for _, t, _, _ in scanned(SeedDetector().index(items), rows)}


@given(lists, st.lists(token_lists, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(
    items_words: list[list[str]], row_words: list[list[str]], random: object
) -> None:
    index = SeedDetector(max_texts=3).index(lexical.items_of([" ".join(words) for words in items_words]))
    rows = [" ".join(words) for words in row_words]
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = scanned(index, [rows[i] for i in order])
    assert sorted((order[unit], *rest) for unit, *rest in shuffled) == scanned(index, rows)


def test_rows_with_thousands_of_hits_lose_none() -> None:
    item = "alpha beta gamma delta epsilon zeta"
    items, gap = lexical.items_of([item]), " ".join(["noise"] * 20)
    n = 700  # 3,500 hits: the scratch array of 1,024 grows twice, that of 256 candidates too
    found = scanned(SeedDetector().index(items), [gap.join(f" {item} " for _ in range(n))])
    assert [(unit, text) for unit, text, _, _ in found] == [(0, 0)] * n
    assert [first for _, _, first, _ in found] == [max(0, 26 * i - 4) for i in range(n)]


def test_an_item_of_ten_tokens_in_a_row_of_five_thousand() -> None:
    item = "please explain how the old clock tower was built here"
    items = lexical.items_of([item])
    words = [f"w{i}" for i in range(5000)]
    rows = [" ".join([*words[:2500], *item.split(), *words[2500:]])]
    assert scanned(SeedDetector().index(items), rows) == [(0, 0, 2496, 2514)]


@pytest.mark.parametrize("rows", [[], [""], ["", "!!!"], ["one"]])
@pytest.mark.parametrize("parts", [["!!!"], ["one two"], ["one two three four"]])
def test_nothing_to_find_is_an_empty_frame(parts: list[str], rows: list[str]) -> None:
    assert scanned(SeedDetector().index(lexical.items_of(parts)), rows) == []


def test_of_a_long_item_the_rarest_seeds_are_kept() -> None:
    long = [f"w{i}" for i in range(30)]
    # "w0 w1 w2 w3" stands in another item too: its three seeds are the commonest of 29, of which 18 are kept.
    items = lexical.items_of([" ".join(long), "w0 w1 w2 w3 and more"])
    index = SeedDetector().index(items)
    of_first = [posting for posting in index.arrays.postings.tolist() if -(-posting >> 32) == 0]
    assert len(of_first) == 18
    assert not {-posting for posting in of_first} & {0, 1, 2}


def test_items_under_four_tokens_are_left_to_equality() -> None:
    items = lexical.items_of(["one two three", "one two three four"])
    assert scanned(SeedDetector().index(items), ["one two three", "zero one two three four"]) == [
        (0, 1, 0, 3),
        (1, 1, 0, 5),
    ]


def test_the_report_names_settings_and_size() -> None:
    described = SeedDetector(max_texts=5).index(lexical.items_of(["a b c d"])).describe()
    assert described == {
        "max_texts_per_seed": 5,
        "max_gram": 8,
        "min_tokens": 4,
        "kept_share_of_seeds": 0.6,
        "min_kept_seeds": 10,
        "n_seeds": 4,
        "n_grams": 4,
    }
