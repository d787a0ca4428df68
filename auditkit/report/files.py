"""Files that appear whole or not at all: written beside their place under a temporary name, then renamed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from auditkit.errors import OutputError


def publish(folder: Path, contents: Mapping[str, bytes], last: str) -> None:
    """Write every file of `contents` (name -> bytes) into `folder`; the file `last` appears when all others stand.

    An earlier file of the name `last` is taken away first, so that it never vouches for newer or half-replaced ones.

    Raises:
        OutputError: the folder cannot be made, a file cannot be written, or no space is left; no temporary file stays,
            nor a folder that was made for it.
    """
    made = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
    names = [*sorted(name for name in contents if name != last), last]
    staged = {name: folder / f".{name}.{os.getpid()}.tmp" for name in names}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            _write(staged[name], contents[name])
        (folder / last).unlink(missing_ok=True)
        for name in names:
            staged[name].replace(folder / name)
    except OSError as error:
        raise OutputError(
            f"{folder}: the report cannot be written: {error.strerror or error}; "
            "free the space or choose another folder with --out"
        ) from None
    finally:
        _clean(list(staged.values()))
        _remove_empty(made)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())  # a full disk or quota shows here at the latest, before anything is renamed


def _clean(paths: list[Path]) -> None:
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError:  # the folder itself is missing or read-only: nothing of ours is in it
            continue


def _remove_empty(made: list[Path]) -> None:
    """Remove folders, innermost first, up to the first that holds something."""
    for folder in made:
        try:
            folder.rmdir()
        except OSError:
            return
