"""The dose curve: inheritance over the teacher's mixing weight, and over its temperature."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from auditkit.report import study_svg as svg
from auditkit.report import study_words as words
from auditkit.report.study_svg import LEFT, RIGHT, Scale
from auditkit.study_records.results import Estimate, Inheritance, StudyResult

Axis = Literal["weight", "temperature"]
_KINDS = ("a", "b", "mixed")
_DOSE = {"weight": re.compile(r"weight ([\d.]+)"), "temperature": re.compile(r"(?:T|temperature) ([\d.]+)")}


@dataclass(frozen=True)
class _Point:
    base: str
    x: float
    y: Estimate


def dose(result: StudyResult, axis: Axis) -> str:
    """Return inheritance over one of the two doses, a line per student; the other dose is that of the student."""
    points = _points(result, axis)
    bases = words.in_order({p.base for p in points}, [arm.name for arm in result.settings.arms])
    drawn = [p for p in points if p.y.value is not None]
    if len({p.x for p in drawn}) < 2:
        return ""
    across, ticks, name = _across(axis, sorted({p.x for p in points}))
    bounds = [x for p in drawn for x in (p.y.value, p.y.low, p.y.high) if x is not None]
    up = Scale(max(-1.0, min([-0.25, *bounds])), min(2.0, max([1.25, *bounds])), 210, 26)
    body = svg.axis_x(across, ticks, [(26, 210)], 210, name)
    body += svg.axis_y(
        up, [(y, f"{y:g}") for y in (-0.5, 0.0, 0.5, 1.0, 1.5) if up.holds(y)], LEFT, RIGHT, "inheritance"
    )
    for place, base in enumerate(bases):
        own = sorted((p for p in drawn if p.base == base), key=lambda p: p.x)
        body += _series(own, across, up, _KINDS[place % 3])
    keys = [(svg.key(svg.mark(_KINDS[place % 3], 0, 0)), base) for place, base in enumerate(bases)]
    said = "; ".join(f"{p.base} at {p.x:g}: {words.interval(p.y)}" for p in points)
    title = f"Dose curve: inheritance by the teacher's {axis}"
    return svg.figure(f"dose-{axis}", title, said, 246, body, svg.legend(keys))


def _series(points: list[_Point], across: Scale, up: Scale, kind: str) -> list[str]:
    shift = {"a": -2.0, "b": 2.0, "mixed": 0.0}[kind]  # intervals of two students at one dose stay apart
    places = [(across(p.x) + shift, up(p.y.value or 0)) for p in points]
    body = [svg.curve(places, kind)]
    for (x, y), p in zip(places, points, strict=True):
        if p.y.low is not None and p.y.high is not None:
            body.append(svg.line(x, up(p.y.low), x, up(p.y.high), f"whisker {kind}"))
        body.append(svg.mark(kind, x, y, f"{p.base} at {p.x:g}: {words.interval(p.y)}"))
    return body


def _across(axis: Axis, xs: list[float]) -> tuple[Scale, list[tuple[float, str]], str]:
    if axis == "weight":
        ticks = [(x, f"{x:g}") for x in (0.0, 0.25, 0.5, 0.75, 1.0)]
        return Scale(0, 1, LEFT + 8, RIGHT - 8), ticks, "weight of the teacher in the loss"
    scale = Scale(min(xs), max(xs), LEFT + 12, RIGHT - 12, math.log)
    return scale, [(x, f"{x:g}") for x in xs], "temperature, doubling scale"


def _points(result: StudyResult, axis: Axis) -> list[_Point]:
    """Return the doses of every student, itself among them, whose other dose is the student's own."""
    other: Axis = "temperature" if axis == "weight" else "weight"
    rows = [row for row in result.inheritance if row.kind in ("dose", "teacher")]
    own = {row.student: _dose(row, result, other) for row in rows if row.kind == "teacher"}
    found = []
    for row in rows:
        base, x = words.base(row.student, result), _dose(row, result, axis)
        if x is not None and x > 0 and _dose(row, result, other) == own.get(base):
            found.append(_Point(base, x, row.inheritance))
    return found


def _dose(row: Inheritance, result: StudyResult, axis: Axis) -> float | None:
    """Return a dose as the study file has it, or, for an arm that it lacks, as the row says it."""
    arm = next((arm for arm in result.settings.arms if arm.name == row.student), None)
    teacher = arm.stages[-1].teacher if arm is not None and arm.stages else None
    if teacher is not None:
        return teacher.weight if axis == "weight" else teacher.temperature
    match = _DOSE[axis].search(row.dose)
    return float(match.group(1)) if match else None
