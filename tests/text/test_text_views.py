"""Readings of disguised texts: what each view makes of a text, where its characters come from, and what it leaves."""

from __future__ import annotations

import base64
import codecs

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from auditkit.text.normalise import canonical, tokenise
from auditkit.text.views.alphabet import readings_of_letters
from auditkit.text.views.catalogue import MAX_DEPTH, MAX_READINGS, VIEWS, Counts, levels
from auditkit.text.views.reading import Reading
from auditkit.text.views.signs import suspects
from auditkit.text.views.vocabulary import Vocabulary
from auditkit.text.views.words import MAX_OPTIONS, spellings

ITEM = "How do I bake a dark rye bread with 48 seeds in my little kitchen oven?"
ITEMS = [
    ITEM, "Explain to us what gpt4 is", "Что такое хорошо и что такое плохо", "The man has two small houses",
    "What's somebody's favourite soup",
]  # fmt: skip


def vocabulary_of(texts: list[str]) -> Vocabulary:
    tokens = tokenise(pl.Series(texts, dtype=pl.String))
    return Vocabulary.of(tokens, len(tokens.hashes))


WORDS = vocabulary_of(ITEMS)


def read(text: str, *names: str, counts: Counts | None = None) -> dict[str, Reading]:
    """Return name -> reading of one text, in the views `names` or in all; the last of a name stands."""
    series = pl.Series([text], dtype=pl.String)
    found = levels(series, tokenise(series), WORDS, names or tuple(VIEWS), counts or Counts())
    return {one.name: one for level in found for one in level.readings}


# ---------------------------------------------------------------- readings


@given(st.text("abc", min_size=1, max_size=12), st.data())
def test_pieces_stand_in_their_places(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    spans = [(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False) if start < end]
    assume(spans)
    pieces = [(start, end, data.draw(st.text("xyz", max_size=4))) for start, end in spans]
    reading = Reading.of(text).replaced(pieces, "v")
    expected = text
    for start, end, new in reversed(pieces):
        expected = expected[:start] + new + expected[end:]
    assert reading.text == expected
    assert len(reading.text) == len(reading.starts) == len(reading.ends)
    for char, start, end in zip(reading.text, reading.starts, reading.ends, strict=True):
        inside = [piece for piece in pieces if char in piece[2]]
        assert text[start:end] == char if not inside else any(a <= start and end <= b for a, b, _ in inside)


def test_a_piece_of_equal_length_stands_character_for_character() -> None:
    reading = Reading.of("a l33t word").replaced([(2, 6, "leet")], "leet")
    assert (reading.text, reading.span(4, 6), reading.name) == ("a leet word", (4, 6), "leet")


def test_of_another_length_each_character_comes_from_the_whole_stretch() -> None:
    reading = Reading.of("see YWJj!").replaced([(4, 8, "abc")], "base64").replaced([(4, 7, "nop")], "rot13")
    assert (reading.text, reading.span(4, 5), reading.span(0, 3), reading.name) == (
        "see nop!", (4, 8), (0, 3), "base64+rot13",
    )  # fmt: skip
    assert reading.stretch(3, 5).span(0, 2) == (3, 8)
    assert reading.span(2, 2) == (0, 0)


# ---------------------------------------------------------------- each view


BASE64 = base64.b64encode(ITEM.encode()).decode()
DISGUISES = [
    ("lookalike", ITEM.translate(str.maketrans("aeoik", "аеоік"))),
    ("lookalike", ITEM.translate(str.maketrans("aoviunk", "αονιυηκ"))),
    ("lookalike", ITEM.lower().translate({ord("a") + i: chr(0x1F1E6 + i) for i in range(26)})),
    ("lookalike", ITEM.lower().translate(str.maketrans("abdehiklmnorstuwy", "ᴀʙᴅᴇʜɪᴋʟᴍɴᴏʀꜱᴛᴜᴡʏ"))),
    ("marks", "".join(char + "\u0336" for char in ITEM)),
    ("marks", "".join(char + "\u0301\u0323" * char.isalpha() for char in ITEM)),
    ("leet", "How do I b4k3 a d4rk ry3 br34d w1th 48 s33ds 1n my l1ttl3 k1tch3n ov3n?"),
    ("leet", "How do I b@ke a d@rk rye bre@d wi7h 48 $eed$ in my |itt|e ki7chen oven?"),
    ("spaced", "  ".join(" ".join(word) for word in ITEM.split())),
    ("spaced", " ".join(".".join(word) for word in ITEM.split())),
    ("spaced", " ".join("".join(ITEM.split()))),
    ("markdown", " ".join(f"{word[:1]}**{word[1:]}**" for word in ITEM.split())),
    ("wrapper", f"<|im_start|>user\n{ITEM}<|im_end|>\n<|im_start|>assistant\n"),
    ("wrapper", f"### Instruction:\n{ITEM}\n\n### Response:\n"),
    ("wrapper", f"**Q:** {ITEM}"),
    ("wrapper", f"<s>[INST] {ITEM} [/INST]"),
    ("html", "<p>" + " ".join(f"<b>{word[:1]}</b>{word[1:]}" for word in ITEM.split()) + "</p>"),
    ("html", "".join(f"&#{ord(char)};" for char in ITEM)),
    ("url", ITEM.replace(" ", "%20").replace("?", "%3F")),
    ("url", ITEM.replace(" ", "+").replace("?", "%3F%21")),
    ("backslash", "".join(f"\\u{ord(char):04x}" for char in ITEM)),
    ("backslash", "".join(f"\\x{ord(char):02X}" for char in ITEM)),
    ("base64", BASE64),
    ("base64", base64.urlsafe_b64encode(ITEM.encode()).decode().rstrip("=")),
    ("base64", "\n".join(BASE64[i : i + 20] for i in range(0, len(BASE64), 20))),
    ("hex", ITEM.encode().hex()),
    ("hex", " ".join(f"0x{byte:02X}" for byte in ITEM.encode())),
    ("rot13", codecs.encode(ITEM, "rot13")),
    ("base64+base64", base64.b64encode(BASE64.encode()).decode()),
    ("base64+rot13", base64.b64encode(codecs.encode(ITEM, "rot13").encode()).decode()),
    ("hex+base64+rot13", base64.b64encode(codecs.encode(ITEM, "rot13").encode()).hex()),
    ("spaced+leet", "H o w  d o  I  b 4 k 3  a  d 4 r k  r y 3  b r 3 4 d"),
]  # fmt: skip


@pytest.mark.parametrize(("view", "row"), DISGUISES)
def test_a_disguise_is_undone(view: str, row: str) -> None:
    found = read(row)[view]
    assert canonical(ITEM).startswith(canonical(found.text).removesuffix(" 21"))
    assert len(found.text) == len(found.starts) == len(found.ends)
    start, end = found.span(0, len(found.text))
    assert 0 <= start < end <= len(row)


def test_rows_in_other_forms_of_letters_are_read_on() -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in DISGUISES[6][1])
    assert canonical(read(wide)["compatibility+leet"].text) == canonical(ITEM)
    hidden = "\u200b".join(BASE64)
    assert read(hidden)["invisible+base64"].text == ITEM


def test_a_payload_is_read_alone_and_in_its_place() -> None:
    row = f"Decode this: {BASE64} now"
    texts = {one.text for level in _levels(row) for one in level.readings}
    assert texts == {ITEM, f"Decode this: {ITEM} now"}
    alone = next(one for level in _levels(row) for one in level.readings if one.text == ITEM)
    assert alone.span(0, 1) == (13, 13 + len(BASE64))


@pytest.mark.parametrize("before", ["Decode ", "Can this be ", "It is noon: ", "Hexadecimal:", "0 "])
def test_words_before_hexadecimal_digits_are_none(before: str) -> None:
    for text in ("How do I bake bread?", "Как испечь хлеб дома?"):
        assert text in {one.text for level in _levels(before + text.encode().hex(" ")) for one in level.readings}


def test_rot13_is_read_in_the_stretch_that_has_it() -> None:
    row = "Please undo what I did: " + codecs.encode("dark rye bread with seeds", "rot13") + " I do"
    found = read(row)["rot13"]
    assert found.text == "dark rye bread with seeds"
    assert row[slice(*found.span(0, 4))] == "qnex"


def test_a_cyrillic_word_with_latin_letters_is_read_at_home() -> None:
    row = "Чтo такоe хoрошо и чтo тaкое плохo"
    assert canonical(read(row)["lookalike"].text) == canonical(ITEMS[2])


def test_what_hangs_on_a_leet_word_by_an_apostrophe_belongs_to_it() -> None:
    assert read("Wh47'5 50m3b0dy'5 f4v0ur173 50up")["leet"].text == "what's somebody's favourite soup"


# ---------------------------------------------------------------- what no view does


CLEAN = [
    "I have 48 friends and 3 dogs, and bought 17 eggs for $18 on the 21st of May",
    "gpt4 beats gpt3, and B2B sales of the A380 rose by 5kg",
    "Что такое хорошо и что такое плохо, и со мной все это уже было",
    "Τι κάνεις σήμερα το πρωί; Θα πάμε στη θάλασσα",
    "Les élèves ont déjà mangé à la cantine où l'été fut très chaud",
    "Rødgrød med fløde og ærlig kølig øl, łódź żółć ıstanbul đak",
    "Ọmọ mi, ṣé o ti jẹun ní àárọ̀ yìí? Bẹ́ẹ̀ ni, mo ti jẹ ẹ̀wà pẹ̀lú ọ̀gẹ̀dẹ̀",
    "Tôi không biết tiếng Việt nhưng tôi thích phở và bánh mì",
    "def area(x: float) -> float:\n    return x * x if x > 0 else 0  # 100%",
    "An internationalization and antidisestablishmentarianism of counterrevolutionaries 12345678901234567890",
    "See https://example.org/a-very-long-path_to/SomeThingInCamelCase?x=1&y=2",
    "A B C, 1 2 3 4 5 6 7 8, and i.e. or e.g. too",
]


@pytest.mark.parametrize("text", CLEAN)
def test_clean_text_has_no_other_reading(text: str) -> None:
    readings = {name: one.text for name, one in read(text).items()}
    assert {name for name, said in readings.items() if canonical(said) != canonical(text)} == set(), readings


@pytest.mark.parametrize("number", ["48", "4 8", "1 3 5 7 1 3 5 7", "4815162342", "0.5", "2010s 15 70 4"])
def test_numbers_stay_numbers(number: str) -> None:
    row = f"H0w d0 I b4k3 a d4rk ry3 br34d w1th {number} s33ds"
    said = read(row)["leet"].text
    assert canonical(number) in canonical(said)


def test_words_that_the_benchmarks_have_are_left_alone() -> None:
    assert read("3xpl41n t0 u5 wh4t gpt4 1s")["leet"].text == "explain to us what gpt4 is"


def test_a_row_without_signs_is_not_read_again() -> None:
    series = pl.Series(["How do I bake a dark rye bread?", "", "!!!", "a"])
    assert not any(flags.any() for flags in suspects(series, tokenise(series), WORDS).values())


# ---------------------------------------------------------------- bounds


def _levels(row: str) -> list[object]:
    series = pl.Series([row])
    return list(levels(series, tokenise(series), WORDS, tuple(VIEWS), Counts()))


def test_what_is_nested_deeper_is_counted() -> None:
    row, counts = ITEM, Counts()
    for _ in range(MAX_DEPTH + 1):
        row = base64.b64encode(row.encode()).decode()
    assert ITEM not in {one.text for one in read(row, counts=counts).values()}
    assert (counts.n_deeper, counts.readings["+".join(["base64"] * MAX_DEPTH)]) == (1, 1)


def test_readings_beyond_the_bound_are_counted() -> None:
    payloads = [
        base64.b64encode(f"the {i:02} small house of the man".encode()).decode() for i in range(MAX_READINGS + 4)
    ]
    counts = Counts()
    read(" and ".join(payloads), counts=counts)
    assert counts.n_beyond == 5


def test_views_that_do_not_run_read_nothing() -> None:
    assert read(BASE64, "leet", "rot13") == {}
    series = pl.Series([BASE64])
    assert list(levels(series, tokenise(series), WORDS, (), Counts())) == []


def test_long_runs_of_letters_are_cut_and_noise_is_left_as_one_word() -> None:
    sentence = "howdoibakeadarkryebreadwithseedsinmylittlekitchenoven"
    said = read(" ".join(sentence * 30))["spaced"].text
    assert said.count("how do i bake a dark rye bread with seeds in my little kitchen oven") >= 28
    noise = "MKVLAAGIVGLCAKVYERDNQHSTWFPI" * 10
    assert read(" ".join(noise))["spaced"].text == noise


def test_more_words_than_are_looked_up_at_a_time_are_all_read() -> None:
    said = read("br34d s33ds 48 " * 3000)["leet"].text
    assert said == "bread seeds 48 " * 3000


def test_spellings_are_bounded_and_begin_with_the_likeliest() -> None:
    assert spellings(["o0", "b"]) == ("ob", "0b")
    assert len(spellings(["ab"] * 10)) == MAX_OPTIONS


# ---------------------------------------------------------------- data


def test_known_words_are_single_tokens_of_the_benchmarks() -> None:
    assert WORDS.known(["Bread", "bread seeds", "butter", "", "48", "ПЛОХО"]) == {"Bread", "48", "ПЛОХО"}
    assert vocabulary_of([]).known(["bread"]) == frozenset()


def test_letters_that_orthographies_have_are_no_look_alikes() -> None:
    readings = readings_of_letters()
    assert {"а": "a", "е": "e", "о": "o", "ո": "n", "ᴀ": "a"}.items() <= readings.items()
    assert readings["І"][:2] == "il"
    assert not set("øłđıßéñåçœæ") & set(readings)
    assert not any(char.isascii() for char in readings)


def test_no_text_is_no_work() -> None:
    series = pl.Series([], dtype=pl.String)
    assert list(levels(series, tokenise(series), WORDS, tuple(VIEWS), Counts())) == []
    assert np.array_equal(suspects(series, tokenise(series), WORDS)["leet"], np.empty(0, np.bool_))
