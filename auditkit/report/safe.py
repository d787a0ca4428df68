"""Hostile text made harmless for a terminal and for a spreadsheet. Pool text is data: nothing here interprets it."""

from __future__ import annotations

import re
import sys
from typing import TextIO

from rich.console import Console
from rich.text import Text

#: What a reader cannot see, or what a terminal, a browser or an editor acts on instead of showing:
#: C0, DEL and C1 controls; soft hyphen; joiners and other zero-width characters; bidirectional controls; line and
#: paragraph separators; invisible letters and fillers; interlinear anchors; tags; variation selectors except the two
#: that choose between text and emoji form; lone surrogates; noncharacters.
_UNSAFE_RANGES = (
    "\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
UNSAFE = re.compile(f"[{_UNSAFE_RANGES}]")
_UNSAFE_BUT_NEWLINE = re.compile(f"(?!\n)[{_UNSAFE_RANGES}]")
_MARKS = {"\n": "⏎", "\t": "⇥"}

#: A spreadsheet takes a cell that starts with one of these (or their full-width twins) for a formula.
_FORMULA = re.compile(r"[\s\ufeff\u200b]*[=+\-@＝＋－＠]|[\t\r\n]")


def shown(text: str, *, one_line: bool = True) -> str:
    r"""Return `text` with every invisible or acting character as a visible escape, for example ``<U+202E>``.

    Tabs are shown as ⇥. Newlines (``\r\n`` too) are shown as ⏎, or kept as ``\n`` where `one_line` is False.
    The result holds no escape sequence, but may hold rich markup: print it as `plain(text)`, never as a string.
    """
    text = text.replace("\r\n", "\n")
    return (UNSAFE if one_line else _UNSAFE_BUT_NEWLINE).sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _MARKS.get(char, f"<U+{ord(char):04X}>")


def plain(text: str, style: str = "", *, one_line: bool = True) -> Text:
    """Return `shown(text)` as a rich Text, which no console reads as markup, emoji code or highlight."""
    return Text(shown(text, one_line=one_line), style=style)


def csv_cell(text: str) -> str:
    """Return `text` so that no spreadsheet takes it for a formula: with a leading apostrophe where it could be one."""
    return f"'{text}" if _FORMULA.match(text) else text


class _Console(Console):
    """A console that leaves a closed pipe to its caller; rich would exit with status 1, which is the gate's."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(file: TextIO | None = None, *, width: int | None = None) -> Console:
    """Return a console for hostile text: no markup, emoji codes or highlighting; NO_COLOR and pipes respected.

    What the stream's encoding lacks is written as a backslash escape, so that no text can stop the report.
    """
    stream = file if file is not None else sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    return _Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
