from __future__ import annotations

import io
from dataclasses import replace

import pytest
import study_fixtures as fixtures
from rich.cells import cell_len

from auditkit.report import safe, study_terminal
from auditkit.study_records.results import StudyResult


def printed(result: StudyResult, width: int = 80, *, is_terminal: bool = True) -> str:
    console = safe.console(io.StringIO(), width=width)
    console._force_terminal = is_terminal
    console.no_color = True
    study_terminal.render(result, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def bare_text(result: StudyResult, width: int = 80) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", printed(result, width))


def test_the_answer_the_ranges_and_the_arms_fit_80_columns() -> None:
    text = bare_text(fixtures.study())
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert text.startswith("- HarmBench-copyright measures the labelling policy")
    assert "HarmBench-copyright            80  0.962     0.050  < 0.001   0.943       policy" in text
    assert "A small                     harm  0.941  0.842   0.078   0.072  0.108  0.092" in text
    assert "0.616 [0.581, 0.652], n 195" in text
    assert "missing: provenance of teachers" in text


def test_in_a_pipe_a_sentence_is_one_line() -> None:
    result = fixtures.study()
    lines = printed(result, is_terminal=False).splitlines()
    for sentence in result.headline:
        assert any(sentence in line for line in lines)


def test_what_is_undefined_is_a_dash() -> None:
    text = bare_text(fixtures.bare())
    assert "0.000" not in text
    assert "A-final less B-final arms -, n 12" in text


def test_a_number_is_never_cut_in_a_narrow_window() -> None:
    numbers = {word for word in bare_text(fixtures.study()).split() if word.startswith("0.")}
    assert numbers <= set(bare_text(fixtures.study(), 70).split())


def test_many_arms_are_counted() -> None:
    result = fixtures.study()
    arms = tuple(replace(result.settings.arms[0], name=f"arm {place}") for place in range(30))
    names = {arm.name for arm in arms}
    settings = replace(result.settings, arms=arms)
    frame = result.metrics.filter(result.metrics["arm"].is_in(list(names)))
    assert "and 10 more arms in study.md" in bare_text(replace(result, settings=settings, metrics=frame))


@pytest.mark.parametrize("width", [80, 60])
def test_hostile_names_are_shown_never_acted_on(hostile: str, width: int) -> None:
    text = bare_text(fixtures.renamed(fixtures.study(), hostile), width)
    assert not safe.UNSAFE.search(text.replace("\n", ""))
