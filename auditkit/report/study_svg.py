"""Small pieces of SVG: scales, axes, marks, a figure with title and description. Names in it are escaped here.

Drawings are 360 units wide, so that a phone shows them at their own size; colours are CSS variables of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from rich.cells import cell_len

from auditkit.report.page import esc
from auditkit.report.safe import shown

WIDTH = 360
LEFT, RIGHT = 40, 348

#: Style of the figures. A, B and mixed differ by shape too, so that no reader needs the colours.
STYLE = """
:root { --a: #1f6feb; --b: #c2570c; --mixed: #6b4fbb; --noise: #d9dee4; --floor: #aab4bf; }
@media (prefers-color-scheme: dark) { :root { --a: #6cb0ff; --b: #f0a04b; --mixed: #b39df3; --noise: #323b45;
  --floor: #566270; } }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1.5rem 2rem;
  margin: .8rem 0 1.2rem; align-items: start; }
.figures figure { margin: 0; min-width: 0; } figcaption { font-size: .9rem; margin-bottom: .4rem; }
.figures svg.plot { max-width: 32rem; } svg.plot text { font-size: 11px; paint-order: stroke;
  stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; } svg text.name { fill: var(--ink); }
svg .axis { stroke: var(--line); } svg .one { stroke: var(--soft); stroke-dasharray: 3 3; }
svg .noise { fill: var(--noise); } svg .floor { fill: var(--floor); }
.a { --own: var(--a); } .b { --own: var(--b); } .mixed { --own: var(--mixed); }
svg .mark { fill: var(--own); stroke: var(--paper); stroke-width: 1; }
svg .mark.hollow { fill: var(--paper); stroke: var(--own); stroke-width: 2; }
svg .whisker { stroke: var(--own); stroke-width: 1.5; }
svg .curve { fill: none; stroke: var(--own); stroke-width: 1.5; }
svg .curve.hollow { stroke-dasharray: 5 3; }
.legend { color: var(--soft); } .legend > span { display: inline-block; margin-right: .9rem; }
svg.sample { display: inline-block; width: 16px; height: 14px; vertical-align: -2px; margin-right: .3rem; }
"""


@dataclass(frozen=True)
class Scale:
    """A straight map of [low, high] to [start, end]; what lies outside is drawn at the edge."""

    low: float
    high: float
    start: float
    end: float
    through: Callable[[float], float] = float

    def __call__(self, x: float) -> float:
        """Return where `x` stands in the drawing."""
        low, high = self.through(self.low), self.through(self.high)
        share = (self.through(min(max(x, self.low), self.high)) - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def holds(self, x: float) -> bool:
        """Return whether `x` lies on the axis."""
        return self.low <= x <= self.high


def deviate(rate: float) -> float:
    """Return the normal deviate of a rate in (0, 1): the axes of a DET curve (Martin et al. 1997)."""
    return NormalDist().inv_cdf(rate)


def figure(name: str, title: str, description: str, height: float, body: Iterable[str], legend: str = "") -> str:
    """Return a figure: caption, legend, drawing; screen readers get title and description."""
    return (
        f'<figure><figcaption>{esc(title)}{legend}</figcaption>\n<svg class="plot" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{esc(title)}</title>'
        f'<desc id="{name}-desc">{esc(description)}</desc>\n' + "\n".join(body) + "\n</svg></figure>"
    )


def legend(keys: Iterable[tuple[str, str]]) -> str:
    """Return a line of (finished key drawing, text)."""
    spans = "".join(f"<span>{drawing}{esc(text)}</span> " for drawing, text in keys)
    return f'<br><span class="legend">{spans}</span>'


def key(body: str) -> str:
    """Return a small drawing for a legend, 16 by 14 around (0, 0)."""
    return f'<svg class="sample" viewBox="-8 -7 16 14" aria-hidden="true">{body}</svg>'


def mark(kind: str, x: float, y: float, name: str = "", *, is_hollow: bool = False, size: float = 4.5) -> str:
    """Return a circle for "a", a square for "b", a diamond for "mixed"; `name` shows when pointed at."""
    look = f'class="mark {kind}{" hollow" if is_hollow else ""}"'
    inner = f"<title>{esc(name)}</title>" if name else ""
    if kind == "a":
        return f'<circle {look} cx="{x:.1f}" cy="{y:.1f}" r="{size}">{inner}</circle>'
    r = size * (0.9 if kind == "b" else 1.25)
    square = [(-r, -r), (r, -r), (r, r), (-r, r)] if kind == "b" else [(0.0, -r), (r, 0.0), (0.0, r), (-r, 0.0)]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in square)
    return f'<polygon {look} points="{points}">{inner}</polygon>'


def line(x1: float, y1: float, x2: float, y2: float, look: str = "axis") -> str:
    """Return a straight line."""
    return f'<line class="{look}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def rect(x1: float, x2: float, y: float, height: float, look: str) -> str:
    """Return a bar from x1 to x2."""
    return f'<rect class="{look}" x="{x1:.1f}" y="{y:.1f}" width="{max(0.0, x2 - x1):.1f}" height="{height:.1f}"/>'


def curve(points: Sequence[tuple[float, float]], kind: str, name: str = "", *, is_hollow: bool = False) -> str:
    """Return a line through points; neighbours closer than a unit are drawn once."""
    kept: list[tuple[float, float]] = []
    for x, y in points:
        if not kept or abs(x - kept[-1][0]) + abs(y - kept[-1][1]) >= 1:
            kept.append((x, y))
    path = " L".join(f"{x:.1f},{y:.1f}" for x, y in kept)
    inner = f"<title>{esc(name)}</title>" if name else ""
    return f'<path class="curve {kind}{" hollow" if is_hollow else ""}" d="M{path}">{inner}</path>'


def text(x: float, y: float, words: str, anchor: str = "start", look: str = "") -> str:
    """Return a line of text; what is longer than the drawing is cut with an ellipsis, never let out of it."""
    kind = f' class="{look}"' if look else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{esc(words)}</text>'


def fitted(words: str, n_cells: int) -> str:
    """Return text of at most that many columns of a terminal, cut with "…" where it is longer."""
    words = shown(words)
    if cell_len(words) <= n_cells:
        return words
    while cell_len(words) > n_cells - 1:
        words = words[:-1]
    return words + "…"


def axis_x(
    scale: Scale, ticks: Sequence[tuple[float, str]], rows: Sequence[tuple[float, float]], bottom: float, name: str
) -> list[str]:
    """Return the ticks of a horizontal axis with lines through `rows` (from, to), and its name below."""
    made = [line(scale(x), top, scale(x), end) for x, _ in ticks for top, end in rows]
    made += [text(scale(x), bottom + 14, label, "middle") for x, label in ticks]
    return [*made, text((scale.start + scale.end) / 2, bottom + 30, name, "middle")]


def axis_y(scale: Scale, ticks: Sequence[tuple[float, str]], left: float, right: float, name: str) -> list[str]:
    """Return the ticks of a vertical axis with lines to `right`, and its name above."""
    made = [line(left, scale(y), right, scale(y)) for y, _ in ticks]
    made += [text(left - 5, scale(y) + 4, label, "end") for y, label in ticks]
    return [*made, text(4, min(scale.start, scale.end) - 12, name)]
