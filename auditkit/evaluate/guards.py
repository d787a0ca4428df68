"""evaluate_predictions: what the predictions of any guard say, without training anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from auditkit.errors import InputError, LabelError, UsageError
from auditkit.evaluate.cells import cells_by_set, nested_note
from auditkit.evaluate.guard_inspect import inspect_records, is_inspect_log, read_eval_file
from auditkit.evaluate.guard_rows import (
    LABELS,
    VERDICTS,
    Reader,
    Row,
    check_meanings,
    choose_columns,
    column_names,
    merge_labels,
    shown,
)
from auditkit.evaluate.metrics import det_curves, metrics
from auditkit.evaluate.thresholds import operating_points
from auditkit.formats import detect_format, read_records
from auditkit.records import Source
from auditkit.study_records.results import Cells, Threshold
from auditkit.tables import PREDICTIONS, TARGETS

Data = str | Path | pl.DataFrame | list[dict[str, Any]]


@dataclass(frozen=True)
class Evaluation:
    """What the predictions of some guards say.

    Attributes:
        predictions, targets: frames of tables.PREDICTIONS (a guard is an arm) and tables.TARGETS; `ids` (set, item, id)
            says which prompt an item is.
        metrics, det: frames of tables.METRICS and metrics.DET.
        thresholds: operating points; all but native are None without a set "dev".
        cells: of each set with both policies' labels; `nested` what cannot be identified there.
        notes: what a reader must know: prompts without labels, labels without predictions.
    """

    predictions: pl.DataFrame = field(repr=False)
    targets: pl.DataFrame = field(repr=False)
    ids: pl.DataFrame = field(repr=False)
    metrics: pl.DataFrame = field(repr=False)
    det: pl.DataFrame = field(repr=False)
    thresholds: tuple[Threshold, ...]
    cells: Mapping[str, Cells]
    nested: Mapping[str, str]
    notes: tuple[str, ...] = ()


def evaluate_predictions(
    predictions: Data | Sequence[str | Path],
    labels: Data | None = None,
    *,
    policies: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    guard: str = "",
    set_name: str = "",
    fpr: float = 0.05,
    cost_ratio: float = 5.0,
    dev: str = "dev",
    scorer: str = "",
    value_is: str = "correct",
    verdicts: Mapping[str, int | None] | None = None,
) -> Evaluation:
    """Return rates, AUROC where it is defined, and failures both ways, of any guard's predictions.

    Accepted are Parquet, CSV, TSV, JSON and JSON Lines, frames and lists in long form (one record a prediction: an id
    or the prompt, a score and/or a decision, a status, labels; column names in guard_rows.ALIASES), guard-eval-harness
    `datasets/NAME/predictions.jsonl` (sample_id, unsafe_score, unsafe_label; NAME is the set), and Inspect eval logs
    (guard_inspect). A score is P(flag); with a decision only, AUROC is null and rates come from decisions.

    Args:
        labels: the same prompts with their labels, joined by id (and set, where it has one).
        policies: columns of policy A's and B's labels; else label_a, label_b, and a benchmark's own `expected`.
        columns: meaning -> column, where the names differ, for example {"score": "p"}.
        guard, set_name: what predictions belong to that do not say (default: the file's name, and "test").
        scorer, value_is: of Inspect logs (guard_inspect).
        verdicts: what decisions and labels say, casefolded, in place of guard_rows.VERDICTS.

    Raises:
        InputError: a file or record that cannot be read; the same prompt predicted twice by one guard and seed.
        FieldError, LabelError: no id, a missing column, or two labels for one prompt.
        UsageError: no predictions, or bad arguments.
    """
    named = dict(columns or {})
    check_meanings(named)
    if len(policies) not in (0, 2):
        raise UsageError(f"policies={tuple(policies)!r}; expected none, or the columns of policy A and of policy B")
    how = _How(named, tuple(policies), guard, set_name, scorer, value_is, verdicts or VERDICTS)
    rows = [row for one in _each(predictions) for row in _rows(one, how)]
    if not rows:
        raise UsageError("no predictions; expected at least one record")
    label_rows = _label_rows(labels, how) if labels is not None else []
    for meaning, policy in zip(LABELS, policies, strict=False):
        if not any(meaning in row.labels for row in (*rows, *label_rows)):
            raise LabelError(
                f"no predictions and no labels have a column {policy!r}; name the columns of both policies"
            )
    return _evaluate(rows, label_rows, fpr, cost_ratio, dev)


@dataclass(frozen=True)
class _How:
    """How the sources are read: the arguments of evaluate_predictions."""

    columns: Mapping[str, str]
    policies: tuple[str, ...]
    guard: str
    set_name: str
    scorer: str
    value_is: str
    verdicts: Mapping[str, int | None]


def _each(predictions: Data | Sequence[str | Path]) -> Iterator[Data]:
    if isinstance(predictions, str | Path | pl.DataFrame):
        yield predictions
    elif all(isinstance(one, dict) for one in predictions):
        yield list(predictions)  # type: ignore[arg-type]
    else:
        yield from predictions  # type: ignore[misc]


def _rows(data: Data, how: _How) -> list[Row]:
    """Return the predictions of one source."""
    location, own_guard, own_set = _names(data)
    records = _records(data, location, how)
    names = column_names(records)
    chosen = choose_columns(names, location, how.columns, how.policies) if records else {}
    if records and not {"score", "decision"} & set(chosen):
        raise InputError(
            f"{location}: no column of scores or decisions among {shown(names)}; name one with "
            f"columns={{'score': ...}} or columns={{'decision': ...}}"
        )
    reader = Reader(location, chosen, how.guard or own_guard, how.set_name or own_set, how.verdicts)
    return [reader.row(number, record) for number, record in enumerate(records, 1)]


def _label_rows(data: Data, how: _How) -> list[Row]:
    """Return the labels of one source as rows that say nothing else; set is "" where the source has none."""
    location, _, _ = _names(data)
    records = _records(data, location, how)
    names = column_names(records)
    named = {meaning: column for meaning, column in how.columns.items() if column in names}
    chosen = choose_columns(names, location, named, how.policies) if records else {}
    kept = {meaning: chosen[meaning] for meaning in ("id", "set", *LABELS, "group", "source") if meaning in chosen}
    if records and not set(LABELS) & set(kept):
        raise LabelError(f"{location}: no column of labels among {shown(names)}; name two with policies=(A, B)")
    reader = Reader(location, kept, "", "", how.verdicts)
    return [reader.row(number, record, is_label=True) for number, record in enumerate(records, 1)]


def _names(data: Data) -> tuple[str, str, str]:
    """Return location, guard and set of a source that says nothing of its own."""
    if not isinstance(data, str | Path):
        return "memory", "guard", "test"
    path = Path(data)
    if path.name.startswith("predictions.jsonl") and path.parent.parent.name == "datasets":
        return str(data), path.parents[2].name or "guard", path.parent.name  # RUN/datasets/NAME/predictions.jsonl
    return str(data), path.name.split(".")[0] or "guard", "test"


def _records(data: Data, location: str, how: _How) -> list[dict[str, Any]]:
    """Return the records of a source as dicts; an Inspect log becomes one record a sample.

    Raises:
        InputError: the source cannot be read.
    """
    if isinstance(data, pl.DataFrame):
        return data.to_dicts()
    if isinstance(data, list):
        return data
    path = Path(data)
    if path.suffix == ".eval":
        return list(inspect_records(read_eval_file(path), location, how.scorer, how.value_is))
    kind, compression = detect_format(path)
    if (kind, compression) == ("json", ""):
        log = _json(path)
        if is_inspect_log(log):
            return list(inspect_records(log, location, how.scorer, how.value_is))
    n_bytes = path.stat().st_size if path.is_file() else 0
    source = Source(path.name, location, kind, compression, path.name, "", n_bytes)
    return [record for batch in read_records(source) for record in batch.rows()]


def _json(path: Path) -> Any:
    """Return the parsed file, None where it is no JSON: read_records then says what is wrong with it."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    except OSError as exc:
        raise InputError(f"{path}: cannot be read ({exc.strerror})") from None


def _evaluate(rows: Sequence[Row], label_rows: Sequence[Row], fpr: float, cost_ratio: float, dev: str) -> Evaluation:
    prompts, notes = _prompts(rows, label_rows)
    predictions = pl.DataFrame(
        [
            (r.guard, r.seed, r.set, prompts[r.set, r.id]["item"], r.score, r.decision, r.status)
            for r in rows
        ],
        schema=PREDICTIONS,
        orient="row",
    )  # fmt: skip
    _once(rows)
    targets = pl.DataFrame(list(prompts.values()), schema=TARGETS)
    ids = pl.DataFrame(
        [(set_name, prompt["item"], item_id) for (set_name, item_id), prompt in prompts.items()],
        schema={"set": pl.String(), "item": pl.Int64(), "id": pl.String()},
        orient="row",
    )
    thresholds = operating_points(predictions, targets, fpr, cost_ratio, dev)
    cells = cells_by_set(targets)
    return Evaluation(
        predictions, targets, ids, metrics(predictions, targets, thresholds, fpr), det_curves(predictions, targets),
        thresholds, cells, {name: nested_note(own) for name, own in cells.items()}, tuple(notes),
    )  # fmt: skip


def _once(rows: Sequence[Row]) -> None:
    seen = set()
    for row in rows:
        key = row.guard, row.seed, row.set, row.id
        if key in seen:
            raise InputError(
                f"guard {row.guard!r} predicts prompt {row.id[:60]!r} of set {row.set!r} twice (seed {row.seed}); "
                f"name guards, seeds or sets apart, or keep one prediction of each prompt"
            )
        seen.add(key)


def _prompts(rows: Sequence[Row], label_rows: Sequence[Row]) -> tuple[dict[tuple[str, str], dict[str, Any]], list[str]]:
    """Return (set, id) -> its row of TARGETS, of every predicted prompt, and notes on labels that are missing."""
    labelled: dict[tuple[str, str], Row] = {}
    for row in label_rows:
        known = labelled.setdefault((row.set, row.id), row)
        merge_labels(dict(known.labels), row.labels, row.set, row.id)
    prompts: dict[tuple[str, str], dict[str, Any]] = {}
    found: set[tuple[str, str]] = set()
    counts: dict[str, int] = {}
    for row in rows:
        key = row.set, row.id
        if key not in prompts:
            counts[row.set] = counts.get(row.set, -1) + 1
            prompts[key] = {"set": row.set, "item": counts[row.set], "group": None, "source": None}
        own = [row]
        for outside in (key, ("", row.id)):
            if outside in labelled:
                own.append(labelled[outside])
                found.add(outside)
        for one in own:
            merge_labels(prompts[key], one.labels, row.set, row.id)
            prompts[key]["group"] = prompts[key]["group"] or one.group
            prompts[key]["source"] = prompts[key]["source"] or one.source
    for (set_name, _), prompt in prompts.items():
        prompt["group"] = prompt["group"] or f"{set_name}:{prompt['item']}"
        for name in ("label_a", "label_b", "expected"):
            prompt.setdefault(name, None)
    return prompts, _notes(prompts, len(labelled) - len(found))


def _notes(prompts: Mapping[tuple[str, str], Mapping[str, Any]], n_unused: int) -> list[str]:
    bare = [key for key, p in prompts.items() if p["label_a"] is p["label_b"] is p["expected"] is None]
    notes = []
    if bare:
        notes.append(f"{len(bare)} of {len(prompts)} predicted prompts have no label: they count in flag rates only")
    if n_unused:
        notes.append(f"{n_unused} labelled prompts have no prediction")
    return notes
