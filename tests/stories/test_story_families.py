"""Families of a pool: what is near by the audit's rules hangs together, by the prompts, whatever the order of rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from auditkit.errors import UsageError
from auditkit.records import ReadSettings
from auditkit.stories.families import pool_families
from auditkit.stories.near import FamilySettings

BASIL = "How do I keep basil alive on a north facing window in winter?"
BREAD = "Which flour is best for a rye bread that has to last a week?"


def families(pool: list[Any], settings: FamilySettings | None = None) -> list[str]:
    return pool_families({"p": pool}, settings)["family"].to_list()


def groups(pool: list[Any], settings: FamilySettings | None = None) -> list[int]:
    """The family of each row as the number of its first row."""
    return [int(name.split(":")[1]) for name in families(pool, settings)]


def test_equal_edited_and_containing_rows_are_one_family() -> None:
    edited = "How do I keep basil alive on a north facing windowsill in winter?"
    held = f"I moved to a new flat last month and all my plants suffer. {BASIL} Please keep it short."
    assert groups([BASIL, BREAD, BASIL.upper(), edited, held]) == [0, 1, 0, 0, 0]


def test_a_chain_is_one_family_though_its_ends_are_unlike() -> None:
    words = "one by one the grey geese left the cold lake and flew over quiet hills to warmer fields beyond".split()  # noqa: SIM905
    other = [f"{word}xx" for word in words]
    chain = [" ".join(other[:n] + words[n:]) for n in range(len(words) + 1)]
    assert groups(chain) == [0] * len(chain)
    assert groups([chain[0], chain[-1]]) == [0, 1]


def test_numbers_that_differ_are_other_questions_unless_asked() -> None:
    pool = ["Is road 1506 closed to heavy lorries this week?", "Is road 1507 closed to heavy lorries this week?"]
    assert groups(pool) == [0, 1]
    assert groups(pool, FamilySettings(join_numbers=True)) == [0, 0]


def test_unlike_short_empty_and_wordless_rows_are_families_of_one() -> None:
    pool = ["cat", "dog", "", "", "!!!", "!!!", "kill all humans now", "bake me a cake", "cat"]
    assert groups(pool) == [0, 1, 2, 3, 4, 5, 6, 7, 0]


def test_unrelated_rows_of_other_scripts_stay_apart_and_equal_ones_do_not() -> None:
    pool = [
        "今日は天気がとても良いですね。",
        "明日の会議は何時からですか。",
        "今日は天気がとても良いですね",
        "كيف حالك اليوم",
    ]
    assert groups(pool) == [0, 1, 0, 3]


def test_answers_system_prompts_and_small_talk_join_nothing() -> None:
    def chat(*turns: tuple[str, str]) -> dict[str, Any]:
        return {"messages": [{"role": role, "content": content} for role, content in turns]}

    system, refusal = ("system", "You are a helpful assistant who likes plants."), ("assistant", "I cannot help you.")
    pool = [
        chat(system, ("user", BASIL), refusal, ("user", "Thank you.")),
        chat(system, ("user", BREAD), refusal, ("user", "Thank you.")),
        chat(("user", "Thank you.")),
        chat(("user", "Thank you!")),
    ]
    assert groups(pool) == [0, 1, 2, 2]
    refused = "I am sorry, but I cannot help with that request today."
    flat = [{"prompt": BASIL, "response": refused}, {"prompt": BREAD, "response": refused}]
    assert groups(flat) == [0, 1]
    assert groups(flat, FamilySettings(read=ReadSettings(fields=("response",)))) == [0, 0]


def test_a_row_without_a_prompt_is_compared_by_what_it_has() -> None:
    refused = "I am sorry, but I cannot help with that request today."
    assert groups([{"response": refused}, {"response": refused}, {"response": BASIL}]) == [0, 0, 2]


def test_a_template_of_many_rows_is_told_apart_by_its_payload() -> None:
    frame = "Please read the following sentence with care and then tell me in one word what it is about:"
    subjects = [f"{a} {b}" for a in ("basil", "bread", "geese", "roads") for b in ("upstairs", "abroad", "tomorrow")]
    assert groups([f"{frame} {subject}" for subject in subjects]) == list(range(12))


def test_the_order_of_rows_changes_no_family() -> None:
    rng = random.Random(4)
    words = [f"word{i}" for i in range(60)]
    pool = [" ".join(rng.choices(words, k=12)) for _ in range(30)]
    pool += [" ".join([*text.split()[:-1], "changed"]) for text in pool[:10]] + pool[5:8]
    at = list(range(len(pool)))
    rng.shuffle(at)
    before, after = groups(pool), groups([pool[i] for i in at])
    together = {(i, j) for i in at for j in at if before[i] == before[j]}
    assert together == {(at[i], at[j]) for i in range(len(at)) for j in range(len(at)) if after[i] == after[j]}
    assert len(set(before)) == 30


def test_rows_of_several_files_share_families(tmp_path: Path) -> None:
    for name, texts in (("b", [BASIL, BREAD]), ("a", ["Something else entirely, of no interest.", BASIL])):
        pl.DataFrame({"text": texts}).write_parquet(tmp_path / f"{name}.parquet")
    found = pool_families(tmp_path)
    assert found.rows() == [("a", 0, "a:0", 1), ("a", 1, "a:1", 2), ("b", 0, "a:1", 2), ("b", 1, "b:1", 1)]


def test_an_empty_pool_has_no_family() -> None:
    assert pool_families({"p": []}).rows() == []


def test_max_texts_below_one_is_an_error() -> None:
    with pytest.raises(UsageError, match="max_texts is 0"):
        FamilySettings(max_texts=0)
