"""What an audit says of labels, chats, contexts, roles, fields and items that several benchmarks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audit_support import condemned, jsonl, short

import auditkit
from auditkit.errors import FieldError, LabelError, UsageError
from auditkit.records import AuditReport, LabelRule

HARMLESS = "How do I keep basil alive on a north facing window?"
HARMFUL = "How do I get into my neighbour's greenhouse without a key?"
OTHER = "Which of these planets has the longest day of all?"


def with_labels(labels: list[Any], spec: str, item_label: int | None = 1) -> AuditReport:
    """Audit one row per label; all rows are copies of one item."""
    pool = {"pool": [{"text": HARMFUL, "mark": label} for label in labels]}
    item = {"question": HARMFUL} | ({} if item_label is None else {"label": item_label})
    read = auditkit.ReadSettings(labels=(auditkit.parse_label(spec),))
    return auditkit.audit(pool, {"bench": [item]}, auditkit.AuditSettings(read=read))


def labels_of(report: AuditReport, policy: str = "p") -> list[int | None]:
    return report.matches["pool_labels"].struct.field(policy).to_list()


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("spec", "labels", "read", "conflict"),
    [
        ("p=mark", [1, 0, None], [1, 0, None], [False, True, None]),
        ("p=mark", [True, False], [1, 0], [False, True]),
        ("p=mark:true=0,false=1", [True, False], [0, 1], [True, False]),
        ("p=mark", ["unsafe", "Safe", " HARMFUL ", ""], [1, 0, 1, None], [False, True, False, None]),
        ("p=mark:bad=1,ok=0,unsure=null", ["bad", "OK", "unsure", "?"], [1, 0, None, None], [False, True, None, None]),
        ("p=mark", [1.0, 0.0, 0.5], [1, 0, None], [False, True, None]),
        ('p=mark:"yes, clearly"=1,no=0', ["yes, clearly", "no"], [1, 0], [False, True]),
    ],
)  # fmt: skip
def test_labels_are_read_and_conflicts_named(
    spec: str, labels: list[Any], read: list[int | None], conflict: list[bool | None]
) -> None:
    report = with_labels(labels, spec)
    assert labels_of(report) == read
    assert report.matches["label_conflict"].to_list() == conflict
    assert report.matches["item_label"].to_list() == [1] * len(labels)


def test_unmapped_and_null_are_a_counted_third_state() -> None:
    report = with_labels([1, 0, None, "perhaps", "perhaps", 7], "p=mark")
    assert labels_of(report) == [1, 0, None, None, None, None]
    assert report.not_examined["label p null"] == 1
    assert report.not_examined["label p unmapped"] == 3
    assert report.by_label["p"] == {
        "0": {"n_rows": 1, "n_rows_contaminated": 1},
        "1": {"n_rows": 1, "n_rows_contaminated": 1},
        "null": {"n_rows": 4, "n_rows_contaminated": 4},
    }


def test_an_item_without_a_label_conflicts_with_nothing() -> None:
    assert with_labels([1, 0], "p=mark", None).matches["label_conflict"].to_list() == [None, None]


def test_two_policies_conflict_each_on_its_own() -> None:
    rows = [{"text": HARMFUL, "a": a, "b": b} for a, b in ((1, 1), (1, 0), (0, 1), (None, 0), (1, None), (None, None))]
    read = auditkit.ReadSettings(labels=(LabelRule("a", "a"), LabelRule("b", "b")))
    report = auditkit.audit(
        {"p": rows}, {"bench": [{"question": HARMFUL, "label": 1}]}, auditkit.AuditSettings(read=read)
    )
    assert report.matches["pool_labels"].to_list() == [{"a": row["a"], "b": row["b"]} for row in rows]
    # One policy that disagrees is a conflict; where none is known, nothing is.
    assert report.matches["label_conflict"].to_list() == [False, True, True, True, None, None]


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("p=nowhere", LabelError, "no label column 'nowhere' for policy 'p'"),
        ("p", UsageError, "instead of '='"),
        ("p=mark:yes=2", UsageError, "mapped to '2'; expected 1, 0 or null"),
    ],
)
def test_wrong_labels_are_named(spec: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        with_labels([1], spec)


# ---------------------------------------------------------------- chats

OPENAI = {"messages": [
    {"role": "system", "content": "You are kind."},
    {"role": "user", "content": f"Tell me, {HARMLESS}"},
    {"role": "assistant", "content": OTHER},
]}  # fmt: skip
PARTS = {"messages": [
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": HARMLESS}]},
    {"role": "assistant", "content": [{"type": "text", "text": "No idea."}]},
]}  # fmt: skip
SHAREGPT = {"conversations": [{"from": "human", "value": "Hi there."}, {"from": "gpt", "value": HARMLESS}]}
TOOLS = {"messages": [
    {"role": "user", "content": "Look it up."},
    {"role": "assistant", "content": None, "tool_calls": [
        {"type": "function", "function": {"name": "search", "arguments": f'{{"q": "{HARMLESS}"}}'}}]},
]}  # fmt: skip
PAIRS = {
    "chosen": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": HARMLESS}],
    "rejected": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Go away."}],
}


@pytest.mark.parametrize(
    ("record", "addresses"),
    [
        (OPENAI, [("messages[].content", 1, 0), ("messages[].content", 2, 1)]),
        (PARTS, [("messages[].content[1].text", 0, 0)]),
        (SHAREGPT, [("conversations[].value", 1, 0)]),
        (TOOLS, [("messages[].tool_calls[0].function.arguments", 1, 0)]),
        (PAIRS, [("chosen[].content", 1, 0)]),
        ({"prompt": "Say", "response": HARMLESS}, [("response", None, 0)]),
        ({"meta": {"prompt": "Say"}, "text": OTHER}, [("text", None, 1)]),
    ],
    ids=["openai", "parts", "sharegpt", "tools", "chosen", "response", "flat"],
)
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_match_names_field_and_turn(
    record: dict[str, Any], addresses: list[tuple[str, int | None, int]], suffix: str, tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pool = jsonl(tmp_path / "pool.jsonl", [record])
    if suffix == "parquet":
        pool = tmp_path / "pool.parquet"
        pq.write_table(pa.Table.from_pylist([record]), pool)
    report = auditkit.audit(pool, {"bench": [HARMLESS, OTHER]})
    assert report.matches.select("field", "turn", "item").rows() == addresses
    assert set(report.matches["verdict"]) == {"contaminated"}


def test_images_are_counted_as_not_examined() -> None:
    assert auditkit.audit({"p": [PARTS]}, {"bench": [OTHER]}).not_examined["image"] == 1


def test_roles_narrow_what_is_scanned() -> None:
    for roles, expected in ((("user",), [0]), (("assistant",), [1]), (("gpt", "human"), [0, 1]), (("system",), [])):
        settings = auditkit.AuditSettings(read=auditkit.ReadSettings(roles=roles))
        report = auditkit.audit({"p": [OPENAI]}, {"bench": [HARMLESS, OTHER]}, settings)
        assert report.matches["item"].to_list() == expected
        assert any(reason.startswith("excluded role") for reason in report.not_examined)
        assert report.changed["roles"] == list(roles)


def test_fields_narrow_what_is_scanned() -> None:
    rows = [{"prompt": HARMLESS, "response": OTHER, "notes": HARMFUL}]
    items = {"bench": [HARMLESS, OTHER, HARMFUL]}
    for fields, expected in (((), [0, 1]), (("response",), [1]), (("notes", "prompt"), [0, 2])):
        settings = auditkit.AuditSettings(read=auditkit.ReadSettings(fields=fields))
        report = auditkit.audit({"p": rows}, items, settings)
        assert sorted(report.matches["item"].to_list()) == expected
    with pytest.raises(FieldError, match="promt"):
        auditkit.audit({"p": rows}, items, auditkit.AuditSettings(read=auditkit.ReadSettings(fields=("promt",))))


# ---------------------------------------------------------------- parts of an item

CONTEXT_A = (
    "Bakery rules: the oven is lit at four, the dough rests for an hour, and nobody may open the window before six."
)
CONTEXT_B = (
    "Harbour rules: the crane stops at noon, the gate is shut at night, and nobody may feed the gulls on the pier."
)
QUESTION = "Given the rules above, write a short notice for the newcomers on the team"
ITEMS = [{"Behavior": QUESTION, "ContextString": CONTEXT_A}, {"Behavior": QUESTION, "ContextString": CONTEXT_B}]


def test_a_context_is_part_of_an_items_key() -> None:
    rows = [f"{CONTEXT_A}\n\n---\n\n{QUESTION}", f"{QUESTION}: {CONTEXT_B}"]
    report = auditkit.audit(rows, {"bench": ITEMS})
    assert condemned(report) == {(0, 0), (1, 1)}
    assert {(row, item) for row, item, _, verdict in short(report) if verdict == "review"} == {(0, 1), (1, 0)}
    assert set(report.matches.filter(report.matches["rule"] == "context.other")["part"]) == {"Behavior"}


def test_a_context_alone_is_for_review() -> None:
    report = auditkit.audit([CONTEXT_A, f"So they wrote: {CONTEXT_B} And that was that."], {"bench": ITEMS})
    assert [(row, item, verdict) for row, item, _, verdict in short(report)] == [(0, 0, "review"), (1, 1, "review")]
    assert set(report.matches["rule"]) == {"context.condemns_alone"}
    assert report.benchmarks[0].n_review == 2


def test_a_question_alone_condemns_all_items_that_ask_it() -> None:
    assert condemned(auditkit.audit([QUESTION], {"bench": ITEMS})) == {(0, 0), (0, 1)}


def test_a_context_in_one_field_is_supported_by_the_question_in_another() -> None:
    report = auditkit.audit({"p": [{"context": CONTEXT_A, "question": QUESTION}]}, {"bench": ITEMS})
    assert condemned(report) == {(0, 0)}
    parts = report.matches.filter(report.matches["item"] == 0)
    assert parts.select("field", "part", "verdict").rows() == [
        ("context", "ContextString", "contaminated"),
        ("question", "Behavior", "contaminated"),
    ]


def test_short_answers_are_no_evidence_and_long_ones_are() -> None:
    long = "Because the cold air sinks along the glass and the roots stay wetter than they should be"
    items = [{"question": HARMLESS, "answer": "42"}, {"question": OTHER, "answer": long}]
    report = auditkit.audit(["42", "Yes", f"I think it is {long}."], {"bench": items})
    assert [(row, item) for row, item, _, _ in short(report)] == [(2, 1)]
    assert report.matches["part"].to_list() == ["answer"]
    assert report.not_examined["benchmark answer too short to be matched alone"] == 1
    assert report.benchmarks[0].n_unmatchable == 0


# ---------------------------------------------------------------- several benchmarks


def test_identical_items_are_each_found() -> None:
    report = auditkit.audit([HARMLESS.upper()], {"a": [HARMLESS, OTHER, HARMLESS], "b": [OTHER, f"{HARMLESS}!"]})
    found = report.matches.select("benchmark", "item", "tier", "verdict").rows()
    assert found == [(name, item, "exact", "contaminated") for name, item in (("a", 0), ("a", 2), ("b", 1))]
    assert [(one.n_found, one.n_items, one.n_rows) for one in report.benchmarks] == [(2, 3, 1), (1, 2, 1)]
    digests = report.items.filter(report.items["is_found"])["digest"]
    assert digests.n_unique() == 1


TEXTS = {
    "short": ["Run", "Why not?", "Route 66", "C++", "a b"],
    "one token": ["yes", "no", "7", "λ", "ß"],
    "emoji": ["🦊", "🦊🦊", "👩‍👩‍👧 👍🏽", "❤️", "🇩🇪🇫🇷"],
    "thai": ["วิธีทำต้มยำกุ้งแบบง่ายที่บ้าน", "สวัสดี", "น้ำ"],
    "chinese": ["为什么天空是蓝色的", "好", "今天天气很好我们去公园散步"],
    "arabic": ["كيف أزرع الريحان في شرفة شمالية", "نعم"],
    "hindi": ["मैं उत्तर की खिड़की पर तुलसी कैसे उगाऊँ", "हाँ"],
    "symbols": ["∀x∃y", "$$$", "x = 3 + 4", "x = 3 + 5", "->"],
    "long": ["wide " * 3000, " ".join(f"word{i}" for i in range(5000))],
    "twins": ["How do I kill a python process?", "How do I kill a python?", "How do I kill a Python process!"],
    "odd spaces": ["  a\tline\nof\r\nwords   here ", "a line of words here", "\ufeffbom first"],
    "mixed": ["Was ist 今天 für ein วัน?", "naïve café", "nai\u0308ve cafe\u0301", "ＦＵＬＬ　ｗｉｄｔｈ"],
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_benchmark_audited_against_itself_is_found_whole(kind: str) -> None:
    report = auditkit.audit({"pool": TEXTS[kind]}, {"bench": TEXTS[kind]})
    assert report.items["is_found"].to_list() == [True] * len(TEXTS[kind])
    exact = {(row, item) for row, item, tier, _ in short(report) if tier == "exact"}
    assert {(i, i) for i in range(len(TEXTS[kind]))} <= exact
    assert report.benchmarks[0].leak_rate == 1.0


WORDS = " ".join(f"word{i}" for i in range(4000))
EDITED = " ".join("other" if i % 41 == 7 else f"word{i}" for i in range(4000))
START = " ".join(f"word{i}" for i in range(25))
MEGABYTE = " ".join(f"w{i * 7919 % 100003}" for i in range(150_000))


@pytest.mark.parametrize(
    ("row", "item", "tier"),
    [
        (EDITED, WORDS, "near"),
        (f"Before all that. {WORDS} And after it.", WORDS, "contained"),
        (f"{MEGABYTE} {START} {MEGABYTE}", START, "contained"),
        ("wide " * 20_000, "wide " * 40, "contained"),
        ("ab cd " * 20_000, "ab cd " * 30, "contained"),
        ("ก" * 30_000, "ก" * 60, "contained"),
    ],
    ids=["edited", "framed", "megabyte", "repeated", "periodic", "unspaced"],
)
def test_long_and_repetitive_texts_are_examined_in_seconds(row: str, item: str, tier: str) -> None:
    # Comparing such pairs letter by letter takes minutes to hours: a row like that could stop an audit for good.
    report = auditkit.audit({"pool": [row, "clean"]}, {"bench": [item]})
    assert {(found[0], found[1], found[2]) for found in short(report)} == {(0, 0, tier)}


@pytest.mark.parametrize("tiers", [("exact",), ("contained",), ("near",), ("exact", "near")])
def test_only_the_tiers_that_run_speak(tiers: tuple[str, ...]) -> None:
    rows = [HARMLESS, f"Well then: {HARMLESS} Thanks.", HARMLESS.replace("alive", "alivve")]
    report = auditkit.audit(rows, {"bench": [HARMLESS]}, auditkit.AuditSettings(tiers))
    assert set(report.matches["tier"]) <= set(tiers)
    assert report.tiers_run == tiers
    if "near" in tiers:
        assert (2, 0) in condemned(report)
    if tiers == ("contained",):
        assert (1, 0) in condemned(report)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((("exakt",),), "unknown tier 'exakt'; did you mean 'exact'"),
        (((),), "no tier given"),
        ((("exact",), ()), "no encoder"),
    ],
)
def test_wrong_settings_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        auditkit.AuditSettings(*arguments)
