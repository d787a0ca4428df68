from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
import study_fixtures as fixtures

from auditkit.report import safe, study_markdown, study_sections
from auditkit.study_records.results import Estimate

SECTIONS = [
    "What each benchmark measures",
    "Prompts by their two labels",
    "Arms",
    "Ranges across arms",
    "Other operating points",
    "What students took from their teachers",
    "What accuracy goes with",
    "Patches: how little moves how much",
    "Contamination of the pool, before and after",
    "Pools of base models and teachers",
    "What contamination did to the scores",
    "Policies and grading definitions",
    "Ledger",
    "Disclosures",
]


def test_the_answer_stands_first_then_the_numbers_then_the_disclosures() -> None:
    result = fixtures.study()
    text = study_markdown.render(result)
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == SECTIONS
    for sentence in result.headline:
        assert f"- {sentence}\n" in html.unescape(text)
    assert "Figures are in study.html" in text
    assert "<svg" not in text


@pytest.mark.parametrize(
    "row",
    [
        "| HarmBench-copyright | harmful | policy | policy |",
        "| test | 1,055 | 390 | 470 | 88 | 107 | 4 |",
        "| A small | harm | 0.941 [0.929, 0.952] | 0.842 | 0.158 | 0.684 | 0.500 |",
        "| A small | harm | 0.884 | 0.816 | 0.078 | 0.072 | 0.108 | 0.092 |",
        "| A large patched to B | large | block | harm > block | "
        "lora rank 4: 0.33 % > lora rank 1: 0.027 % | A large |",
        "| HarmBench-copyright | harmful | policy | 80 | 0.962 | 0.050 | < 0.001 | < 0.001 | 0.017 | 0.023 | < 0.001 |",
        "| HarmBench-copyright | A large: 0.013 | A large patched to B: 0.975 | 80 | 23.4 (p < 0.001) | "
        "0.943 (p < 0.001) | 0.020 (p = 0.610) | 0.029 | 0.057 |",
        "| School maths | A large: 0.000 | A large patched to B: 0.004 | 1,319 | 0.000 (p = 0.400) | - | "
        "0.020 (p = 0.610) | - | - |",
        "| hard B, teacher A small | same policy | weight 0.7, temperature 2 | "
        "B large | B small | - | 0.004 [-0.046, 0.054] | 0.008 | 0.610 |",
        "| accuracy, harm | 10 | 0.226 | 0.180 | 1.210 |",
        "| accuracy, harm | AUROC on C | 0.340 [-0.370, 0.800] | 0.300 | 0.340 | 0.120 to 0.510 | 0.030 | 0.009 | 10 |",
        "| HarmBench-copyright | 4 | 0.962 | 0.065 | < 0.001 |",
        "| HarmBench-copyright | A large patched to B - A large | 0.962 [0.940, 0.980], n 3 |",
        "| accuracy, harm | agreement, harm | 0.740 [0.210, 0.930] | 0.710 | "
        "0.015 | 0.610 to 0.820 | 0.030 | 0.270 | 10 |",
        "| A large patched to B | HarmBench-copyright | A large | 6,144 | 0.027 % | 0.013 | 0.975 | 0.962 |",
        "| OR-Bench-hard | 1,319 | 1,082 | 82.0 % |",
        "| provenance of teachers and soft labels | missing | the Hub guard 'g' names no training data |",
        "| seed floor | present | ranges, of three seeds an arm |",
    ],
)
def test_a_number_stands_where_it_belongs(row: str) -> None:
    assert html.unescape(row) in html.unescape(study_markdown.render(fixtures.study()))


def test_what_is_undefined_is_a_dash_with_its_n() -> None:
    result = fixtures.study(capability_gap=Estimate(None, n=12))
    assert "| difference in capability (AUROC on C) | -, n 12 |" in html.unescape(study_markdown.render(result))


def test_a_study_without_disclosures_names_all_six_as_missing() -> None:
    text = html.unescape(study_markdown.render(fixtures.bare()))
    assert text.count("| missing | the study does not say |") == len(study_sections.ASKED) == 6
    assert "This report lacks 6 disclosures" in text
    assert "0.000" not in text


def test_a_note_says_that_ten_arms_are_descriptive() -> None:
    assert "Descriptive: 10 arms are too few" in study_markdown.render(fixtures.study())


def test_controls_that_were_not_run_are_named() -> None:
    rows = tuple(i for i in fixtures.inheritance() if i.kind in ("teacher", "shuffled"))
    assert "Controls that were not run: same policy, hardened, dose." in study_markdown.render(
        fixtures.study(inheritance=rows)
    )


def test_nested_policies_are_said_beside_the_cells() -> None:
    assert "Nested policies: only 12 prompts in D01" in study_markdown.render(
        fixtures.study(nested="only 12 prompts in D01")
    )


def test_unknown_keys_of_a_mapping_are_not_lost() -> None:
    odd = {"deep": {"deeper": {"deepest": {"n_odd": 1234}}}, "none": {}, "list": [0.5, None]}
    text = html.unescape(study_markdown.render(fixtures.study(raw=odd)))
    for part in ("1,234", "| none | none |", "| list | 0.500; - |"):
        assert part in text


def test_an_arm_known_from_predictions_alone_has_its_row() -> None:
    result = fixtures.study()
    settings = replace(result.settings, arms=tuple(a for a in result.settings.arms if a.name != "A small"))
    assert "| A small | - | 0.941 [0.929, 0.952] |" in html.unescape(
        study_markdown.render(replace(result, settings=settings))
    )


def test_hostile_names_break_no_table(hostile: str) -> None:
    text = study_markdown.render(fixtures.renamed(fixtures.study(), hostile))
    assert safe.UNSAFE.sub("", text.replace("\n", "")) == text.replace("\n", "")
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) >= 20
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert not re.search(r"<(?!U\+)|`|!\[|\]\(", text)


def test_names_in_right_to_left_scripts_are_kept() -> None:
    text = study_markdown.render(fixtures.renamed(fixtures.study(), "مدونة עברית"))
    assert "0 مدونة עברית" in text


def test_earlier_pools_say_which_arms_they_reached_and_what_was_left_out() -> None:
    text = study_markdown.render(fixtures.study())
    assert "| large | base model | A large, B large | 90,210 | OR-Bench-hard, clean subset | 2 | 239 | 0.8 % |" in text
    assert "2 items left out of the evaluation of every arm." in text
    kept = tuple(replace(pool, is_excluded=False) for pool in fixtures.study().earlier_pools)
    assert "No item left out." in study_markdown.render(fixtures.study(earlier_pools=kept))
