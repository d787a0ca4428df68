"""write_demo: the invented pool, benchmarks and truth as files."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from random import Random
from typing import Any

import orjson

from auditkit.demo.parts import Frames, Item, read_families, read_frames, read_items
from auditkit.demo.planting import BENCHMARKS, BenchmarkPlan, Row, make_rows
from auditkit.errors import OutputError
from auditkit.records import LabelRule

N_TRAIN = 1_600
#: Harmless requests that the house rules forbid: the two policies disagree on every one of them.
HOUSE = BenchmarkPlan("invented-house", "house", 0, ".jsonl")
#: What the demo's study file takes from the bundled example starts with this line.
STUDY_MODELS = "# Two scales or more"
#: How the two label columns of the pool are to be read.
LABELS: tuple[LabelRule, ...] = (LabelRule("harm", "harm"), LabelRule("block", "block"))


@dataclass(frozen=True)
class DemoPaths:
    """Where the demo's input lies.

    Attributes:
        folder: holds all of it.
        pool: train.jsonl (a prompt a row) and chats.jsonl.gz (a chat a row).
        benchmarks: one file each, in three formats; nothing of the last one is planted.
        truth: the planted copies; read it with `read_truth`.
    """

    folder: Path
    pool: tuple[Path, ...]
    benchmarks: tuple[Path, ...]
    truth: Path


def write_demo(folder: Path, seed: int = 1) -> DemoPaths:
    """Write the invented pool, benchmarks and truth below `folder`, and return where they lie.

    Equal seeds give equal bytes; a second call with the same seed finds them there and leaves them. The seed chooses
    the pool's prompts, and which items are planted where and how; the benchmarks are the same for every seed.

    Raises:
        OutputError: the folder cannot be written, or holds a file of one of these names with other content.
    """
    items = {plan.name: read_items(plan.parts) for plan in BENCHMARKS}
    frames = read_frames()
    rows = make_rows(items, read_families(), frames, seed)
    pool = {"pool/train.jsonl": _train(rows[:N_TRAIN]), "pool/chats.jsonl.gz": _chats(rows[N_TRAIN:], frames, seed)}
    benchmarks = {f"benchmarks/{plan.name}{plan.suffix}": _benchmark(plan, items[plan.name]) for plan in BENCHMARKS}
    _write_all(folder, {**pool, **benchmarks, "truth.jsonl": _truth(rows)})
    return DemoPaths(
        folder,
        tuple(folder / name for name in pool),
        tuple(folder / name for name in benchmarks),
        folder / "truth.jsonl",
    )


def write_demo_study(made: DemoPaths, example: str) -> Path:
    """Write study.toml of the demo beside its pool, with a benchmark that only its study has, and return its path.

    Args:
        made: where `write_demo` put pool and benchmarks.
        example: the commented study file; from its models on it is the demo's as well.

    Raises:
        OutputError: the folder cannot be written, or holds another study.toml.
    """
    front = resources.files("auditkit.demo").joinpath("text/study.toml").read_text(encoding="utf-8")
    _, models, rest = example.partition(STUDY_MODELS)
    house = _benchmark(HOUSE, read_items(HOUSE.parts))
    _write_all(made.folder, {"benchmarks/invented-house.jsonl": house, "study.toml": (front + models + rest).encode()})
    return made.folder / "study.toml"


def _json_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records)


def _train(rows: list[Row]) -> bytes:
    return _json_lines(
        {"id": f"t{n:04}", "prompt": row.prompt, "harm": row.harm, "block": row.block, "source": row.origin}
        for n, row in enumerate(rows)
    )


def _chats(rows: list[Row], frames: Frames, seed: int) -> bytes:
    """Return the gzip file; without a time or name in its header, so that equal rows are equal bytes."""
    rng = Random(f"auditkit demo chats {seed}")
    records = (
        {
            "id": f"c{n:04}",
            "messages": _messages(row, frames, rng),
            "harm": row.harm,
            "block": row.block,
            "source": row.origin,
        }
        for n, row in enumerate(rows)
    )
    return gzip.compress(_json_lines(records), mtime=0)


def _messages(row: Row, frames: Frames, rng: Random) -> list[dict[str, str]]:
    """Return a chat around the prompt: half with a system turn, a third with a second question."""
    replies = frames.refusing if row.block else frames.helpful
    turns = [("system", rng.choice(frames.systems))] if rng.random() < 0.5 else []
    turns += [("user", row.prompt), ("assistant", rng.choice(replies))]
    if rng.random() < 1 / 3:
        turns += [("user", rng.choice(frames.follow_ups)), ("assistant", rng.choice(replies))]
    return [{"role": role, "content": content} for role, content in turns]


def _benchmark(plan: BenchmarkPlan, items: tuple[Item, ...]) -> bytes:
    records = [
        {"id": f"{plan.parts}-{n:02}", "prompt": item.prompt, "label": plan.label} for n, item in enumerate(items)
    ]
    if plan.suffix == ".jsonl":
        return _json_lines(records)
    out = io.StringIO(newline="")
    delimiter = "\t" if plan.suffix == ".tsv" else ","
    writer = csv.DictWriter(out, list(records[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue().encode()


def _truth(rows: list[Row]) -> bytes:
    """Return the truth in the order of the pool; a pool is named by its file without suffixes."""
    places = ((("train", n) if n < N_TRAIN else ("chats", n - N_TRAIN), row.plant) for n, row in enumerate(rows))
    return _json_lines(
        {"pool": pool, "row": n, "benchmark": plant.benchmark, "item": plant.item, "kind": plant.kind}
        for (pool, n), plant in places
        if plant is not None
    )


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files that are not there yet; what a person already has in the folder is never overwritten."""
    try:
        for name in [name for name, content in files.items() if not _is_there(folder / name, content)]:
            _write_one(folder / name, files[name])
    except OSError as error:
        raise OutputError(f"{error.filename or folder}: cannot write the demo there ({error.strerror})") from error


def _write_one(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _is_there(path: Path, content: bytes) -> bool:
    if not path.exists():
        return False
    if path.read_bytes() != content:
        raise OutputError(f"{path}: exists and is not what the demo would write; name an empty folder, or remove it")
    return True
