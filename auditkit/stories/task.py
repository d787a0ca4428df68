"""What an audit is about, opened: pool, benchmarks, settings, and the output folder claimed for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditkit import read
from auditkit.errors import OutputError
from auditkit.formats import pieces
from auditkit.records import Benchmark, Pool, Source
from auditkit.run.plan import claim_folder
from auditkit.stories.settings import AuditSettings, as_plain, named_folders
from auditkit.verify.public import declared_slices
from auditkit.verify.rules import Rules


@dataclass(frozen=True)
class Piece:
    """What is read at one go: a source, or some row groups of a Parquet file."""

    source: Source
    row_groups: range | None


@dataclass(frozen=True)
class Task:
    """An audit before it is run.

    Attributes:
        plan: the settings as plain values.
        claim: content of plan.json, b"" where nothing is written.
    """

    pool: Pool
    pieces: tuple[Piece, ...]
    benchmarks: Sequence[Benchmark]
    settings: AuditSettings
    rules: Rules
    plan: Mapping[str, Any]
    claim: bytes


def open_task(pool: Any, benchmarks: Any, settings: AuditSettings, out: Path | None, overwrite: bool) -> Task:
    """Return an audit that can be run; nothing is written.

    Raises:
        AuditkitError: an input cannot be opened, or `out` is not free for this audit.
    """
    rules = settings.all_rules()
    opened = read.open_benchmarks(benchmarks)
    declared_slices(opened, settings.public)
    sources = read.open_pool(pool, settings.read)
    plan = as_plain(settings, pool, benchmarks)
    cut = tuple(Piece(source, groups) for source in sources.sources for groups in pieces(source))
    claim = b""
    if out is not None:
        _refuse_inside(out, pool)
        whole = plan | {"rules": rules.as_dict()}
        claim = claim_folder(out, inputs_of(sources, opened), whole, overwrite, _for_merge(sources, whole, len(cut)))
    return Task(sources, cut, opened, settings, rules, plan, claim)


def inputs_of(pool: Pool, benchmarks: Sequence[Benchmark]) -> list[str]:
    """Return name and digest of everything that is read."""
    return [f"{source.name} {source.digest}" for source in pool.sources] + [
        f"{benchmark.name} {benchmark.source.digest}" for benchmark in benchmarks
    ]


def _for_merge(pool: Pool, settings: Mapping[str, Any], n_pieces: int) -> dict[str, Any]:
    """Return what `merge` has to know of an audit whose pool it does not read."""
    sources = [{k: v for k, v in vars(source).items() if k != "data"} for source in pool.sources]
    return {"settings": settings, "sources": sources, "skipped_files": pool.skipped_files, "n_pieces": n_pieces}


def _refuse_inside(out: Path, pool: Any) -> None:
    """Check that `out` does not lie in a folder of the pool, where the next audit would read it as data."""
    for folder in named_folders(pool):
        if folder.resolve() in (out.resolve(), *out.resolve().parents):
            raise OutputError(f"{out} lies inside the pool's folder {folder}; choose another folder with --out")
