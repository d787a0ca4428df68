"""Programs: what is left of a function without its comments, names and formatting, and which items have it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from auditkit.text.items import ItemTexts

#: Name of the view.
PROGRAM = "program"
#: Tokens of a function from which an equal one is a copy: "return sorted(x)[0]" is anyone's.
MIN_TOKENS = 24
#: Where these stand is a matter of formatting, nearly always.
_FREE = frozenset("(),")
#: Texts that are lexed: they define a function, or have a block in braces behind a parameter list.
_LOOKS = r"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+\w+|\)[^\n;{}()]{0,60}\{"
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_DEF = re.compile(r"^([ \t]*)(?:async[ \t]+)?def[ \t]+\w+", re.MULTILINE)
_LINE = re.compile(r"^([ \t]*)(\S)", re.MULTILINE)
#: A line of these at the margin goes on with what stands before it.
_GOES_ON = frozenset(")]}#'\"")

#: Separates the tokens of a form.
_BETWEEN = "\x1f"


@dataclass(frozen=True, slots=True)
class Unit:
    """One function, or one block of a language with braces: its characters [start, end), its tokens as they count."""

    start: int
    end: int
    tokens: tuple[str, ...]

    @property
    def form(self) -> str:
        """The tokens as one text: equal for two functions that differ in comments, names and formatting only."""
        return _BETWEEN.join(self.tokens)


def units_of(text: str) -> list[Unit]:
    """Return the functions of a text that are long enough to be compared, in order.

    Python is cut into its outermost functions and methods, anything else into its fenced blocks, or is one block.
    """
    spans = list(_functions(text))
    lexer = _lexer("python" if spans else "javascript")
    found = (Unit(start, end, _tokens(text[start:end], lexer)) for start, end in spans or _blocks(text))
    return [unit for unit in found if len(unit.tokens) >= MIN_TOKENS]


def _functions(text: str) -> Iterator[tuple[int, int]]:
    """Yield [start, end) of Python's functions that lie in no other one."""
    at = 0
    while match := _DEF.search(text, at):
        margin = len(match.group(1).expandtabs())
        ends = (
            line.start()
            for line in _LINE.finditer(text, match.end())
            if len(line.group(1).expandtabs()) <= margin and line.group(2) not in _GOES_ON
        )
        at = next(ends, len(text))
        yield match.start(), at


def _blocks(text: str) -> list[tuple[int, int]]:
    return [match.span(1) for match in _FENCE.finditer(text)] or [(0, len(text))]


def _lexer(language: str) -> Any:
    # Importing pygments takes a tenth of a second, and few audits have programs.
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language)


def _tokens(code: str, lexer: Any) -> tuple[str, ...]:
    """Return the tokens of code without comments and docstrings; names are n1, n2 ... in the order of first use.

    Attributes ("append") keep their names: they are rarely the program's own.
    """
    from pygments.token import Comment, Name, String, Text

    names, found = dict[str, str](), list[str]()
    for kind, value in lexer.get_tokens(code):
        if kind in Comment or kind in String.Doc or kind in Text or not value.strip() or value in _FREE:
            continue
        if kind in Name and kind not in Name.Builtin and found[-1:] != ["."]:
            value = names.setdefault(value, f"n{len(names) + 1}")
        elif kind in String and value in ("'", '"', '"""', "'''", "`"):
            value = '"'
        found.append(value)
    return tuple(found)


@dataclass(frozen=True)
class ProgramIndex:
    """Functions of the benchmarks.

    Attributes:
        texts_of: form -> indexes of the distinct item texts that have it.
        n_items: items that have such a function.
        n_text_only: items that look like programs and have none that is long enough: they are matched as text.
    """

    texts_of: Mapping[str, tuple[int, ...]]
    n_items: int = 0
    n_text_only: int = 0

    @staticmethod
    def of(texts: ItemTexts) -> ProgramIndex:
        """Return the index of the benchmarks' items; of an item the longest function counts, helpers do not.

        A question that is completed by its answer is one program; the match is then one of the answer.
        """
        own = texts.parts.filter(pl.col("text_index") < texts.n_own, pl.col("kind") != "context")
        likely = own.filter(pl.col("text").str.contains(_LOOKS).any().over("benchmark", "item"))
        texts_of, n_text_only = dict[str, set[int]](), 0
        items = likely.group_by("benchmark", "item", maintain_order=True).agg("text", "text_index")
        for parts, indexes in items.select("text", "text_index").iter_rows():
            units = [unit for text in ["".join(parts), *parts] for unit in units_of(text)]
            n_text_only += not units
            if units:
                longest = max(units, key=lambda unit: len(unit.tokens))
                texts_of.setdefault(longest.form, set()).add(indexes[-1])
        sorted_of = {form: tuple(sorted(found)) for form, found in texts_of.items()}
        return ProgramIndex(sorted_of, len(items) - n_text_only, n_text_only)

    def find(self, texts: pl.Series) -> pl.DataFrame:
        """Return where functions of the items stand: `unit`, `text`, `row_start`, `row_end` (Int64), in order."""
        likely = texts.str.contains(_LOOKS).arg_true() if self.texts_of else pl.Series([], dtype=pl.UInt32)
        found = [
            (i, text, unit.start, unit.end)
            for i in likely.to_list()
            for unit in units_of(texts[i])
            for text in self.texts_of.get(unit.form, ())
        ]
        columns = dict.fromkeys(["unit", "text", "row_start", "row_end"], pl.Int64)
        return pl.DataFrame(found, schema=columns, orient="row")
