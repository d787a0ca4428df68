"""Functions without their comments, names and formatting: equal where the program is, and only there."""

from __future__ import annotations

import polars as pl
import pytest
from lexical import items_of

from auditkit.text.views.programs import MIN_TOKENS, ProgramIndex, units_of

CLOSE = '''from typing import List


def has_close_elements(numbers: List[float], threshold: float) -> bool:
    """ Check if any two numbers are closer than the threshold.
    >>> has_close_elements([1.0, 2.0], 0.5)
    False
    """
    for i, left in enumerate(numbers):
        for k, right in enumerate(numbers):
            if i != k:
                distance = abs(left - right)
                if distance < threshold:
                    return True

    return False
'''
RENAMED = """def f(xs: List[float],
      eps: float,
      ) -> bool:
  # every pair
  for a, x in enumerate( xs ):
    for b, y in enumerate(xs):   # twice
      if (a != b):
        gap = abs(x-y)
        if gap < eps: return True
  return False
"""
JAVA = """public static int largest(int[] values) {
    int best = values[0]; // the first
    for (int i = 1; i < values.length; i++) {
        if (values[i] > best) { best = values[i]; }
    }
    return best;
}
"""


def forms(text: str) -> list[str]:
    return [unit.form for unit in units_of(text)]


def test_comments_names_and_formatting_do_not_count() -> None:
    assert forms(CLOSE) == forms(RENAMED) != []
    assert forms(JAVA) == forms(
        JAVA.replace("best", "m").replace("values", "v").replace("// the first", "").replace("    ", "\t")
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [("gap < eps", "gap > eps"), ("x-y", "x+y"), ("x-y", "y-x"), ("return False", "return None"), ("abs", "sum"),
     ("(a != b)", "(a != 3)"), ("xs )", "xs, 1)"), ("gap < eps", "gap < gap")],
)  # fmt: skip
def test_what_a_program_does_counts(old: str, new: str) -> None:
    assert old in RENAMED
    assert forms(RENAMED.replace(old, new)) != forms(RENAMED)


def test_attributes_are_names_of_others() -> None:
    code = "def f(xs, y):\n    xs.append(y)\n" + "    xs.append(y + 1)\n" * 4
    assert forms(code) != forms(code.replace("append", "remove"))
    assert forms(code) == forms(code.replace("xs", "items"))


@pytest.mark.parametrize(
    "code",
    ["def f(x):\n    return x\n", "def add(a, b):\n    return a + b\n", "",
     "def g(xs):\n    return sorted(xs)[::-1][0]\n", "no code at all, only words and { braces }"],
)  # fmt: skip
def test_near_trivial_programs_are_not_compared(code: str) -> None:
    assert forms(code) == []


def test_functions_are_found_in_prose_and_fences_with_their_places() -> None:
    row = f"Here is my answer:\n\n```python\nimport os\n{RENAMED}```\nand that was it.\n"
    units = units_of(row)
    assert [unit.form for unit in units] == forms(CLOSE)
    assert row[units[0].start :].startswith("def f")
    assert "that was it" not in row[units[0].start : units[0].end]


def test_methods_are_functions_and_nested_functions_are_not() -> None:
    method = "".join(f"    {line}\n" for line in RENAMED.splitlines())
    assert forms(f"class A:\n{method}\n{method}") == forms(RENAMED) * 2
    outer = f"def outer(q):\n{method}    return f(q, 1)\n"
    assert len(units_of(outer)) == 1
    assert forms(outer) != forms(RENAMED)


def test_the_longest_function_of_an_item_stands_for_it() -> None:
    helper = "def helper(v):\n" + "    v = v * 2 + 1\n" * 4 + "    return v\n"
    index = ProgramIndex.of(items_of([helper + "\n\n" + CLOSE, "Write a poem"]))
    assert len(units_of(helper)) == 1
    assert (index.n_items, index.n_text_only) == (1, 0)
    found = index.find(pl.Series([helper, RENAMED, "Write a poem", ""]))
    assert found.select("unit", "text").rows() == [(1, 0)]
    assert RENAMED[slice(*found.row(0)[2:])] == RENAMED


def test_a_question_that_its_answer_completes_is_one_program() -> None:
    at = CLOSE.index("    for i")
    question = {"item": 0, "part": "prompt", "text": CLOSE[:at]}
    answer = {"item": 0, "part": "solution", "kind": "answer", "text": CLOSE[at:]}
    index = ProgramIndex.of(items_of([question, answer]))
    assert index.find(pl.Series([RENAMED]))["text"].to_list() == [1]


def test_short_programs_are_counted_as_text() -> None:
    index = ProgramIndex.of(items_of(["def add(a, b):\n    return a + b\n", CLOSE, "no program"]))
    assert (index.n_items, index.n_text_only) == (1, 1)


def test_without_programs_nothing_is_lexed() -> None:
    index = ProgramIndex.of(items_of(["no program"]))
    assert index == ProgramIndex({}, 0, 0)
    assert index.find(pl.Series([CLOSE])).shape == (0, 4)


def test_the_bound_is_that_of_the_docs() -> None:
    body = "def f(x):\n" + "    x += 1\n" * ((MIN_TOKENS - 4) // 3)
    assert len(units_of(body + "    x\n" * ((MIN_TOKENS - 4) % 3))) == 1
