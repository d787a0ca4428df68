"""Public text by its looks: what is marked among texts written for it, and what is easily mistaken and is not."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from auditkit.text.public import public_kind, public_kinds

Examples = Mapping[str, Sequence[str]]
EXAMPLES: dict[str, Examples] = tomllib.loads(Path(__file__).with_name("public_examples.toml").read_text("utf-8"))


def measured(examples: Examples) -> dict[str, tuple[int, int, int]]:
    """Return kind -> (marked as it, of these rightly, examples of it)."""
    marks = [(kind, public_kind(text)) for kind, texts in examples.items() for text in texts]
    return {
        kind: (sum(mark == kind for _, mark in marks), marks.count((kind, kind)), len(examples[kind]))
        for kind in ("quotation", "encyclopaedia", "statute")
    }


def test_the_figures_of_the_docs_hold(root: Path) -> None:
    page = (root / "docs" / "public-text.md").read_text("utf-8")
    for name, examples in EXAMPLES.items():
        for kind, (n_marked, n_right, n_all) in measured(examples).items():
            line = f"| {kind} | {name.replace('_', ' ')} | {n_marked} | {n_right} | {n_all} |"
            assert line in page, line
        assert f"{len(examples['none'])} of another kind" in page


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_marked_is_marked_rightly_nine_times_in_ten(name: str) -> None:
    marked, right, _ = map(sum, zip(*measured(EXAMPLES[name]).values(), strict=True))
    assert right >= 0.9 * marked > 0


def test_many_texts_at_once_are_marked_as_one_by_one() -> None:
    texts = [text for examples in EXAMPLES.values() for several in examples.values() for text in several]
    assert public_kinds(pl.Series(texts)) == [public_kind(text) for text in texts]


@pytest.mark.parametrize("text", ["", " ", "?!", '""', "§", "[1][2]", '"' * 50, "(" * 50, "— —"])
def test_odd_texts_are_no_public_text(text: str) -> None:
    assert public_kind(text) == ""
