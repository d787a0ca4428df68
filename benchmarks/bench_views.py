"""The results of scripts/bench as a table for a terminal or a page, and as a figure: bars of MB/s, in SVG."""

from __future__ import annotations

from html import escape
from typing import Any

from contenders import OURS

KINDS = ("verbatim", "case", "punctuation", "wrapped", "embedded", "truncated", "typo", "substituted")
HEAD = ("", "pool, MB", "s", "MB/s", "auditkit is", "peak, MB", *KINDS, "false rows")

WIDTH, NAME_WIDTH, BAR_WIDTH, ROW, TOP = 720, 190, 400, 26, 34


def table(content: dict[str, Any]) -> str:
    """Return a Markdown table, and what was not run."""
    rows = [_cells(one) for one in content["contenders"]]
    if content["contenders"] and content["contenders"][0]["name"] == OURS:
        rows.insert(1, _review_cells(content["contenders"][0]))
    lines = [_line(HEAD), _line(["---"] + ["--:"] * (len(HEAD) - 1)), *map(_line, rows)]
    lines += [f"\nNot run: {one['name']} ({one['reason']})" for one in content["not_run"]]
    return "\n".join(lines) + "\n"


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(one: dict[str, Any]) -> list[str]:
    ratio = one.get("auditkit_times_as_fast")
    times = "" if ratio is None or one["name"] == OURS else f"{ratio:.1f} x"
    speed = [f"{one['megabytes']:g}", f"{one['seconds']:.1f}", _speed(one), times]
    return [one["name"], *speed, f"{one['peak_megabytes']:,}", *_recall(one), f"{one['n_false_rows']:,}"]


def _review_cells(ours: dict[str, Any]) -> list[str]:
    found = ours["with_review"]
    return [f"{OURS}, review too", "", "", "", "", "", *_recall(found), f"{found['n_false_rows']:,}"]


def _speed(one: dict[str, Any]) -> str:
    speed = one["megabytes_per_second"]
    return f"{speed:.1f}" if speed >= 1 else f"{speed:.2g}"


def _recall(one: dict[str, Any]) -> list[str]:
    return [f"{one['recall'][kind]:.3f}" if kind in one["recall"] else "" for kind in KINDS]


def figure(content: dict[str, Any]) -> str:
    """Return bars of MB/s, fastest first."""
    bars = sorted(content["contenders"], key=lambda one: -one["megabytes_per_second"])
    most = max((one["megabytes_per_second"] for one in bars), default=1)
    height = TOP + ROW * len(bars) + 8
    title = (
        f"MB of prompts a second (and peak memory), {content['machine']['n_cores']} cores, {content['n_items']:,} items"
    )
    said = "; ".join(f"{one['name']} {_speed(one)}" for one in bars)
    body = "\n".join(_bar(one, place, most) for place, one in enumerate(bars))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-labelledby="title desc" font-family="sans-serif" font-size="13">\n'
        f'<title id="title">{escape(title)}</title>\n<desc id="desc">{escape(said)}</desc>\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        f'<text x="8" y="20" font-weight="bold" fill="#1f2328">{escape(title)}</text>\n{body}\n</svg>\n'
    )


def _bar(one: dict[str, Any], place: int, most: float) -> str:
    top, width = TOP + ROW * place, max(1.0, BAR_WIDTH * one["megabytes_per_second"] / most)
    colour = "#1f6feb" if one["name"].startswith(OURS) else "#8c959f"
    label = f"{_speed(one)} MB/s, {one['peak_megabytes']:,} MB"
    middle = top + 15
    return (
        f'<text x="{NAME_WIDTH}" y="{middle}" text-anchor="end" fill="#1f2328">{escape(one["name"])}</text>'
        f'<rect x="{NAME_WIDTH + 8}" y="{top + 3}" width="{width:.1f}" height="{ROW - 8}" fill="{colour}"/>'
        f'<text x="{NAME_WIDTH + 14 + width:.1f}" y="{middle}" fill="#1f2328">{label}</text>'
    )
