"""The figures of a study's report as inline SVG: each says in words, too, what it draws and what it leaves out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from auditkit.report import study_svg as svg
from auditkit.report import study_words as words
from auditkit.report.phrases import counted
from auditkit.report.study_dose import dose
from auditkit.report.study_svg import LEFT, RIGHT, Scale
from auditkit.report.study_words import number
from auditkit.study_records.results import BenchmarkRange, Estimate, Inheritance, StudyResult

_QUARTERS = [(0.0, "0"), (0.25, "0.25"), (0.5, "0.5"), (0.75, "0.75"), (1.0, "1")]
_DET_TICKS = [(0.001, "0.1"), (0.01, "1"), (0.05, "5"), (0.2, "20"), (0.5, "50"), (0.8, "80"), (0.95, "95")]
_ROW = 48


def draw(name: str, result: StudyResult) -> str:
    """Return the figure of that name (see FIGURES), or nothing where the study has no data for it."""
    return FIGURES[name](result)


# ---------------------------------------------------------------- ranges


def ranges(result: StudyResult, at: str) -> str:
    """Return one strip per benchmark: a mark per arm, the critical range as a band, the seed floor inside it."""
    rows = [r for r in result.ranges if r.point == at]
    if not rows:
        return ""
    bottom = _ROW * len(rows) + 4
    strips = [(_ROW * place + 20.0, _ROW * place + 48.0) for place in range(len(rows))]
    scale = Scale(0, 1, 12, RIGHT)
    body = svg.axis_x(scale, _QUARTERS, strips, bottom, "flag rate: mean over seeds")
    for place, row in enumerate(rows):
        body += _strip(result, row, scale, _ROW * place + 4)
    keys = [*_policy_keys(result), (svg.key('<rect class="noise" x="-8" y="-6" width="16" height="12"/>'), _NOISE)]
    keys += [(svg.key('<rect class="floor" x="-5" y="-6" width="10" height="12"/>'), _FLOOR)]
    description = "; ".join(_range_words(r) for r in rows)
    title = f"Range across arms, at {words.point(at, result.settings)}"
    return svg.figure(f"ranges-{at}", title, description, bottom + 36, body, svg.legend(keys))


_NOISE = "critical range: marks out of it on both sides differ by more than noise"
_FLOOR = "seed floor, one standard deviation to either side"


def _range_words(r: BenchmarkRange) -> str:
    ends = sorted(r.arm_means.items(), key=lambda pair: (pair[1], pair[0]))
    span = f" from {ends[0][0]} ({number(ends[0][1])}) to {ends[-1][0]} ({number(ends[-1][1])})" if ends else ""
    return f"{r.benchmark}: range {number(r.value)}{span}, critical {number(r.critical)}"


def _strip(result: StudyResult, row: BenchmarkRange, scale: Scale, top: float) -> list[str]:
    label = f"range {number(row.value)}, critical {number(row.critical)}"
    middle = top + 30
    body = [
        svg.text(4, top + 12, svg.fitted(row.benchmark, 56 - len(label)), look="name"),
        svg.text(svg.WIDTH - 4, top + 12, label, "end"),
        *_bands(row, scale, middle),
        svg.line(scale.start, middle, scale.end, middle),
    ]
    finals = {arm.name: words.side(arm.final_policy, result.settings) for arm in words.arms(result)}
    lanes = {"a": -6.0, "mixed": 0.0, "b": 6.0}
    for name in words.in_order(row.arm_means, [arm.name for arm in words.arms(result)]):
        kind = finals.get(name, "mixed")
        tip = f"{name}: {number(row.arm_means[name])}"
        hollow = _is_small(result, name)
        body.append(svg.mark(kind, scale(row.arm_means[name]), middle + lanes[kind], tip, is_hollow=hollow))
    return body


def _bands(row: BenchmarkRange, scale: Scale, middle: float) -> list[str]:
    """Return the critical range around the middle of the arms, moved into [0, 1] where it would leave it.

    Marks lie out of it on both sides exactly where the range exceeds the critical one; moved, it holds all marks.
    """
    if not row.arm_means:
        return []
    centre = (min(row.arm_means.values()) + max(row.arm_means.values())) / 2
    made = []
    for width, look in ((row.critical, "noise"), (2 * row.sigma_seed if row.sigma_seed else None, "floor")):
        if width is not None:
            low = min(max(0.0, centre - width / 2), max(0.0, 1 - width))
            made.append(svg.rect(scale(low), scale(low + width), middle - 14, 28, look))
    return made


# ---------------------------------------------------------------- capability against agreement


def capability(result: StudyResult) -> str:
    """Return the scatter of arms: agreement with A across, capability up, with intervals where they are known."""
    table = words.measured(result)
    arms = [arm for arm in words.arms(result) if not arm.control]
    found = [
        (arm, words.pick(table, arm.name, "agreement_a", "native"), words.pick(table, arm.name, "auroc_concordant"))
        for arm in arms
    ]
    drawn = [(arm, x, y) for arm, x, y in found if x.value is not None and y.value is not None]
    if not drawn:
        return ""
    low = max(0, math.floor(min((y.low or y.value or 0) for _, _, y in drawn) * 10) - 1) / 10
    across, up = Scale(0, 1, LEFT, RIGHT), Scale(low, 1, 230, 26)
    a = result.settings.policies[0].name
    body = svg.axis_x(across, _QUARTERS, [(26, 230)], 230, svg.fitted(f"agreement with {a} on discordant prompts", 50))
    step = 0.05 if low >= 0.75 else 0.1
    ticks = [(low + step * k, f"{low + step * k:.2f}") for k in range(round((1 - low) / step) + 1)]
    body += svg.axis_y(up, ticks, LEFT, RIGHT, f"capability: AUROC on concordant prompts, from {low:g}")
    for arm, x, y in drawn:
        kind = words.side(arm.final_policy, result.settings)
        tip = f"{arm.name}: agreement {number(x.value)}, capability {number(y.value)}"
        body += _whiskers(x, y, across, up, kind)
        where = across(x.value or 0), up(y.value or 0)
        body.append(svg.mark(kind, *where, tip, is_hollow=_is_small(result, arm.name), size=5.5))
    tips = [f"{arm.name} {number(x.value)}, {number(y.value)}" for arm, x, y in drawn]
    description = f"Agreement, capability by arm: {'; '.join(tips)}.{_left_out(len(found) - len(drawn))}"
    legend = svg.legend(_policy_keys(result))
    return svg.figure("capability", "Capability against policy agreement", description, 266, body, legend)


def _whiskers(x: Estimate, y: Estimate, across: Scale, up: Scale, kind: str) -> list[str]:
    made = []
    if x.low is not None and x.high is not None:
        made.append(svg.line(across(x.low), up(y.value or 0), across(x.high), up(y.value or 0), f"whisker {kind}"))
    if y.low is not None and y.high is not None:
        made.append(svg.line(across(x.value or 0), up(y.low), across(x.value or 0), up(y.high), f"whisker {kind}"))
    return made


def _left_out(n: int) -> str:
    return f" {counted(n, 'undefined one')} not drawn." if n else ""


# ---------------------------------------------------------------- DET


def det(result: StudyResult, which: Literal["a", "b"]) -> str:
    """Return miss against over-refusal over all thresholds under one policy, a line per arm, normal-deviate axes."""
    policy = result.settings.policies["ab".index(which)]
    names = words.in_order(result.det_curves, [arm.name for arm in words.arms(result)])
    known = (policy.name, f"label_{which}", which)
    found = {name: [result.det_curves[name][key] for key in known if key in result.det_curves[name]] for name in names}
    curves = {name: ones[0] for name, ones in found.items() if ones and ones[0]}
    if not curves:
        return ""
    across = Scale(0.001, 0.99, LEFT, RIGHT, svg.deviate)
    up = Scale(0.001, 0.99, 300, 26, svg.deviate)
    body = svg.axis_x(across, _DET_TICKS, [(26, 300)], 300, "over-refusal, %")
    body += svg.axis_y(up, _DET_TICKS, LEFT, RIGHT, "miss, %")
    for name, points in curves.items():
        kind = _side_of(result, name)
        line = [(across(x), up(y)) for x, y in _inside(points, across, up)]
        body.append(svg.curve(line, kind, name, is_hollow=_is_small(result, name)))
    title = f"Miss against over-refusal under {policy.name}"
    description = (
        f"{counted(len(curves), 'arm')}, a line each over all thresholds; axes are normal deviates from 0.1 % to 99 %, "
        "what lies beyond is drawn at the edge. Lower left is better."
    )
    note = ("", "normal-deviate axes; lower left is better")
    return svg.figure(f"det-{which}", title, description, 336, body, svg.legend([*_line_keys(result), note]))


def _inside(points: Sequence[Sequence[float]], across: Scale, up: Scale) -> list[tuple[float, float]]:
    """Return the points within the axes and the ones beside them, so that a line ends at the edge."""
    holds = [across.holds(x) and up.holds(y) for x, y in points]
    near = [any(holds[max(0, place - 1) : place + 2]) for place in range(len(holds))]
    return [(x, y) for (x, y), is_near in zip(points, near, strict=True) if is_near]


# ---------------------------------------------------------------- inheritance


def inheritance(result: StudyResult) -> str:
    """Return each student's inheritance with its interval, controls below it; doses have a figure of their own."""
    rows = [i for i in result.inheritance if i.kind != "dose"]
    if not rows:
        return ""
    bounds = [x for i in rows for x in (i.inheritance.value, i.inheritance.low, i.inheritance.high) if x is not None]
    scale = Scale(max(-1.0, min([-0.25, *bounds])), min(2.0, max([1.25, *bounds])), 12, RIGHT)
    bottom = 38 * len(rows) + 4
    strips = [(38.0 * place + 20, 38.0 * place + 40) for place in range(len(rows))]
    ticks = [(x, f"{x:g}") for x in (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0) if scale.holds(x)]
    body = svg.axis_x(scale, ticks, strips, bottom, "inheritance: 0 none, 1 the teacher's whole policy")
    body += [svg.line(scale(x), top, scale(x), end, "one") for x in (0.0, 1.0) for top, end in strips]
    for place, row in enumerate(rows):
        body += _inherited(result, row, scale, 38 * place + 4)
    said = [f"{i.student} ({i.kind.replace('_', ' ')}): {words.interval(i.inheritance)}" for i in rows]
    title = "Inheritance of the teacher's policy, with 95 % intervals"
    return svg.figure("inheritance", title, "; ".join(said), bottom + 36, body, svg.legend(_teacher_keys(result)))


def _inherited(result: StudyResult, row: Inheritance, scale: Scale, top: float) -> list[str]:
    e, middle, kind = row.inheritance, top + 26, _side_of(result, row.teacher)
    label = words.interval(e) if e.value is not None else "undefined"
    name = svg.fitted(f"{row.kind.replace('_', ' ')}: {words.base(row.student, result)}", 56 - len(label))
    body = [svg.text(4, top + 12, name, look="name"), svg.text(svg.WIDTH - 4, top + 12, label, "end")]
    if e.low is not None and e.high is not None:
        body.append(svg.line(scale(e.low), middle, scale(e.high), middle, f"whisker {kind}"))
        cut = [(scale(x), sign) for x, sign in ((e.low, -1), (e.high, 1)) if not scale.holds(x)]
        body += [
            f'<path class="whisker {kind}" d="M{x - 5 * s:.1f},{middle - 4:.1f} l{5 * s},4 l{-5 * s},4" fill="none"/>'
            for x, s in cut
        ]
    if e.value is not None:
        body.append(svg.mark(kind, scale(e.value), middle, f"{row.student}: {label}", is_hollow=row.kind != "teacher"))
    return body


# ---------------------------------------------------------------- keys


def _policy_keys(result: StudyResult) -> list[tuple[str, str]]:
    a, b = (policy.name for policy in result.settings.policies)
    keys = [(svg.key(svg.mark("a", 0, 0)), f"ends on {a}"), (svg.key(svg.mark("b", 0, 0)), f"ends on {b}")]
    keys.append((svg.key(svg.mark("mixed", 0, 0)), "mixed"))
    return keys + _scale_key(result, svg.key(svg.mark("a", 0, 0, is_hollow=True)), "hollow")


def _line_keys(result: StudyResult) -> list[tuple[str, str]]:
    a, b = (policy.name for policy in result.settings.policies)
    named = (("a", f"ends on {a}"), ("b", f"ends on {b}"), ("mixed", "mixed"))
    keys = [(svg.key(svg.curve([(-8, 0), (8, 0)], kind)), text) for kind, text in named]
    return keys + _scale_key(result, svg.key(svg.curve([(-8, 0), (8, 0)], "a", is_hollow=True)), "dashed")


def _scale_key(result: StudyResult, drawing: str, look: str) -> list[tuple[str, str]]:
    models = result.settings.models
    return [(drawing, f"{look}: model {models[0].name}")] if len(models) > 1 else []


def _teacher_keys(result: StudyResult) -> list[tuple[str, str]]:
    a, b = (policy.name for policy in result.settings.policies)
    return [
        (svg.key(svg.mark("a", 0, 0)), f"teacher of {a}"),
        (svg.key(svg.mark("b", 0, 0)), f"teacher of {b}"),
        (svg.key(svg.mark("a", 0, 0, is_hollow=True)), "hollow: control"),
    ]


def _side_of(result: StudyResult, name: str) -> str:
    final = next((arm.final_policy for arm in words.arms(result) if arm.name == name), "")
    return words.side(final, result.settings)


def _is_small(result: StudyResult, name: str) -> bool:
    """Return whether the arm is of the first model of several: the smallest, by the order of the study file."""
    models = result.settings.models
    model = next((arm.model for arm in words.arms(result) if arm.name == name), "")
    return len(models) > 1 and model == models[0].name


#: Every figure by name, as study_sections asks for it.
FIGURES: dict[str, Callable[[StudyResult], str]] = {
    "ranges_native": lambda result: ranges(result, "native"),
    "ranges_matched_fpr": lambda result: ranges(result, "matched_fpr"),
    "capability": capability,
    "det_a": lambda result: det(result, "a"),
    "det_b": lambda result: det(result, "b"),
    "inheritance": inheritance,
    "dose_weight": lambda result: dose(result, "weight"),
    "dose_temperature": lambda result: dose(result, "temperature"),
}
