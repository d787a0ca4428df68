r"""Labels of policies: how a person declares them, and how a column of any type becomes 1, 0 or null.

    SPEC  = POLICY "=" COLUMN [ ":" VALUE "=" LABEL { "," VALUE "=" LABEL } ]
    LABEL = 1 | 0 | null

Any of POLICY, COLUMN and VALUE that holds one of = : , " or spaces at its ends is written in double quotes, with \" and
\\ inside them: `harm="is:harmful":"yes, clearly"=1,no=0`. COLUMN may be a path into structs ("scores.harm").
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from auditkit.errors import UsageError
from auditkit.records import LabelRule

_TRUE = """true 1 1.0 yes y t harmful unsafe toxic block blocked flag flagged malicious hateful hate offensive abusive
    dangerous disallowed violation violating violates unacceptable jailbreak injection attack"""
_FALSE = """false 0 0.0 no n f benign safe allow allowed harmless unharmful unflagged clean acceptable permitted
    nontoxic
    nonhateful nonoffensive nonharmful inoffensive"""
_NEGATABLE = "harmful unsafe toxic blocked flagged malicious hateful hate offensive abusive dangerous violating"

#: The map of a rule without one of its own. Value as text, casefolded -> label.
DEFAULT_VALUES: dict[str, int | None] = {
    **dict.fromkeys(_TRUE.split(), 1),
    **dict.fromkeys(_FALSE.split(), 0),
    **{
        f"{prefix}{word}": 0
        for word in _NEGATABLE.split()
        for prefix in ("not ", "not_", "not-", "non-", "non_", "non ")
    },
}
_TOKEN = re.compile(r'\s*(?:"(?P<quoted>(?:[^"\\]|\\["\\])*)"|(?P<plain>[^=:,"\s](?:[^=:,"]*[^=:,"\s])?))\s*')
_HOW = "expected POLICY=COLUMN or POLICY=COLUMN:VALUE=1,VALUE=0,VALUE=null, parts with = : , in double quotes"
_LABELS: dict[str, int | None] = {"1": 1, "0": 0, "null": None}


def parse_label(spec: str) -> LabelRule:
    """Return the rule that a spec declares: `harm=is_harmful`, or `harm=verdict:unsafe=1,safe=0,unsure=null`.

    Booleans of the other polarity: `harm=is_safe:true=0,false=1`. Without a map of its own a rule uses DEFAULT_VALUES.

    Raises:
        UsageError: a spec of another form, a label that is not 1, 0 or null, or a value mapped twice.
    """
    policy, at = _token(spec, 0, "=")
    column, at = _token(spec, at, ":")
    values: dict[str, int | None] = {}
    while at <= len(spec):
        value, at = _token(spec, at, "=")
        label, at = _token(spec, at, ",")
        if label.casefold() not in _LABELS:
            raise UsageError(f"label {spec!r}: value {value!r} is mapped to {label!r}; expected 1, 0 or null")
        if value.casefold() in values:
            raise UsageError(f"label {spec!r}: value {value!r} is mapped twice; map each value once")
        values[value.casefold()] = _LABELS[label.casefold()]
    if policy == "row" or not policy.isprintable():
        raise UsageError(f"label {spec!r}: a policy cannot be called {policy!r}; choose another name")
    return LabelRule(policy, column, values)


def _token(spec: str, at: int, end: str) -> tuple[str, int]:
    """Return the part that starts at `at`, and where the next one starts; `end` must follow it.

    After COLUMN and after a label the spec may end: the next one then starts beyond it.
    """
    found = _TOKEN.match(spec, at)
    if found is None:
        raise UsageError(f"label {spec!r}: nothing to read at character {at}; {_HOW}")
    quoted = found["quoted"]
    text = found["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    after = spec[found.end() : found.end() + 1]
    if after != end and not (after == "" and end in ":,"):
        raise UsageError(
            f"label {spec!r}: {after or 'the end'!r} at character {found.end()} instead of {end!r}; {_HOW}"
        )
    if not text:
        raise UsageError(f"label {spec!r}: an empty name at character {at}; {_HOW}")
    return text, found.end() + 1


def parse_labels(specs: Iterable[str]) -> tuple[LabelRule, ...]:
    """Return the rules of several specs.

    Raises:
        UsageError: a bad spec, or a policy that is named twice.
    """
    return check_rules(tuple(parse_label(spec) for spec in specs))


def check_rules(rules: tuple[LabelRule, ...]) -> tuple[LabelRule, ...]:
    """Return `rules` if every policy is named once.

    Raises:
        UsageError: a policy that is named twice.
    """
    seen: dict[str, str] = {}
    for rule in rules:
        if rule.policy in seen:
            raise UsageError(
                f"policy {rule.policy!r} is declared twice, from column {seen[rule.policy]!r} and from "
                f"{rule.column!r}; name each policy once"
            )
        seen[rule.policy] = rule.column
    return rules


UNMAPPED = "unmapped"


def label_of(value: Any, rule: LabelRule) -> int | str | None:
    """Return 1 or 0, None for a null (null, NaN, empty text, mapped to null), or UNMAPPED."""
    text = value_text(value)
    if text is None:
        return None
    known = rule.values or DEFAULT_VALUES
    if text in known:
        return known[text]
    return None if not text else UNMAPPED


def value_text(value: Any) -> str | None:
    """Return a label value as maps spell it: casefolded, booleans "true"/"false", 1.0 as "1"; None for null and NaN."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.strip().casefold()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value).casefold()
