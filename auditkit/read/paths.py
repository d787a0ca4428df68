"""What a person named on disk, as the files in it: files, folders, globs, folders saved by `datasets`."""

from __future__ import annotations

import glob
import json
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from auditkit.errors import InputError, nearest
from auditkit.formats import decontaminated_files, detect_format, is_saved_dataset, is_saved_dataset_dict
from auditkit.formats.naming import KNOWN, bookkeeping_files, split_suffixes
from auditkit.formats.remote import RemoteFile

#: Files that `datasets` writes beside the data; their suffix is that of data.
BESIDE = frozenset({"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"})
_SHOWN = 5


@dataclass(frozen=True)
class File:
    """A file, or a saved Dataset, to be read.

    Attributes:
        location: as the user named it, or below what they named.
        format, compression: see records.Source.
        split: of a saved DatasetDict, whose folder `location` is; else "".
        remote: of a file in a store, what the store says of it.
    """

    location: str
    format: str
    compression: str = ""
    split: str = ""
    remote: RemoteFile | None = None

    @property
    def path(self) -> Path:
        """Return the absolute path that names the source, links not followed; of a file in a store /SCHEME/REST."""
        if self.remote is not None:
            return Path("/", *self.location.split("://", 1))
        return Path(os.path.abspath(self.location)) / self.split  # noqa: PTH100 (resolve would follow links)


@dataclass
class Expanded:
    """What named paths hold: the files to read, and the files that are not read."""

    files: list[File] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def is_pattern(text: str) -> bool:
    """Return whether a path is a glob pattern."""
    return glob.has_magic(text)


def exists(text: str) -> bool:
    """Return whether a path exists; False for what cannot be a path."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def expand(text: str) -> Expanded:
    """Return the files that a path, folder or glob pattern stands for, sorted.

    Raises:
        InputError: nothing is there, or nothing that can be read.
    """
    if text.startswith("~") and not exists(text):
        text = str(Path(text).expanduser())
    found = Expanded()
    if exists(text):
        _add(text, found, is_named=True)
    elif is_pattern(text):
        for hit in sorted(glob.glob(text, recursive=True)):  # noqa: PTH207 (pathlib refuses absolute patterns)
            _add(hit, found, is_named=False)
        # A pattern with ** meets a folder and what is in it.
        skipped = [name for name in dict.fromkeys(found.skipped) if not any(map(is_saved, Path(name).parents))]
        found = Expanded(list({file.path: file for file in found.files}.values()), skipped)
    else:
        raise InputError(f"{text}: {_missing(text)}")
    if not found.files:
        raise InputError(f"{text}: {_nothing(text, found.skipped)}; expected {KNOWN}, or a folder saved by `datasets`")
    return found


def is_saved(folder: Path) -> bool:
    """Return whether `datasets` saved something in this folder."""
    return is_saved_dataset(folder) or is_saved_dataset_dict(folder)


def _add(text: str, found: Expanded, is_named: bool) -> None:
    path = Path(text)
    if path.is_dir():
        if is_saved(path):
            found.files.extend(_saved(text))
        elif not _add_decontaminated(text, found):
            _add_folder(text, found, set())
    elif is_named:
        if not path.is_file():
            raise InputError(f"{text}: not a regular file; write its content to a file first")
        found.files.append(File(text, *detect_format(path)))
    else:
        _add_file(text, path.name, found)


def _add_decontaminated(folder: str, found: Expanded) -> bool:
    """Add the pool's own files of a folder that `decontaminate` wrote; False for any other folder."""
    outputs = decontaminated_files(Path(folder))
    if outputs is None:
        return False
    for output in outputs:
        text = os.path.join(folder, output)  # noqa: PTH118 (keeps the path as it was named)
        if Path(output).is_absolute() or ".." in Path(output).parts or not Path(text).exists():
            raise InputError(f"{text}: named by manifest.json and not there; write the folder again")
        _add(text, found, is_named=True)
    found.skipped.extend(_foreign(folder, outputs))
    return True


def _foreign(folder: str, outputs: Collection[str]) -> Iterator[str]:
    """Yield the files of a decontaminated folder that are neither the pool's nor written beside it."""
    own = {Path(name) for name in (*outputs, *bookkeeping_files(Path(folder)))}
    own |= {Path(output).with_name("dataset_dict.json") for output in outputs if Path(folder, output).is_dir()}
    for above, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(above, name).relative_to(folder)
            if own.isdisjoint({path, *path.parents}):
                yield os.path.join(folder, path)  # noqa: PTH118 (keeps the path as it was named)


def _add_folder(folder: str, found: Expanded, above: set[tuple[int, int]]) -> None:
    """Add the files of a folder and below. Links to folders are followed, but never into a folder above."""
    try:
        status = Path(folder).stat()
        names = sorted(os.listdir(folder))  # noqa: PTH208 (names are wanted, not paths)
    except OSError as exc:
        raise InputError(f"{folder}: cannot be read ({exc.strerror}); check the folder and its permissions") from None
    here = above | {(status.st_dev, status.st_ino)}
    for name in names:
        path = Path(folder, name)
        text = os.path.join(folder, name)  # noqa: PTH118 (keeps the path as it was named)
        if name.startswith("."):
            found.skipped.append(text)
        elif not path.is_dir():
            _add_file(text, name, found)
        elif is_saved(path):
            found.files.extend(_saved(text))
        elif (path.stat().st_dev, path.stat().st_ino) in here:
            found.skipped.append(text)
        elif not _add_decontaminated(text, found):
            _add_folder(text, found, here)


def _add_file(text: str, name: str, found: Expanded) -> None:
    """Add a file that was not named one by one: only with a known suffix."""
    _, kind, compression = split_suffixes(name)
    if not kind or name in BESIDE or name.startswith("."):
        found.skipped.append(text)
    elif not Path(text).exists():
        raise InputError(f"{text}: a link to a file that is not there; mend or remove it")
    elif not stat.S_ISREG(Path(text).stat().st_mode):
        found.skipped.append(text)
    else:
        found.files.append(File(text, kind, compression))


def _saved(folder: str) -> Iterator[File]:
    if not is_saved_dataset_dict(Path(folder)):
        yield File(folder, "arrow")
        return
    try:
        splits = json.loads(Path(folder, "dataset_dict.json").read_text("utf-8"))["splits"]
        safe = [str(split) for split in splits if Path(str(split)).name == str(split)]
    except (OSError, ValueError, KeyError, TypeError):
        safe = []
    if not safe:
        raise InputError(f"{folder}: dataset_dict.json names no splits; save the dataset again")
    for split in safe:
        yield File(folder, "arrow", split=split)


def _missing(text: str) -> str:
    """Return what is wrong with a path that does not exist, and the nearest name that does."""
    path = Path(text)
    if "\0" in text or len(text) > 4096 or any(len(os.fsencode(part)) > 255 for part in path.parts):
        return "cannot be a path; for texts in memory give a dict of name -> list"
    if path.is_symlink():
        return "a link to a file that is not there; mend or remove it"
    missing = next(folder for folder in (path, *path.parents) if exists(str(folder.parent)))
    above = missing.parent
    known = [entry.name for entry in above.iterdir()] if above.is_dir() and os.access(above, os.R_OK) else []
    alike = next((name for name in known if name.casefold() == missing.name.casefold()), "")
    hint = f"; did you mean '{alike}'?" if alike else nearest(missing.name, known)
    what = "no such file or folder" if missing == path else f"there is no folder {missing}"
    return f"{what}{hint or '; check the path'}"


def _nothing(text: str, skipped: list[str]) -> str:
    what = "the folder holds no data that can be read" if Path(text).is_dir() else "the pattern matches no data file"
    if not skipped:
        return f"{what}, it is empty" if Path(text).is_dir() else what
    names = [os.path.relpath(name, text) if Path(text).is_dir() else name for name in skipped[:_SHOWN]]
    more = f" and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
    return f"{what} (seen: {', '.join(names)}{more})"
