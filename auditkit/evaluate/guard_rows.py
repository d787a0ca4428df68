"""Predictions of any guard in long form: which column means what, and what its values say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from auditkit.errors import BadRecordError, FieldError, LabelError, nearest
from auditkit.evaluate.scored import STATUSES

#: Meaning -> column names that are taken for it, the first that is there (case does not matter).
ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("id", "item_id", "sample_id", "prompt_id", "uid", "item", "prompt", "text"),
    "score": ("score", "unsafe_score", "p_unsafe", "p_flag", "probability", "prob"),
    "decision": ("decision", "unsafe_label", "flagged", "is_flagged", "unsafe", "prediction", "predicted", "verdict"),
    "status": ("status",),
    "guard": ("arm", "guard", "guard_model", "model"),
    "seed": ("seed", "epoch"),
    "set": ("set", "benchmark", "dataset"),
    "label_a": ("label_a",),
    "label_b": ("label_b",),
    "expected": ("expected", "label", "target", "gold", "ground_truth"),
    "group": ("group", "family"),
    "source": ("source",),
}
LABELS = ("label_a", "label_b", "expected")

#: Verdicts as text, casefolded; a subset of what a pool's label column may say.
_TRUE = "1 1.0 true yes harmful unsafe toxic block blocked flag flagged"
_FALSE = "0 0.0 false no benign safe harmless unharmful allow allowed unflagged"
VERDICTS: dict[str, int] = {**dict.fromkeys(_TRUE.split(), 1), **dict.fromkeys(_FALSE.split(), 0)}


@dataclass(frozen=True)
class Row:
    """One prediction as read."""

    id: str
    score: float | None
    decision: int | None
    status: str
    guard: str
    seed: int
    set: str
    labels: Mapping[str, int | None]
    group: str | None
    source: str | None


@dataclass(frozen=True)
class Reader:
    """How the records of one source are read.

    Attributes:
        location: its name in messages.
        columns: meaning -> column, for the meanings that the source has.

        guard, set_name: what a record without them belongs to.
        verdicts: what a decision or a label may say, casefolded, in place of VERDICTS.
    """

    location: str
    columns: Mapping[str, str]

    guard: str
    set_name: str
    verdicts: Mapping[str, int | None] = field(default_factory=lambda: VERDICTS)

    def row(self, number: int, record: Mapping[str, Any], is_label: bool = False) -> Row:
        """Return one record; of a label nothing is expected to have been said.

        Raises:
            BadRecordError: an id that is missing, or a value that cannot be read.
        """

        def get(meaning: str) -> Any:
            return record.get(self.columns.get(meaning, ""), None)

        score, decision = self._score(number, get("score")), self._verdict(number, "decision", get("decision"))
        return Row(
            id=self._id(number, get("id")),
            score=score,
            decision=decision,
            status="" if is_label else self._status(number, get("status"), score is not None or decision is not None),
            guard=_text(get("guard")) or self.guard,
            seed=self._seed(number, get("seed")),
            set=_text(get("set")) or self.set_name,
            labels={name: self._verdict(number, name, get(name)) for name in LABELS if name in self.columns},
            group=_text(get("group")),
            source=_text(get("source")),
        )

    def _bad(self, number: int, meaning: str, value: object, expected: str) -> BadRecordError:
        column = self.columns.get(meaning, meaning)
        return BadRecordError(self.location, number, f"{column} is {_short(value)}; expected {expected}")

    def _id(self, number: int, value: Any) -> str:
        text = _text(value)
        if text is None:
            raise self._bad(number, "id", value, "an id or a prompt in every record")
        return text

    def _score(self, number: int, value: Any) -> float | None:
        if _is_null(value):
            return None
        try:
            score = float(value)
        except (TypeError, ValueError):
            score = math.nan
        if isinstance(value, bool) or not 0 <= score <= 1:
            raise self._bad(number, "score", value, "a probability in [0, 1], or null")
        return score

    def _verdict(self, number: int, meaning: str, value: Any) -> int | None:
        if _is_null(value):
            return None

        text = str(value).strip().casefold()
        if text not in self.verdicts:
            expected = f"one of {', '.join(self.verdicts)}, or null; map other words with verdicts={{...}}"
            raise self._bad(number, meaning, value, expected)
        return self.verdicts[text]

    def _status(self, number: int, value: Any, has_answer: bool) -> str:
        text = (_text(value) or "").casefold()
        if not text and has_answer:
            return "ok"
        if not text:
            expected = f"a score or a decision, or a status that says what failed ({', '.join(STATUSES[1:])})"
            raise self._bad(number, "status", value, expected)
        if text not in STATUSES or (text == "ok" and not has_answer):
            known = ", ".join(STATUSES)
            raise self._bad(number, "status", value, f"one of {known}, and ok only with a score or a decision")
        return text

    def _seed(self, number: int, value: Any) -> int:
        if _is_null(value):
            return 0
        try:
            seed = int(str(value))
        except ValueError:
            raise self._bad(number, "seed", value, "a whole number") from None
        return seed


def choose_columns(
    present: Sequence[str], location: str, named: Mapping[str, str], policies: Sequence[str]
) -> dict[str, str]:
    """Return meaning -> column for a source with these columns; `named` comes before ALIASES, `policies` are A and B.

    Raises:
        FieldError: a named column is missing, or there is no id.
        LabelError: a policy's column is named and there is none.
    """
    chosen: dict[str, str] = {}
    by_case = {column.casefold(): column for column in reversed(present)}
    for meaning, aliases in ALIASES.items():
        found = next((by_case[alias] for alias in aliases if alias in by_case), None)
        if meaning in named:
            found = _named(named[meaning], present, location)
        if found is not None and found not in chosen.values():
            chosen[meaning] = found
    for meaning, policy in zip(LABELS, policies, strict=False):
        if policy in present:
            chosen[meaning] = policy
    if "id" not in chosen:
        raise FieldError(
            f"{location}: no column of ids or prompts among {shown(present) or 'no columns'}; expected one of "
            f"{', '.join(ALIASES['id'])}, or name it with columns={{'id': ...}}"
        )
    return chosen


def _named(column: str, present: Sequence[str], location: str) -> str:
    if column not in present:
        raise FieldError(
            f"{location}: column {column!r} is missing; columns are {shown(present)}{nearest(column, present)}"
        )
    return column


def check_meanings(named: Mapping[str, str]) -> None:
    """Raise FieldError where `columns` names a meaning that there is not."""
    for meaning in named:
        if meaning not in ALIASES:
            raise FieldError(
                f"columns: unknown meaning {meaning!r}; expected some of {', '.join(ALIASES)}"
                f"{nearest(meaning, ALIASES)}"
            )


def merge_labels(seen: dict[str, int | None], labels: Mapping[str, int | None], set_name: str, item_id: str) -> None:
    """Add a prompt's labels to what earlier rows said of it.

    Raises:
        LabelError: two rows give one prompt different labels.
    """
    for name, label in labels.items():
        known = seen.get(name)
        if label is not None and known is not None and label != known:
            raise LabelError(
                f"prompt {_short(item_id)} of set {set_name!r}: {name} is {known} in one row and {label} in another; "
                f"give each prompt one label of each kind"
            )
        seen[name] = known if label is None else label


def shown(names: Iterable[str]) -> str:
    """Return column names for a message; what cannot be printed is escaped."""
    return ", ".join(name if name.isprintable() else repr(name) for name in names)


def column_names(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns of some records, in order of first appearance."""
    return list(dict.fromkeys(name for record in records for name in record))


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _text(value: Any) -> str | None:
    return None if _is_null(value) else str(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
