"""The frame of report.html: its style sheet and the small functions that build escaped elements."""

from __future__ import annotations

import html
from collections.abc import Iterable

from auditkit.report.grids import Grid
from auditkit.report.safe import shown

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #d5dae0; --paper: #fff; --panel: #f4f6f8;
  --exact: #b3261e; --contained: #d9740b; --near: #a88600; --paraphrase: #6b4fbb; --review: #8aa4bf; --curve: #1f6feb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #9aa5b1; --line: #37404a; --paper: #14181d;
  --panel: #1d232a; --exact: #ff7b72; --contained: #f0a04b; --near: #dcc04a; --paraphrase: #b39df3; --review: #5d7a99;
  --curve: #6cb0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 66rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); } small { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { text-align: right; padding: .35rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; }
th[scope=row] { color: var(--ink); min-width: 11rem; vertical-align: top; }
thead th { overflow-wrap: normal; }
th.text, td.text { text-align: left; } td.none { color: var(--soft); }
table.cards td { white-space: nowrap; }
.scroll { overflow-x: auto; overflow-wrap: break-word; margin: .5rem 0 1.2rem; }
.scroll td.long { overflow-wrap: anywhere; min-width: 12rem; }
.bar { display: flex; height: .6rem; width: 100%; min-width: 8rem; background: var(--panel); outline: 1px solid
  var(--line); margin-top: .3rem; }
.bar i { display: block; height: 100%; min-width: 1px; } .key { display: inline-block; width: .8rem; height: .8rem;
  margin: 0 .3rem 0 .9rem; vertical-align: -.05rem; }
.exact { background: var(--exact); } .contained { background: var(--contained); } .near { background: var(--near); }
.paraphrase { background: var(--paraphrase); } .review { background: var(--review); }
.cite { user-select: all; background: var(--panel); border-left: 3px solid var(--line); padding: .6rem .8rem;
  margin: .5rem 0; }
pre, .mono { font: .85rem/1.5 ui-monospace, monospace; }
pre { white-space: pre-wrap; background: var(--panel); padding: .6rem .8rem; margin: 0; }
details { margin: .4rem 0; } summary { cursor: pointer; }
svg { display: block; width: 100%; max-width: 26rem; height: auto; } svg text { fill: var(--soft); font-size: 10px; }
@media (max-width: 44rem) {
  table.cards thead { position: absolute; left: -9999px; }
  table.cards tr { display: grid; grid-template-columns: 1fr 1fr; padding: .7rem 0;
    border-bottom: 1px solid var(--line); }
  table.cards th, table.cards td { border: 0; padding: .1rem .4rem; text-align: left; }
  table.cards th[scope=row] { grid-column: 1 / -1; }
  table.cards td::before { content: attr(data-label) ": "; color: var(--soft); }
}
"""

#: Nothing may be fetched or run, whatever a name in the report says.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_LONG = 30


def esc(text: str) -> str:
    """Return `text` for HTML, as content or quoted attribute; control and bidirectional characters made visible."""
    return html.escape(shown(text), quote=True)


def document(title: str, body: Iterable[str], style: str = "") -> str:
    """Return a whole page; `body` holds finished elements, `title` is text, `style` more of our own style sheet."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{esc(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def section(title: str, *body: str) -> str:
    """Return a titled section, or nothing where no part has content."""
    parts = [part for part in body if part]
    return f"<section>\n<h2>{esc(title)}</h2>\n" + "\n".join(parts) + "\n</section>" if parts else ""


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of text."""
    return f'<p class="{kind}">{esc(text)}</p>' if kind else f"<p>{esc(text)}</p>"


def bullets(lines: Iterable[str]) -> str:
    """Return a list of texts, or nothing for none."""
    items = "".join(f"<li>{esc(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def table(grid: Grid) -> str:
    """Return a table, or nothing where it has no rows. Cells are escaped here."""
    if not grid.rows:
        return ""
    head = "".join(
        f'<th scope="col"{_kind(place, grid)}>{esc(header)}</th>' for place, header in enumerate(grid.headers)
    )
    body = "\n".join(
        "<tr>" + "".join(f"<td{_kind(place, grid, cell)}>{esc(cell)}</td>" for place, cell in enumerate(row)) + "</tr>"
        for row in grid.rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def folded(title: str, body: str) -> str:
    """Return `body` behind a line that opens it, or nothing where it is empty."""
    return f"<details><summary>{esc(title)}</summary>\n{body}\n</details>" if body else ""


def _kind(place: int, grid: Grid, cell: str = "") -> str:
    """Return the class attribute of a cell: words stand left, and a word as long as a digest may be broken."""
    kinds = ["text"] if place < grid.n_text else []
    kinds += ["long"] if any(len(word) > _LONG for word in cell.split()) else []
    return f' class="{" ".join(kinds)}"' if kinds else ""
