"""Short ways into the lexical core for tests: texts -> items, rows, candidates, verified pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.detect.exact import ExactDetector
from auditkit.detect.minhash import MinHashDetector
from auditkit.detect.protocol import Rows
from auditkit.detect.seeds import SeedDetector
from auditkit.text.items import ItemTexts, distinct_texts
from auditkit.text.normalise import tokenise
from auditkit.verify.items import prepare
from auditkit.verify.matches import Verified, verify
from auditkit.verify.rules import Rules, default_rules

LEXICAL = frozenset(["exact", "contained", "near"])


def item_frame(parts: Sequence[str | dict[str, Any]]) -> pl.DataFrame:
    """Return frame tables.ITEMS: a string is the question of its own item; a dict sets any columns of a part."""
    records = []
    for i, part in enumerate(parts):
        given = {"text": part} if isinstance(part, str) else part
        number = given.get("item", i)
        usual = {"benchmark": "b", "item": number, "item_id": f"id-{number}", "part": "text", "kind": "question"}
        records.append({**dict.fromkeys(tables.ITEMS), **usual, **given})
    return pl.DataFrame(records, schema=tables.ITEMS, orient="row")


def items_of(parts: Sequence[str | dict[str, Any]], min_answer_tokens: int = 8) -> ItemTexts:
    return distinct_texts(item_frame(parts), min_answer_tokens=min_answer_tokens)


def rows_of(texts: Sequence[str]) -> Rows:
    series = pl.Series(texts, dtype=pl.String)
    return Rows(series, tokenise(series))


def rules_with(**sections: dict[str, Any]) -> Rules:
    """Return the default rules with some changed: rules_with(near={"ratio": 0.95})."""
    rules = default_rules()
    return dataclasses.replace(
        rules, **{name: dataclasses.replace(getattr(rules, name), **values) for name, values in sections.items()}
    )


def candidates_of(items: ItemTexts, rows: Rows) -> pl.DataFrame:
    """Return the candidates of all lexical detectors."""
    return pl.concat([d.index(items).scan(rows) for d in (ExactDetector(), SeedDetector(), MinHashDetector())])


def verified(
    parts: Sequence[str | dict[str, Any]],
    rows: Sequence[str],
    rules: Rules | None = None,
    tiers: frozenset[str] = LEXICAL,
) -> Verified:
    """Return the verified pairs of rows and items, by all lexical detectors."""
    items, shard = items_of(parts), rows_of(rows)
    return verify(
        candidates_of(items, shard), shard.texts, shard.tokens, prepare(items, rules or default_rules()), tiers
    )


def only(found: Verified) -> dict[str, Any]:
    """Return the one verified pair there is."""
    assert len(found.pairs) == 1, found.pairs
    return found.pairs.row(0, named=True)
