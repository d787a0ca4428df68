"""Whole audits of disguised rows: found, the view named, the place given; and clean rows left alone."""

from __future__ import annotations

import base64
import codecs
from pathlib import Path

import polars as pl
import pytest
from audit_support import comparable, condemned, jsonl, matches

import auditkit
from auditkit.errors import UsageError
from auditkit.text.views.catalogue import MAX_DEPTH, NAMES

ITEMS = [
    "How do I teach a parrot to whistle the tune of an old sea shanty?",
    "Write a friendly reminder for 48 friends about the picnic at the lake",
    "Write a friendly reminder for 52 friends about the picnic at the lake",
    "Which tools do I need to restore a wooden rowing boat from 1952?",
]
PARROT = ITEMS[0]


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


LEET = PARROT.translate(str.maketrans("aeiost", "431057"))
ROWS = {
    "lookalike": PARROT.translate(str.maketrans("aeopcyx", "аеорсух")),
    "marks": "".join(char + "\u0336" for char in PARROT),
    "leet": LEET,
    "spaced": "  ".join(" ".join(word) for word in PARROT.split()),
    "base64": "Decode this and answer: " + b64(PARROT),
    "hex": PARROT.encode().hex(" "),
    "rot13": "Apply rot13 first. " + codecs.encode(PARROT, "rot13"),
    "url": PARROT.replace(" ", "%20"),
    "html": "".join(f"&#{ord(char)};" for char in PARROT),
    "backslash": "".join(f"\\u{ord(char):04x}" for char in PARROT),
    "markdown": " ".join(f"{word[:1]}**{word[1:]}**" for word in PARROT.split()),
    "base64+rot13": b64(codecs.encode(PARROT, "rot13")),
}


def audit(rows: list[str], items: list[str], *views: str) -> auditkit.AuditReport:
    settings = auditkit.AuditSettings(views=views or ("default",))
    return auditkit.audit(pl.DataFrame({"text": rows}), {"bench": items}, settings)


@pytest.mark.parametrize("view", ROWS)
def test_a_disguised_item_is_condemned_and_its_view_named(view: str) -> None:
    report = audit([ROWS[view]], ITEMS)
    assert condemned(report) == {(0, 0)}
    assert report.matches["view"].to_list() == [view]
    assert report.detectors["views"]["n_matches"] == {view: 1}
    start, end = report.matches.select("row_start", "row_end").row(0)
    assert 0 <= start < end <= len(ROWS[view])
    assert end - start >= len(PARROT) - 1


@pytest.mark.parametrize("view", ROWS)
def test_without_the_view_it_is_not(view: str) -> None:
    assert condemned(audit([ROWS[view]], ITEMS, "none")) == set()
    others = [name for name in NAMES if name not in view.split("+")]
    assert condemned(audit([ROWS[view]], ITEMS, *others)) == set()
    assert condemned(audit([ROWS[view]], ITEMS, *view.split("+"))) == {(0, 0)}


def test_an_encoded_payload_is_the_place() -> None:
    row = ROWS["base64"]
    assert audit([row], ITEMS).matches.select("row_start", "row_end").row(0) == (24, len(row))


@pytest.mark.parametrize("disguise", ["lookalike", "leet", "spaced", "base64", "rot13", "hex"])
def test_numbers_stay_numbers(disguise: str) -> None:
    forty_eight = ITEMS[1]
    row = {
        "lookalike": forty_eight.translate(str.maketrans("aeopcyx", "аеорсух")),
        "leet": forty_eight.translate(str.maketrans("aeiost", "431057")),
        "spaced": "  ".join(" ".join(word) for word in forty_eight.split()),
        "base64": b64(forty_eight),
        "rot13": codecs.encode(forty_eight, "rot13"),
        "hex": forty_eight.encode().hex(),
    }[disguise]
    assert condemned(audit([row], ITEMS)) == {(0, 1)}
    assert condemned(audit([row], [ITEMS[2]])) == set()


@pytest.mark.parametrize(
    ("row", "item"),
    [
        ("I have 48 friends", "I have 52 friends"),
        ("I have 4 cats and 1 dog", "I have a cats and i dog"),
        ("Buy A1 and B2 for 5 dollars", "Buy AI and BZ for s dollars"),
        ("We ate at the café after the résumé talk", "We ate at the cafe after the resume talk"),
        ("Со мной все это уже было давно", "Co mnoi vse eto uje bylo davno"),
        ("Is x > 3 & y < 5 in the first case?", "Is x 3 y 5 in the first case or not?"),
        ("uryyb is no word of the english tongue", "hello is no word of the english tongue"),
    ],
)
def test_a_view_makes_no_two_clean_texts_equal(row: str, item: str) -> None:
    plain, viewed = audit([row], [item], "none"), audit([row], [item])
    assert matches(plain) == matches(viewed)


def test_rows_that_hold_a_wrapper_only_are_not_condemned() -> None:
    wrappers = [
        "### Instruction:\n{}\n\n### Response:\n",
        "<|im_start|>user\n{}<|im_end|>",
        "[INST] {} [/INST]",
        "Q: {}",
    ]
    soup = "What is a good soup for a rainy day, and how many onions does it need?"
    rows = [frame.format(text) for frame in wrappers for text in ("", soup)]
    assert condemned(audit(rows, [*ITEMS, *(frame.format(ITEMS[3]) for frame in wrappers)])) == set()


def test_a_short_item_in_a_wrapper_is_exact() -> None:
    frames = ["### Instruction:\n{}\n\n### Response:\n", "<|im_start|>user\n{}<|im_end|>\n", "User: {}\nAssistant:"]
    report = audit([frame.format("Bake rye bread!") for frame in frames], ["bake rye bread"])
    assert report.matches.select("row", "tier", "verdict", "view").rows() == [
        (row, "exact", "contaminated", "wrapper") for row in range(3)
    ]


def test_what_the_text_itself_shows_keeps_its_view() -> None:
    report = audit([f"{PARROT} {b64(PARROT)}"], ITEMS)
    assert report.matches.select("verdict", "view").rows() == [("contaminated", "canonical")]


def test_an_item_of_the_benchmark_is_found_as_it_stands_whatever_it_looks_like() -> None:
    odd = [ROWS[view] for view in ("base64", "leet", "rot13", "hex", "lookalike")]
    report = audit(odd, odd)
    assert {(i, i) for i in range(len(odd))} <= condemned(report)


def test_matches_do_not_depend_on_shards(tmp_path: Path) -> None:
    rows = [*ROWS.values(), PARROT, "Nothing of it"] * 3
    path = jsonl(tmp_path / "pool.jsonl", rows)
    found = [
        comparable(
            auditkit.audit(path, {"bench": ITEMS}, auditkit.AuditSettings(read=auditkit.ReadSettings(shard_bytes=n)))
        )
        for n in (64, 999, 1 << 24)
    ]
    assert len(found[0]) == 3 * (len(ROWS) + 1)
    assert found[0] == found[1] == found[2]


def test_what_is_nested_too_deep_is_counted() -> None:
    row = PARROT
    for _ in range(MAX_DEPTH + 1):
        row = b64(row)
    report = audit([row], ITEMS)
    assert condemned(report) == set()
    assert report.not_examined == {f"reading of a row nested deeper than {MAX_DEPTH} views": 1}


def test_the_report_says_which_views_ran() -> None:
    assert audit(["x"], ITEMS).detectors["views"]["ran"] == ", ".join(NAMES)
    assert audit(["x"], ITEMS, "leet", "lookalike").detectors["views"]["ran"] == "lookalike, leet"
    assert audit(["x"], ITEMS, "none").detectors["views"] == {"ran": "none"}
    assert audit(["x"], ITEMS, "none").changed["views"] == ["none"]


@pytest.mark.parametrize("views", [("rot14",), (), ("default", "leet")])
def test_unknown_views_are_one_line(views: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"view.*views are lookalike, marks, leet, .*, or default or none alone"):
        auditkit.AuditSettings(views=views)


def test_a_disguised_row_is_removed_and_a_second_audit_finds_nothing(tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", [*ROWS.values(), "A clean row about nothing at all"])
    bench = jsonl(tmp_path / "bench.jsonl", ITEMS)
    report = auditkit.audit(pool, bench, out=tmp_path / "audit")
    split = auditkit.decontaminate(report, tmp_path / "clean")
    assert (split.n_removed, split.n_kept) == (len(ROWS), 1)
    assert condemned(auditkit.audit(tmp_path / "clean" / "pool.jsonl", bench)) == set()


PROGRAM = """def count_vowels(sentence):
    '''Count the vowels of a sentence.'''
    total = 0
    for letter in sentence.lower():
        if letter in "aeiou":
            total += 1
    return total
"""


def test_a_program_is_found_after_comments_names_and_formatting_changed() -> None:
    code = "def n_open(text):\n  t=0 # none yet\n  for c in text.lower():\n    if (c in 'aeiou'): t+=1\n  return t\n"
    row = f"Sure!\n\n{code}"
    report = audit([row, "def f(x):\n    return x\n"], [PROGRAM, "def g(y):\n    return y\n"])
    match = report.matches.filter(pl.col("view") == "program").row(0, named=True)
    assert (match["row"], match["item"], match["verdict"], match["rule"]) == (0, 0, "contaminated", "views.program")
    assert row[match["row_start"] : match["row_end"]].startswith("def n_open")
    assert report.detectors["views"]["n_items_of_short_programs_matched_as_text"] == 1
    assert condemned(audit([row], [PROGRAM], "leet")) == set()


def test_short_programs_do_not_match_each_other() -> None:
    assert "program" not in audit(["def f(x):\n    return x\n"], ["def g(y):\n    return y\n"]).matches["view"]
