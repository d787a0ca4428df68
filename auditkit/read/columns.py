"""Columns by their names: which hold text, which are metadata, which one a user meant.

A name is split into words ("ContextString", "prompt_en", "answer-idx"), and the last word that is known decides: text
("prompt_en"), or metadata ("prompt_id", "label_gold"). A name without a known word is neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from auditkit.errors import nearest
from auditkit.formats.fields import build_path

Kind = Literal["text", "metadata", "unknown"]

#: Words that mean text, singular; a plural by "s" counts as well.
TEXT_WORDS = frozenset(
    """
    text prompt instruction input question query request goal content contents body document doc passage
    paragraph article sentence statement premise hypothesis claim context system title summary abstract description
    response completion output answer reply generation continuation target chosen rejected choice option
    message conversation dialog dialogue chat turn history utterance transcript discussion comment post review tweet
    behavior behaviour ask attack jailbreak injection adversarial vanilla payload scenario story problem solution
    rationale reasoning explanation thinking thought code program snippet definition rewrite rewritten paraphrase
    translation caption headline essay fact demonstration exemplar human assistant user
    """.split()  # noqa: SIM905
)
#: Whole names that mean text though their last word does not.
TEXT_NAMES = frozenset({"test_case", "test_cases", "raw", "data"})

#: Words that mean metadata, singular.
METADATA_WORDS = frozenset(
    """
    id uid uuid guid idx index key hash digest checksum label class category subcategory type kind split subset fold
    source origin provenance dataset corpus config version revision license licence language lang locale script country
    tag topic domain subject area genre style format field name author annotator annotation rater worker annotated
    model engine teacher role score rating rank reward prob probability logit logprob confidence agreement vote
    ident identifier is has num count len length size token char start end offset position pos page
    date time timestamp created updated year url uri link path file filename license metadata meta flag status level
    difficulty severity weight embedding vector quality toxicity flagged blocked
    """.split()  # noqa: SIM905
)
_FIRST_WORDS = frozenset({"is", "has", "was", "num", "n", "nb"})
_SPELLINGS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAKS = re.compile(r"[\W_\d]+")
_INDEX_NAMES = re.compile(r"(unnamed: ?\d+(_level_\d+)?|__index_level_\d+__|__fragment_index|_c0)?", re.IGNORECASE)

#: Usual names of an id column, first choice first; compared by words, so "rowId" and "ROW_ID" are "row_id".
ID_NAMES: tuple[str, ...] = (
    "id", "row_id", "rowid", "uid", "uuid", "guid", "example_id", "prompt_id", "sample_id", "record_id", "item_id",
    "entry_id", "instance_id", "data_id", "question_id", "query_id", "text_id", "doc_id", "document_id", "case_id",
    "task_id", "conversation_id", "dialog_id", "dialogue_id", "chat_id", "message_id", "behavior_id", "idx", "index",
)  # fmt: skip


def words_of(name: str) -> list[str]:
    """Return the casefolded words of a name: "BehaviorID" is ["behavior", "id"]."""
    return [word for word in _BREAKS.split(_SPELLINGS.sub(" ", name).casefold()) if word]


def kind_of(name: str) -> Kind:
    """Return what a column of this name holds: "text", "metadata" or "unknown"."""
    words = words_of(name)
    if _INDEX_NAMES.fullmatch(name):
        return "metadata"
    if "_".join(words) in TEXT_NAMES:
        return "text"
    if len(words) > 1 and words[0] in _FIRST_WORDS:
        return "metadata"
    for word in reversed(words):
        if _is_one_of(word, METADATA_WORDS):
            return "metadata"
        if _is_one_of(word, TEXT_WORDS):
            return "text"
    return "unknown"


def _is_one_of(word: str, known: frozenset[str]) -> bool:
    singular = f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
    return word in known or singular in known


def usual_text_columns(names: Iterable[str]) -> list[str]:
    """Return the names that usually hold text, in the order given."""
    return [name for name in names if kind_of(name) == "text"]


def is_metadata(name: str) -> bool:
    """Return whether a column of this name usually holds an id, a label or a category."""
    return kind_of(name) == "metadata"


def id_column(names: Sequence[str], declared: str = "") -> str | None:
    """Return the column that holds ids: the declared one (case ignored), else the first usual name, else None."""
    if declared:
        return find_column(declared, names)
    by_words = {"_".join(words_of(name)): name for name in reversed(names)}
    return next((by_words[usual] for usual in ID_NAMES if usual in by_words), None)


def find_column(name: str, names: Iterable[str]) -> str | None:
    """Return the column called `name`, or the only one that is when case is ignored, or None."""
    known = list(names)
    if name in known:
        return name
    alike = [column for column in known if column.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def nearest_column(name: str, names: Iterable[str]) -> str:
    """Return the end of an error message: "; did you mean 'x'? (columns: x, y)", without the hint if none is close."""
    known = list(names)
    folded = {column.casefold(): column for column in reversed(known)}
    hint = nearest(name.casefold(), folded)
    for alike, column in folded.items():
        if hint == f"; did you mean '{alike}'?":
            hint = f"; did you mean '{show_name(column)}'?"
            break
    return f"{hint} (columns: {show_columns(known)})"


def show_columns(names: Iterable[str], limit: int = 40) -> str:
    """Return names for one line of an error, escaped; beyond `limit` their number."""
    known = list(names)
    more = f" and {len(known) - limit} more" if len(known) > limit else ""
    return (", ".join(show_name(name) for name in known[:limit]) or "none") + more


def show_name(name: str) -> str:
    """Return a column name as a message may print it: as a path, unprintable characters escaped, 80 at most."""
    path = build_path([name])
    return path if len(path) <= 80 else f"{path[:79]}…"
