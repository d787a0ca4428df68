"""Where output may go: never over an input or the audit, through links neither, never half-written."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from auditkit.errors import OutputError
from auditkit.formats import streams
from auditkit.formats.naming import BENCHMARK_FOLDER, MANIFEST, REMOVED_FILE
from auditkit.records import Source

_RESERVED = (MANIFEST, REMOVED_FILE, BENCHMARK_FOLDER)


def check_output_folder(out: Path, protected: Iterable[Path]) -> None:
    """Check that `out` is new or empty, and neither is, holds, nor lies in anything protected; links are followed.

    Args:
        out: the folder to be written.
        protected: files and folders that must not change: inputs, benchmarks, the audit.

    Raises:
        OutputError: it is one of them, lies in one or holds one, is a file, or is not empty.
    """
    paths = [path.resolve() for path in protected]
    real = out.resolve()
    outside = _identities(real)
    for path in paths:
        if _identity(path) is not None and _identity(path) == _identity(real):
            raise OutputError(f"{out}: is {path}, which is an input; choose another output folder")
        if path == real or path in real.parents or (path.is_dir() and _identity(path) in outside):
            raise OutputError(f"{out}: lies inside the input {path}; choose an output folder elsewhere")
        if real in path.parents or (_identity(real) is not None and _identity(real) in _identities(path)):
            raise OutputError(f"{out}: holds the input {path}; choose an output folder elsewhere")
    if real.exists() and not real.is_dir():
        raise OutputError(f"{out}: is a file; choose a new or empty folder")
    _check_empty(out, real, paths)


def _check_empty(out: Path, real: Path, paths: list[Path]) -> None:
    if not real.is_dir():
        return
    with streams.writing(out):
        names = sorted(path.name for path in real.iterdir())
    if not names:
        return
    inputs = {_identity(path): path for path in paths}
    linked = next((path for path in sorted(real.rglob("*")) if _identity(path) in inputs), None)
    if linked is not None:
        raise OutputError(
            f"{out}: {linked.name} in it links to the input {inputs[_identity(linked)]}; choose another folder"
        )
    raise OutputError(f"{out}: is not empty (it holds {names[0]}); choose a new or empty folder")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells one file from another whatever its name, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _identities(path: Path) -> set[tuple[int, int]]:
    """Return the identities of a path and the folders it lies in."""
    return {found for step in (path, *path.parents) if (found := _identity(step)) is not None}


def output_names(sources: Iterable[Source]) -> dict[str, str]:
    """Return source name -> path below the output folder: the same relative names; frames and lists by their name.

    Raises:
        OutputError: a name that leads out of the folder, two of one name, or one that auditkit itself uses.
    """
    names: dict[str, str] = {}
    for source in sources:
        suffix = {"frame": ".parquet", "list": ".jsonl"}.get(source.format, "")
        names[source.name] = _safe_name(source, source.relative or source.name + suffix)
    taken = list(names.values())
    for name in taken:
        beside = [PurePosixPath(other) for other in taken]
        if taken.count(name) > 1 or any(PurePosixPath(name) in other.parents for other in beside):
            raise OutputError(f"two sources of the pool would be written to {name}; rename one")
    return names


def _safe_name(source: Source, name: str) -> str:
    parts = name.split("/")
    is_plain = all(part not in ("", ".", "..") and "\0" not in part and "\\" not in part for part in parts)
    if not is_plain or Path(name).is_absolute() or Path(name).drive:
        raise OutputError(f"{source.location}: its name {name!r} would lead out of the output folder; rename it")
    if parts[0] in _RESERVED:
        raise OutputError(
            f"{source.location}: auditkit itself writes {parts[0]} to the output folder; rename the input"
        )
    return name


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Give a new folder beside `out` that takes its place when the block ends well, and is removed when it does not.

    Raises:
        OutputError: no space left, no permission.
    """
    real = out.resolve()
    with streams.writing(out):
        made = _missing_parents(real)
        real.parent.mkdir(parents=True, exist_ok=True)
        spare = Path(tempfile.mkdtemp(prefix=f".{real.name[:100]}.auditkit-", dir=real.parent))
    try:
        with streams.writing(out):
            yield spare
            _take_place(spare, real)
    except OutputError as exc:
        # The person knows the folder they named, not the one beside it.
        raise OutputError(str(exc).replace(str(spare), str(out))) from exc
    finally:
        shutil.rmtree(spare, ignore_errors=True)
        for parent in made:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()


def _take_place(spare: Path, real: Path) -> None:
    spare.chmod(0o777 & ~_umask())
    if real.is_dir():
        real.rmdir()
    spare.rename(real)


def _missing_parents(path: Path) -> list[Path]:
    """Return the folders above `path` that do not exist, innermost first."""
    return [parent for parent in path.parents if not parent.exists()]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
