"""A folder of benchmarks for offline use: one file each, and benchmarks.lock.json, which says what each file is.

benchmarks.lock.json = {"version": 1, "benchmarks": {NAME: {file, sha256, bytes, items, source, revision, licence,
                                                            is_gated, date}}}
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from auditkit.errors import BenchmarkError, InputError, OutputError
from auditkit.formats import detect_format, digest_file
from auditkit.formats.columnar import frame_table
from auditkit.read.assemble import assemble
from auditkit.read.hub import HubName
from auditkit.read.registry import Registered, find, registered
from auditkit.read.remote import UnreachableError, download, is_offline, load_split, revision_of
from auditkit.records import Source

LOCK_NAME = "benchmarks.lock.json"
ENVIRONMENT = "AUDITKIT_BENCHMARKS"
_VERSION = 1


@dataclass(frozen=True)
class Locked:
    """One locked file. `sha256` is "sha256:<hex>" of its bytes, `revision` the commit it came from ("" if unknown)."""

    name: str
    file: str
    sha256: str
    bytes: int
    items: int
    source: str
    revision: str
    licence: str
    is_gated: bool
    date: str


def default_folder() -> Path:
    """Return where pulled benchmarks are kept: $AUDITKIT_BENCHMARKS, else the user's cache folder."""
    import platformdirs

    chosen = os.environ.get(ENVIRONMENT, "")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("auditkit", appauthor=False)) / "benchmarks"


def read_lock(folder: Path) -> dict[str, Locked]:
    """Return the locked files of a folder by benchmark name; empty where it has no lock.

    Raises:
        BenchmarkError: a lock that cannot be read.
    """
    path = folder / LOCK_NAME
    try:
        content = json.loads(path.read_text("utf-8"))
        if content["version"] != _VERSION:
            raise ValueError(f"version {content['version']}, expected {_VERSION}")
        locked = {name: Locked(name=name, **entry) for name, entry in content["benchmarks"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
        reason = str(exc).splitlines()[0] if str(exc) else type(exc).__name__
        raise BenchmarkError(f"{path}: cannot be read ({reason}); pull the benchmarks again") from exc
    for entry in locked.values():
        if Path(entry.file).name != entry.file or not entry.file:
            raise BenchmarkError(f"{path}: {entry.name}: names a file outside its folder; pull the benchmarks again")
    return locked


def cached_source(entry: Registered, folder: Path) -> tuple[Source, Locked] | None:
    """Return the locked copy of a registered benchmark, its digest checked; None where the folder has none.

    Raises:
        BenchmarkError: the file is missing or was changed.
    """
    locked = read_lock(folder).get(entry.name)
    if locked is None:
        return None
    path = folder / locked.file
    if not path.is_file():
        raise BenchmarkError(f"{path}: missing, though {LOCK_NAME} names it; pull {entry.name} again")
    source = file_source(entry.name, path)
    if source.digest != locked.sha256:
        raise BenchmarkError(
            f"{path}: changed since it was pulled: its digest is {source.digest}, {LOCK_NAME} says {locked.sha256}; "
            f"pull {entry.name} again"
        )
    return source, locked


def file_source(name: str, place: Path | str) -> Source:
    """Return a file, an address, or a folder saved by `datasets` as the source of benchmark `name`."""
    kind, compression = detect_format(place)
    digest, n_bytes = digest_file(place)
    return Source(name, str(place), kind, compression, Path(place).name, digest, n_bytes)


# ---------------------------------------------------------------- pull

Report = Callable[[str, str], None]


def pull(
    names: Sequence[str],
    folder: Path | str | None = None,
    *,
    load: Callable[[HubName], Any] = load_split,
    fetch: Callable[[str, Path, str], str] = download,
    report: Report | None = None,
    today: datetime.date | None = None,
) -> tuple[Locked, ...]:
    """Write a locked copy of registered benchmarks (all of them where `names` is empty), and return what was written.

    A file appears in `folder` only whole and checked against the registry; the lock is renewed after each one.

    Args:
        names: registered names or aliases.
        folder: default_folder() where None.
        load, fetch: how a Hub dataset is loaded and a file fetched.
        report: called with a name and what became of it.
        today: the date that is noted.

    Raises:
        BenchmarkError: an unknown name (nothing is written), or some could not be had; the others are written.
        OutputError: the folder cannot be written.
    """
    entries = list({entry.name: entry for entry in (find(name) for name in names)}.values()) or list(
        registered().values()
    )
    target = Path(folder) if folder is not None else default_folder()
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".pull-") as work:
            puller = _Puller(target, Path(work), load, fetch, today or datetime.date.today())
            return puller.pull(entries, report or (lambda name, outcome: None))
    except OSError as exc:
        raise OutputError(f"{target}: cannot be written ({exc.strerror or exc}); choose another folder") from exc


@dataclass
class _Puller:
    """Pulls benchmarks one after the other. `work` lies in `target`, so that a rename never crosses file systems."""

    target: Path
    work: Path
    load: Callable[[HubName], Any]
    fetch: Callable[[str, Path, str], str]
    today: datetime.date

    def pull(self, entries: Sequence[Registered], report: Report) -> tuple[Locked, ...]:
        lock = read_lock(self.target)
        written: list[Locked] = []
        failed: dict[str, str] = {}
        is_reachable = {"hub": True, "url": True}
        for entry in entries:
            if not is_reachable[entry.source]:
                failed[entry.name] = "not tried, no network"
                continue
            try:
                lock[entry.name] = self._one(entry)
            except InputError as exc:
                failed[entry.name] = str(exc)
                # Without a network every attempt costs the retries of one; told to stay offline, it costs nothing.
                is_reachable[entry.source] = not isinstance(exc, UnreachableError) or is_offline()
            else:
                self._write_lock(lock)
                written.append(lock[entry.name])
            report(entry.name, failed.get(entry.name, "written"))
        if failed:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
            raise BenchmarkError(
                f"{len(failed)} of {len(entries)} benchmarks could not be pulled into {self.target} "
                f"({len(written)} written): {reasons}"
            )
        return tuple(written)

    def _one(self, entry: Registered) -> Locked:
        """Write one benchmark's file, check it, and put it in place."""
        fetched, revision = self._hub(entry) if entry.source == "hub" else self._url(entry)
        source = file_source(entry.name, fetched)
        try:
            benchmark = assemble(source, entry)
        except InputError as exc:
            raise BenchmarkError(str(exc).replace(str(fetched), entry.location)) from exc
        fetched.replace(self.target / fetched.name)
        return Locked(
            entry.name, fetched.name, source.digest, source.n_bytes, benchmark.n_items, entry.location, revision,
            entry.licence, entry.is_gated, self.today.isoformat(),
        )  # fmt: skip

    def _hub(self, entry: Registered) -> tuple[Path, str]:
        import pyarrow.parquet as pq

        dataset = self.load(HubName(entry.repo, entry.config, entry.split, entry.revision))
        path = self.work / f"{entry.name}.parquet"
        pq.write_table(frame_table(dataset, entry.location), path)
        return path, entry.revision or revision_of(dataset)

    def _url(self, entry: Registered) -> tuple[Path, str]:
        """Fetch a file once, though several benchmarks may lie in it."""
        suffixes = (
            "".join(Path(entry.url).suffixes[-2:]) if entry.url.endswith((".gz", ".zst")) else Path(entry.url).suffix
        )
        kept = self.work / f"fetched-{hashlib.sha256(entry.url.encode()).hexdigest()[:16]}{suffixes}"
        if not kept.exists():
            part = kept.with_name(f"{kept.name}.part")
            self.fetch(entry.url, part, entry.sha256)
            part.replace(kept)
        path = self.work / f"{entry.name}{suffixes}"
        shutil.copyfile(kept, path)
        return path, entry.revision

    def _write_lock(self, lock: dict[str, Locked]) -> None:
        entries = {
            name: {key: value for key, value in asdict(entry).items() if key != "name"}
            for name, entry in sorted(lock.items())
        }
        content = json.dumps({"version": _VERSION, "benchmarks": entries}, indent=1, ensure_ascii=False) + "\n"
        part = self.work / LOCK_NAME
        part.write_text(content, encoding="utf-8")
        part.replace(self.target / LOCK_NAME)
