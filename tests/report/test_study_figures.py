from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
import study_fixtures as fixtures

from auditkit.report import study_figures, study_svg
from auditkit.report.study_svg import Scale
from auditkit.study_records.results import BenchmarkRange, Estimate, StudyResult


def drawn(name: str, result: StudyResult) -> ET.Element:
    """Return the drawing of a figure; it is well-formed XML."""
    source = study_figures.draw(name, result).replace("<br>", "<br/>")
    found = ET.fromstring(source).find("svg")
    assert found is not None
    return found


def marks(svg: ET.Element, kind: str) -> list[ET.Element]:
    return [e for e in svg.iter() if e.get("class", "").split()[:2] == ["mark", kind]]


def tips(svg: ET.Element) -> list[str]:
    return [e.findtext("title", "") for e in svg if e.get("class", "").startswith(("mark", "curve"))]


@pytest.mark.parametrize("name", sorted(study_figures.FIGURES))
def test_every_figure_fits_a_phone(name: str) -> None:
    svg = drawn(name, fixtures.study())
    width, height = map(float, svg.get("viewBox", "").split()[2:])
    assert width == study_svg.WIDTH <= 390
    for element in svg.iter():
        for key, value in element.attrib.items():
            if key in ("x", "x1", "x2", "cx"):
                assert 0 <= float(value) <= width
            if key in ("y", "y1", "y2", "cy"):
                assert 0 <= float(value) <= height
        path = element.get("points", "") or (element.get("d", "") if "curve" in element.get("class", "") else "")
        for point in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path):
            x, y = map(float, point)
            assert -8 <= x <= width
            assert -8 <= y <= height


def test_every_arm_has_a_mark_in_the_shape_of_its_policy() -> None:
    svg = drawn("ranges_native", fixtures.study())
    assert [len(marks(svg, kind)) for kind in ("a", "b", "mixed")] == [16, 16, 8]  # four benchmarks
    assert "A large patched to B: 0.975" in tips(svg)
    description = svg.findtext("desc", "")
    assert (
        "HarmBench-copyright: range 0.962 from A large (0.013) to A large patched to B (0.975), critical 0.050"
        in description
    )


def one_range(low: float, high: float, critical: float) -> BenchmarkRange:
    means = {"A small": low, "B small": high}
    return replace(fixtures.ranges()[0], arm_means=means, value=high - low, critical=critical, sigma_seed=critical / 4)


@pytest.mark.parametrize(
    ("low", "high", "critical"),
    [(0.1, 0.9, 0.2), (0.4, 0.5, 0.2), (0.01, 0.05, 0.045), (0.01, 0.05, 0.035), (0.96, 1.0, 0.05), (0.3, 0.6, 1.4)],
)
def test_marks_leave_the_band_exactly_where_the_range_exceeds_the_critical_one(
    low: float, high: float, critical: float
) -> None:
    svg = drawn("ranges_native", fixtures.study(ranges=(one_range(low, high, critical),)))
    band = next(e for e in svg if e.get("class") == "noise")
    start = float(band.get("x", ""))
    end = start + float(band.get("width", ""))
    scale = Scale(0, 1, 12, study_svg.RIGHT)
    is_out = scale(low) < start - 0.06 and scale(high) > end + 0.06
    assert is_out == (high - low > critical)


def test_capability_is_drawn_with_its_interval_and_says_where_its_axis_starts() -> None:
    svg = drawn("capability", fixtures.study())
    assert len(tips(svg)) == 10
    assert len([e for e in svg if e.get("class", "").startswith("whisker")]) == 10
    assert any("from 0.8" in (e.text or "") for e in svg.iter("text"))
    high, low = (
        next(e for e in svg if (e.findtext("title") or "").startswith(name)) for name in ("A large:", "B small:")
    )
    assert float(high.get("cx", "")) > 200
    assert low.tag == "polygon"


def test_an_undefined_arm_is_left_out_and_counted() -> None:
    frame = fixtures.metrics()
    is_lost = (frame["arm"] == "A small") & (frame["metric"] == "agreement_a")
    frame = frame.with_columns(value=frame["value"].zip_with(~is_lost, frame["value"] * None))
    svg = drawn("capability", fixtures.study(metrics=frame))
    assert len(tips(svg)) == 9
    assert svg.findtext("desc", "").endswith("1 undefined one not drawn.")


def test_det_curves_end_at_the_edges_and_name_their_axes() -> None:
    svg = drawn("det_a", fixtures.study())
    assert sorted(tips(svg)) == sorted(fixtures.ARMS)
    assert "normal deviates" in svg.findtext("desc", "")
    steps = {"harm": [[0.0, 1.0], [0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [1.0, 0.0]]}
    svg = drawn("det_a", fixtures.study(det_curves={"A small": steps}))
    curve = next(e for e in svg if e.get("class", "").startswith("curve"))
    assert curve.get("d", "").count(",") == 3


def test_det_curves_may_be_named_by_their_label_column() -> None:
    curves = {"A small": {"label_a": [[0.1, 0.5]], "label_b": []}}
    result = fixtures.study(det_curves=curves)
    assert tips(drawn("det_a", result)) == ["A small"]
    assert study_figures.draw("det_b", result) == ""


def test_normal_deviates_are_those_of_a_table() -> None:
    assert study_svg.deviate(0.5) == 0
    assert study_svg.deviate(0.975) == pytest.approx(1.959964, abs=1e-6)


def test_inheritance_shows_controls_hollow_and_undefined_as_such() -> None:
    svg = drawn("inheritance", fixtures.study())
    shapes = [e.get("class", "") for e in svg if e.get("class", "").startswith("mark")]
    assert (len(shapes), sum("hollow" in s for s in shapes)) == (6, 4)  # same policy is undefined for both students
    assert [e.text for e in svg.iter("text")].count("undefined") == 2


def test_an_interval_beyond_the_axis_has_an_arrow() -> None:
    row = replace(fixtures.inheritance()[0], inheritance=Estimate(0.5, -7.0, 9.0, 195))
    svg = drawn("inheritance", fixtures.study(inheritance=(row,)))
    assert len([e for e in svg.findall("path") if "whisker" in e.get("class", "")]) == 2


def test_the_dose_curve_has_the_student_itself_between_its_doses() -> None:
    weight = tips(drawn("dose_weight", fixtures.study()))
    assert [t for t in weight if t.startswith("hard B")] == [
        "hard B, teacher A small at 0.25: 0.122 [0.051, 0.196]",
        "hard B, teacher A small at 0.7: 0.414 [0.331, 0.502]",
        "hard B, teacher A small at 1: 0.948 [0.871, 1.034]",
    ]
    temperature = tips(drawn("dose_temperature", fixtures.study()))
    assert [re.findall(r" at (\S+):", t)[0] for t in temperature if t.startswith("hard A")] == ["1", "2", "4"]


def test_doses_of_arms_that_the_study_file_lacks_are_read_from_their_rows() -> None:
    result = fixtures.study()
    rows = tuple(replace(i, student=fixtures.base_of(i.student)) for i in result.inheritance)
    settings = replace(result.settings, arms=())
    told = fixtures.study(inheritance=rows, settings=settings)
    for name in ("dose_weight", "dose_temperature"):
        assert sorted(tips(drawn(name, told))) == sorted(tips(drawn(name, result)))


def test_one_dose_is_no_curve() -> None:
    assert study_figures.draw("dose_weight", fixtures.study(inheritance=fixtures.inheritance()[:2])) == ""


@pytest.mark.parametrize(
    ("text", "cut"), [("short", "short"), ("abcdefghijk", "abcdefghi…"), ("文字文字文字文字", "文字文字…")]
)
def test_long_names_are_cut_by_width(text: str, cut: str) -> None:
    assert study_svg.fitted(text, 10) == cut
