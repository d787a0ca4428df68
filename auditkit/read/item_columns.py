"""Which columns of a benchmark's records are parts of its items: as registered, as named by a person, or guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditkit.errors import BenchmarkError, FieldError
from auditkit.read.columns import (
    find_column,
    id_column,
    is_metadata,
    kind_of,
    nearest_column,
    show_columns,
    show_name,
    usual_text_columns,
    words_of,
)  # fmt: skip
from auditkit.read.items import PartColumn, Plan, are_labels
from auditkit.read.registry import Kind, LabelSource, Registered, SliceColumn, TextColumn

Records = Sequence[Mapping[str, Any]]

#: Names of the column that holds the question, first choice first; whole names in words, then as the last word.
QUESTION_NAMES: tuple[str, ...] = (
    "prompt", "question", "goal", "instruction", "forbidden_prompt", "query", "test_case", "problem", "request", "text",
    "sentence", "statement", "behavior", "behaviour", "input", "messages", "conversation", "conversations", "turns",
    "dialogue", "chat", "content", "task",
)  # fmt: skip
#: Names of columns that are read with the question but do not make an item by themselves.
CONTEXT_NAMES: tuple[str, ...] = ("context", "contexts", "context_string", "contextstring", "passage", "document")
#: Names of answers that are long enough to tell an item by. Completions, choices and targets are not taken unasked.
ANSWER_NAMES: tuple[str, ...] = ("answer", "solution", "canonical_solution", "reference_answer")
_ANSWER_WORDS = frozenset({"answer", "solution", "response", "completion", "output", "reply", "choice", "choices"})
_CONTEXT_WORDS = frozenset({"context", "passage", "document"})
_OTHER_WORDS = _ANSWER_WORDS | _CONTEXT_WORDS

LABEL_NAMES: tuple[str, ...] = (
    "label", "expected", "label_gold", "gold_label", "is_harmful", "harmful", "is_unsafe", "unsafe", "is_toxic",
    "toxic", "toxicity", "prompt_harm_label", "prompt_label", "is_safe", "safe", "is_benign", "benign",
)  # fmt: skip
#: Columns whose 1 means "not flagged".
_REVERSED = frozenset({"is_safe", "safe", "is_benign", "benign"})
_REVERSED_VALUES = {"true": 0, "1": 0, "yes": 0, "false": 1, "0": 1, "no": 1}


def column_names(records: Records) -> list[str]:
    """Return every column that a record has, in the order in which they appear."""
    return list(dict.fromkeys(name for record in records for name in record))


def registered_plan(entry: Registered, names: Sequence[str], location: str) -> Plan:
    """Return the registry's plan, spelt as the records spell their columns.

    Raises:
        BenchmarkError: a text column is missing.
    """
    notes = [*entry.notes]
    parts = []
    for column in entry.columns:
        spelt = _first_of(column.names, names)
        if spelt is None and not column.is_optional:
            raise _wrong_columns(entry, column, names, location)
        if spelt is not None:
            parts.append(PartColumn(spelt, column.kind, column.blank))
    where = {spelt: values for column, values in entry.where.items() if (spelt := find_column(column, names))}
    notes += [
        f"column {show_name(column)} is not there, so all records are taken as items"
        for column in entry.where
        if find_column(column, names) is None
    ]
    label, slices = _registered_label(entry, names, notes), _registered_slices(entry, names, notes)
    return Plan(tuple(parts), _first_of(entry.id_columns, names), label, slices, where, tuple(notes))


def _wrong_columns(entry: Registered, column: TextColumn, names: Sequence[str], location: str) -> BenchmarkError:
    wanted = "; ".join(f"{' or '.join(c.names)} ({c.kind})" for c in entry.columns if not c.is_optional)
    return BenchmarkError(
        f"{location}: not {entry.name} as registered: there is no column {column.names[0]}; expected: {wanted}; "
        f"columns seen: {show_columns(names)}; to use the file as it is, give it a name of your own (mine=PATH)"
    )


def _registered_label(entry: Registered, names: Sequence[str], notes: list[str]) -> LabelSource:
    source = entry.label
    spelt = [column for column in (find_column(name, names) for name in source.columns) if column is not None]
    if source.columns and not spelt:
        notes.append(f"no column {' or '.join(source.columns)}, so labels are unknown")
        return LabelSource()
    # A flag that no record has is unknown in every record, so its name stays in the list.
    columns = tuple(find_column(name, names) or name for name in source.columns)
    return LabelSource(source.constant, columns, source.values)


def _registered_slices(entry: Registered, names: Sequence[str], notes: list[str]) -> tuple[SliceColumn, ...]:
    spelt = [(part, find_column(part.column, names)) for part in entry.slices]
    missing = [part.column for part, column in spelt if column is None]
    if missing:
        notes.append(f"no column {' or '.join(missing)}, so items have no slice")
        return ()
    return tuple(SliceColumn(column, part.values) for part, column in spelt if column is not None)


def _first_of(wanted: Sequence[str], names: Sequence[str]) -> str | None:
    return next((column for name in wanted if (column := find_column(name, names)) is not None), None)


def forced_plan(columns: Sequence[str], records: Records, location: str) -> Plan:
    """Return the plan that reads exactly `columns`; their kind goes by their names (context, answer, else question).

    Raises:
        FieldError: a column that is not there.
    """
    names = column_names(records)
    parts = []
    for name in columns:
        column = find_column(name, names)
        if column is None:
            raise FieldError(f"{location}: no column {name!r}{nearest_column(name, names)}")
        parts.append(PartColumn(column, _kind_by_name(column)))
    label, notes = _guessed_label(records, names)
    return Plan(tuple(parts), id_column(names), label, notes=notes)


def _kind_by_name(column: str) -> Kind:
    words = words_of(column)
    if "_".join(words) in CONTEXT_NAMES or (words and words[-1] in _CONTEXT_WORDS):
        return "context"
    return "answer" if words and words[-1] in _ANSWER_WORDS else "question"


def guessed_plan(records: Records, location: str) -> Plan:
    """Return a plan for records of an unregistered benchmark; the choice is told in its notes.

    The question is the best known name (several only where they are alike, such as prompt_en and prompt_zh), else the
    only column that looks like text. Contexts and long answers by their usual names come with it.

    Raises:
        FieldError: no question can be chosen; the columns are listed.
    """
    names = column_names(records)
    folded = {name: "_".join(words_of(name)) for name in names}
    questions = _questions(names, folded) or _only_text(records, names)
    if not questions:
        raise FieldError(
            f"{location}: which column holds the items' text is not clear (columns: {show_columns(names)}); "
            f"name it with {location}::COLUMN or, for several, ::COLUMN1,COLUMN2"
        )
    contexts = [name for name in names if folded[name] in CONTEXT_NAMES and name not in questions]
    contexts += [name for name in names if folded[name] == "input" and name not in questions and not contexts]
    answers = [name for name in names if folded[name] in ANSWER_NAMES and name not in questions]
    parts = [PartColumn(name, "question") for name in questions]
    parts += [PartColumn(name, "context") for name in contexts] + [PartColumn(name, "answer") for name in answers]
    label, notes = _guessed_label(records, names)
    return Plan(tuple(parts), id_column(names), label, notes=(_guess_note(parts, names), *notes))


def _questions(names: Sequence[str], folded: Mapping[str, str]) -> list[str]:
    """Return the columns of the best known name: whole names first, then the last word that says what is held."""
    free = [name for name in names if folded[name] not in (*CONTEXT_NAMES, *ANSWER_NAMES)]
    words = {name: _question_word(name) for name in free}
    for spelling in (folded, words):
        for wanted in QUESTION_NAMES:
            alike = [name for name in free if spelling[name] == wanted]
            if alike:
                return alike
    return []


def _question_word(name: str) -> str:
    """Return the last word of a name that means a question ("prompt_en"), "" where it holds something else."""
    if kind_of(name) != "text":
        return ""
    return next((word for word in reversed(words_of(name)) if word in QUESTION_NAMES or word in _OTHER_WORDS), "")


def _only_text(records: Records, names: Sequence[str]) -> list[str]:
    """Return the only column with a usual text name, else the only one that holds text and is no metadata."""
    usual = usual_text_columns(names)
    if len(usual) == 1:
        return usual
    holding = [n for n in names if not is_metadata(n) and any(isinstance(r.get(n), str) for r in records)]
    return holding if len(holding) == 1 and not usual else []


def _guess_note(parts: Sequence[PartColumn], names: Sequence[str]) -> str:
    chosen = {part.column for part in parts}
    left = [name for name in usual_text_columns(names) if name not in chosen]
    read = ", ".join(f"{show_name(part.column)} ({part.kind})" for part in parts)
    return f"columns read by their names: {read}" + (f"; not read: {show_columns(left)}" if left else "")


def _guessed_label(records: Records, names: Sequence[str]) -> tuple[LabelSource, tuple[str, ...]]:
    """Return the label by its usual name, if every value there is one that the default map names."""
    folded = {"_".join(words_of(name)): name for name in reversed(names)}
    for usual in LABEL_NAMES:
        column = folded.get(usual)
        values = _REVERSED_VALUES if usual in _REVERSED else {}
        if column is not None and are_labels(records, column, values):
            flips = ", where true means not flagged" if values else ""
            return LabelSource(None, (column,), values), (f"labels read from column {show_name(column)}{flips}",)
    return LabelSource(), ()
