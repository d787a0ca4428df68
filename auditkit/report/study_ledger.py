"""The ledger of a study as tables: where every part of every trained arm came from."""

from __future__ import annotations

from collections.abc import Sequence

from auditkit.report import phrases
from auditkit.report import study_words as words
from auditkit.report.grids import Grid
from auditkit.report.phrases import count
from auditkit.report.study_words import number
from auditkit.study_records.ledger import LedgerEntry, StageRecord
from auditkit.study_records.results import StudyResult


def arms(entries: Sequence[LedgerEntry]) -> Grid:
    """Return a row for each trained arm and seed: base model, data, weights, each with its digest."""
    headers = ("arm", "seed", "base model", "read from", "digest of the base", "data", "weights", "folder")
    rows = [
        (
            e.arm,
            str(e.seed),
            e.model,
            e.model_source,
            *map(_digest, (e.model_digest, e.data_digest, e.weights_digest)),
            e.folder,
        )
        for e in entries
    ]
    return Grid(headers, tuple(rows), len(headers))


def stages(result: StudyResult) -> Grid:
    """Return a row for each stage; the seeds in which all but weights and losses are equal share one."""
    headers = (
        "arm",
        "seeds",
        "stage",
        "hard labels",
        "teacher",
        "read from",
        "teacher's digest",
        "template's digest",
        "T",
        "weight",
        "trainable",
        "trainable parameters",
        "of all",
        "share",
        "rows",
        "cut prompts",
        "unlabelled, left out",
        "epochs",
        "learning rate",
        "last loss",
    )
    merged: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
    for entry in result.ledger:
        for place, record in enumerate(entry.stages, 1):
            seeds, losses = merged.setdefault((entry.arm, str(place), *_stage(record)), ([], []))
            seeds.append(str(entry.seed))
            losses.append(number(record.losses[-1]) if record.losses else words.UNDEFINED)
    rows = [(key[0], ", ".join(seeds), *key[1:], words.per_seed(losses)) for key, (seeds, losses) in merged.items()]
    return Grid(headers, tuple(rows), 11)


def _stage(s: StageRecord) -> tuple[str, ...]:
    kinds = [word for word, is_on in (("hardened", s.is_hardened), ("shuffled", s.is_shuffled)) if is_on]
    teacher = f"{s.teacher} ({', '.join(kinds)})" if kinds else s.teacher
    return (
        s.labels or words.UNDEFINED,
        teacher or words.UNDEFINED,
        s.teacher_source or words.UNDEFINED,
        _digest(s.teacher_digest) if s.teacher_digest else words.UNDEFINED,
        _digest(s.template_digest) if s.template_digest else words.UNDEFINED,
        f"{s.temperature:g}" if s.teacher else words.UNDEFINED,
        f"{s.weight:g}" if s.teacher else words.UNDEFINED,
        s.trainable,
        count(s.n_trainable),
        count(s.n_parameters),
        words.share(s.n_trainable / s.n_parameters if s.n_parameters else None),
        count(s.n_rows),
        count(s.n_truncated),
        count(s.n_unlabelled),
        f"{s.epochs:g}",
        f"{s.learning_rate:g}",
    )


def _digest(value: str) -> str:
    return phrases.digest(value, 12)


def tensors(result: StudyResult) -> Grid:
    """Return the names of the tensors that each kind of stage changed, once for equal ones."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for entry in result.ledger:
        for record in entry.stages:
            found.setdefault((record.trainable, record.trainable_names), []).append(entry.arm)
    rows = [
        (what, ", ".join(dict.fromkeys(names_of)), count(len(names)), ", ".join(names) or "none")
        for (what, names), names_of in found.items()
    ]
    return Grid(("trainable", "in arms", "tensors", "names"), tuple(rows), 4)


def commons(result: StudyResult) -> Grid:
    """Return optimizer and versions; arms and seeds that share a value stand on one line."""
    found: dict[tuple[str, str], list[str]] = {}
    for entry in result.ledger:
        for key, text in _facts(entry):
            found.setdefault((key, text), []).append(entry.arm)
    n_all = len(result.ledger)
    rows = [
        (key, text, "all arms and seeds" if len(whose) == n_all else ", ".join(dict.fromkeys(whose)))
        for (key, text), whose in sorted(found.items())
    ]
    return Grid(("what", "value", "of"), tuple(rows), 3)


def _facts(entry: LedgerEntry) -> list[tuple[str, str]]:
    return [*phrases.flat(entry.optimizer, "optimizer."), *phrases.flat(entry.versions, "version.")]
