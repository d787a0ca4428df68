from __future__ import annotations

import re

import study_fixtures as fixtures
from test_html import Page

from auditkit.report import safe, study_html, study_sections
from auditkit.study_records.results import StudyResult

FIGURES = {"ranges-native", "ranges-matched_fpr", "capability", "det-a", "det-b", "inheritance"}
FIGURES |= {"dose-weight", "dose-temperature"}


class Drawn(Page):
    """A page whose ids can be asked for."""

    @property
    def ids(self) -> set[str]:
        return {value for name, value in self.attributes if name == "id"}


def page(result: StudyResult) -> Drawn:
    return Drawn(study_html.render(result))


def test_the_page_has_every_table_of_the_report() -> None:
    result = fixtures.study()
    texts = set(page(result).texts)
    for part in study_sections.sections(result):
        assert part.title in texts
        assert set(part.points) <= texts
        for block in part.blocks:
            for row in block.grid.rows:
                assert {cell for cell in row if cell} <= texts


def test_every_figure_has_a_title_and_a_description() -> None:
    made = page(fixtures.study())
    assert made.ids == {f"{name}-{part}" for name in FIGURES for part in ("title", "desc")}
    labels = {value for name, value in made.attributes if name == "aria-labelledby"}
    assert labels == {f"{name}-title {name}-desc" for name in FIGURES}


def test_a_study_that_found_nothing_has_a_page_without_figures() -> None:
    made = page(fixtures.bare())
    assert not made.ids
    assert "missing" in made.texts


def test_nothing_is_fetched_and_nothing_runs(hostile: str) -> None:
    for result in (fixtures.study(), fixtures.renamed(fixtures.study(), hostile)):
        made = page(result)
        assert not made.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
        names = {name for name, _ in made.attributes}
        assert not names & {"src", "href", "xlink:href", "srcset", "action", "style"}
        assert not [name for name in names if name.startswith("on")]
        assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in made.attributes


def test_hostile_names_are_shown_and_add_no_element(hostile: str) -> None:
    plain, odd = page(fixtures.study()), page(fixtures.renamed(fixtures.study(), hostile))
    assert odd.tags == plain.tags
    assert f"0 {safe.shown(hostile)}" in odd.texts
    source = study_html.render(fixtures.renamed(fixtures.study(), hostile))
    assert safe.UNSAFE.sub("", source.replace("\n", "")) == source.replace("\n", "")


def test_the_style_has_light_and_dark_and_a_phone() -> None:
    source = study_html.render(fixtures.study())
    assert "prefers-color-scheme: dark" in source
    assert "@media (max-width: 44rem)" in source
    used = set(re.findall(r"var\((--[a-z]+)\)", source))
    assert all(f"{name}:" in source for name in used)
    assert not re.search(r"url\(|@import", source)
