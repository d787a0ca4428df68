"""The parts of N shares of an audit -> the report that an audit of the whole pool at once would have written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from auditkit import read
from auditkit.errors import InputError, StaleAuditError, UsageError
from auditkit.formats.folders import written_folder
from auditkit.formats.remote import is_remote
from auditkit.records import AuditReport, Benchmark, Pool, Source
from auditkit.report.as_json import REPORT
from auditkit.report.write import write_all
from auditkit.run.plan import PLAN, claim_folder, plan_digest
from auditkit.run.store import FolderStore
from auditkit.stories.parts import is_whole
from auditkit.stories.report import make_report
from auditkit.stories.scan import Scanner
from auditkit.stories.scan_pool import gather_parts
from auditkit.stories.settings import MEMORY, from_plain
from auditkit.stories.shards import Manifest, read_manifests
from auditkit.stories.task import inputs_of


@dataclass(frozen=True)
class _Plan:
    """What plan.json says of an audit."""

    digest: str
    inputs: Sequence[str]
    settings: Mapping[str, Any]
    pool: Pool
    n_pieces: int
    content: Mapping[str, Any]


def merge(
    folders: Iterable[str | Path], *, out: str | Path, benchmarks: Any = None, overwrite: bool = False
) -> AuditReport:
    """Return the report of an audit whose N shares were run by `audit_shard`, and write it: the same bytes as at once.

    The pool is not read again; the benchmarks are.

    Args:
        folders: where the shares were written, one folder or several.
        out: folder for the report, which may be one of them, or an address such as "s3://bucket/audit".
        benchmarks: the same as were audited; needed only where they were given in memory.
        overwrite: replace another audit in `out`.

    Raises:
        UsageError: shares are missing, or of several audits.
        StaleAuditError: the benchmarks, auditkit or its packages are others than the shares were made with.
        InputError: a folder holds no shares.
        OutputError: `out` is in use or cannot be written.
    """
    places = [Path(folder) for folder in folders]
    plan = _same_plan(places)
    manifests = _all_shares(places, plan)
    with written_folder(out, REPORT, claim=PLAN) as folder:
        report = _merge(places, plan, manifests, folder, benchmarks, overwrite)
    return replace(report, folder=None) if is_remote(out) else report


def _merge(
    places: Sequence[Path],
    plan: _Plan,
    manifests: Sequence[Manifest],
    folder: Path,
    benchmarks: Any,
    overwrite: bool,
) -> AuditReport:
    content = {name: plan.content[name] for name in plan.content if name not in ("plan", "inputs")}
    claim = claim_folder(folder, plan.inputs, plan.settings, overwrite, content)
    named = {name: value for name, value in plan.settings.items() if name != "rules"}
    settings = from_plain(named, plan.settings["rules"])
    opened = read.open_benchmarks(_benchmarks(named, benchmarks))
    scanner = Scanner.make(opened, settings, settings.all_rules(), plan.pool.n_bytes)
    _check_same(plan, opened, scanner, manifests)
    store = FolderStore(places[0], is_whole, others=places[1:])
    keys = {piece: keys for manifest in manifests for piece, keys in manifest.keys.items()}
    names = {piece: name for manifest in manifests for piece, name in manifest.names.items()}
    gathered = gather_parts(plan.pool.sources, names, keys, store)
    report = make_report(plan.pool, opened, scanner, gathered, named)
    report = replace(report, run={"engine": "merge", "n_shards": sum(map(len, keys.values()))})
    write_all(report, folder, {PLAN: claim})
    return replace(report, folder=folder)


def _benchmarks(settings: Mapping[str, Any], given: Any) -> Any:
    if given is None and settings["benchmarks"] == [MEMORY]:
        raise UsageError("the benchmarks of this audit came from memory; give the same data again as benchmarks=")
    return list(settings["benchmarks"]) if given is None else given


# ---------------------------------------------------------------- the shares


def _same_plan(folders: Sequence[Path]) -> _Plan:
    """Return the plan that all folders have.

    Raises:
        UsageError: they have several, or there is no folder.
        InputError: a folder has none.
    """
    if not folders:
        raise UsageError("no folder given; name the folders that auditkit audit --shard wrote to")
    plans = [_read_plan(folder) for folder in folders]
    for folder, plan in zip(folders, plans, strict=True):
        if plan.digest != plans[0].digest:
            raise UsageError(
                f"{folder} holds shards of another audit than {folders[0]} (plan {plan.digest[:12]}, "
                f"{plans[0].digest[:12]}); merge shards of the same pool, benchmarks, settings and version"
            )
    return plans[0]


def _read_plan(folder: Path) -> _Plan:
    try:
        raw = json.loads((folder / PLAN).read_bytes())
        sources = tuple(Source(**source) for source in raw["sources"])
        pool = Pool(sources, tuple(raw["skipped_files"]))
        return _Plan(raw["plan"], raw["inputs"], raw["settings"], pool, int(raw["n_pieces"]), raw)
    except (OSError, ValueError, LookupError, TypeError):
        raise InputError(
            f"{folder}: no shards of an audit ({PLAN} is missing or not of this auditkit); name the folders that "
            "auditkit audit --shard wrote to"
        ) from None


def _all_shares(folders: Sequence[Path], plan: _Plan) -> list[Manifest]:
    """Return the manifests of all N shares.

    Raises:
        UsageError: shares are missing, or the pool was cut in several ways.
    """
    found = {}
    for folder in folders:
        for manifest in read_manifests(folder):
            if manifest.plan == plan.digest:
                found[manifest.of, manifest.number] = manifest
    where = ", ".join(map(str, folders))
    if not found:
        raise UsageError(f"{where}: no finished shard; run auditkit audit --shard I/N for each I first")
    sizes = sorted({of for of, _ in found})
    # A pool may have been cut anew after a first try: what is whole counts.
    for of in sizes:
        if all((of, number) in found for number in range(1, of + 1)):
            return [found[of, number] for number in range(1, of + 1)]
    of = sizes[-1]
    missing = [str(number) for number in range(1, of + 1) if (of, number) not in found]
    what = f"shard {missing[0]}" if len(missing) == 1 else f"shards {', '.join(missing[:-1])} and {missing[-1]}"
    raise UsageError(
        f"{where}: {what} of {of} missing; run auditkit audit --shard I/{of} for each, with the same --out"
    )


def _check_same(plan: _Plan, opened: Sequence[Benchmark], scanner: Scanner, manifests: Sequence[Manifest]) -> None:
    """Check that this machine would have scanned the shards as they were scanned.

    Raises:
        StaleAuditError: it would not.
    """
    if inputs_of(plan.pool, opened) != list(plan.inputs):
        raise StaleAuditError("the benchmarks have changed since the shards were scanned; run the shards again")
    is_same = plan_digest(plan.inputs, plan.settings) == plan.digest
    if not is_same or any(manifest.index != scanner.digest for manifest in manifests):
        raise StaleAuditError(
            "the shards were scanned by another version of auditkit or of its packages than is installed here; merge "
            "with the one that scanned them, or run the shards again"
        )
