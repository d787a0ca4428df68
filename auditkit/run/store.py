"""Where the parts of a run are kept: named by what they were made from, whole or not there at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from auditkit.errors import OutputError, UsageError
from auditkit.run.plan import PLAN

#: Folder of the parts, inside an output folder.
PARTS = "parts"
_SUFFIX = ".parquet"


class Store(Protocol):
    """Parts by key."""

    def get(self, key: str) -> bytes | None:
        """Return a part, None where there is no whole one."""
        ...

    def put(self, key: str, part: bytes) -> None:
        """Keep a part."""
        ...

    def adopt(self, key: str) -> None:
        """Keep a part that `get` found."""
        ...

    def keys(self) -> Collection[str]:
        """Return the keys of all whole parts."""
        ...

    def __contains__(self, key: object) -> bool:
        """Return whether there is a whole part of that key."""
        ...


class MemoryStore(dict[str, bytes]):
    """Parts of a run that writes nothing."""

    def put(self, key: str, part: bytes) -> None:
        """Keep a part."""
        self[key] = part

    def adopt(self, key: str) -> None:
        """It is kept already."""


class FolderStore:
    """Parts as files of DIR/parts. They are written beside their place and renamed: a file that is there is whole.

    A file that was damaged later is seen when it is read, and counts as missing.

    Args:
        folder: the output folder; nothing is written to it before the first part.
        is_whole: whether the bytes of a file are a part.
        plan: content of plan.json, which is written before the first part.
        ends: names (glob patterns) of the files that say that a run is done.
        others: output folders of other runs; their parts are read, never written.
    """

    def __init__(
        self,
        folder: Path,
        is_whole: Callable[[bytes], bool],
        plan: bytes = b"",
        ends: Sequence[str] = (),
        others: Sequence[Path] = (),
    ) -> None:
        self.folder, self._is_whole, self._plan, self._ends = folder, is_whole, plan, ends
        self._places = [folder / PARTS, *(other / PARTS for other in others)]
        self._is_begun = False

    def get(self, key: str) -> bytes | None:
        """Return a part, None where no folder has a whole one."""
        for place in self._places:
            try:
                part = (place / f"{key}{_SUFFIX}").read_bytes()
            except OSError:
                continue
            if self._is_whole(part):
                return part
        return None

    def __contains__(self, key: object) -> bool:
        return self.get(str(key)) is not None

    def keys(self) -> frozenset[str]:
        """Return the keys of all whole parts."""
        names = {path.stem for place in self._places for path in place.glob(f"[!.]*{_SUFFIX}")}
        return frozenset(name for name in names if name in self)

    def adopt(self, key: str) -> None:
        """Write a part that another folder has, so that this one has all of its run."""
        part = self.get(key) if len(self._places) > 1 else None
        if part is not None and not self._path(key).exists():
            self.put(key, part)

    def put(self, key: str, part: bytes) -> None:
        """Write a part, and before the first one plan.json.

        Raises:
            OutputError: it cannot be written.
        """
        self.begin()
        self.write(f"{PARTS}/{key}{_SUFFIX}", part)

    def begin(self) -> None:
        """Write plan.json, where the folder does not have it, before anything that belongs to this plan.

        Raises:
            OutputError: it cannot be written.
        """
        if self._is_begun:
            return
        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            plan = self.folder / PLAN
            if not plan.exists() or plan.read_bytes() != self._plan:
                # What another plan ended with must not seem to be this one's, should this run be stopped.
                for name in self._ends:
                    for path in self.folder.glob(name):
                        path.unlink()
                # Without a plan.json the folder would be taken for a foreign one by the run that goes on.
                _write_atomically(plan, self._plan)
            self._places[0].mkdir(exist_ok=True)
        self._is_begun = True

    def write(self, name: str, content: bytes) -> None:
        """Write another file of the folder, whole or not at all.

        Raises:
            OutputError: it cannot be written.
        """
        with _writing(self.folder):
            _write_atomically(self.folder / name, content)

    def _path(self, key: str) -> Path:
        return self._places[0] / f"{key}{_SUFFIX}"

    def keep_only(self, keys: Collection[str]) -> None:
        """Remove every other file of the folder's parts: those of earlier plans, and what a stopped run left half."""
        for path in _files(self._places[0]):
            if path.suffix != _SUFFIX or path.stem not in keys:
                path.unlink(missing_ok=True)


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place, then rename it."""
    spare = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        spare.write_bytes(content)
        spare.replace(path)
    finally:
        spare.unlink(missing_ok=True)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{folder}: a part cannot be written: {error.strerror or error}; free the space and run the same "
            "command again, which goes on from here, or choose another folder with --out"
        ) from None


def check_reuse(folders: Iterable[Path]) -> None:
    """Check that folders of earlier runs hold parts.

    Raises:
        UsageError: one does not.
    """
    for folder in folders:
        if not (folder / PARTS).is_dir():
            raise UsageError(f"{folder} holds no parts of an audit (no folder {PARTS} in it); name an audit's --out")


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
