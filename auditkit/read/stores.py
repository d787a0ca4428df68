"""What an address in a store stands for, as the files in it: one file, a folder, a glob pattern."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from auditkit.errors import InputError
from auditkit.formats.naming import KNOWN, MANIFEST, manifest_files, split_suffixes, suffix_format
from auditkit.formats.remote import RemoteFile, find, read_text
from auditkit.read.paths import BESIDE, Expanded, File

_SHOWN = 5


def expand(address: str) -> Expanded:
    """Return the files that an address stands for, sorted. Which files of a folder count is as on disk.

    Raises:
        InputError: nothing is there, nothing that can be read, or the store does not answer.
        MissingExtraError: the store's library is not installed.
    """
    listed = find(address)
    if [file.location for file in listed] == [address]:
        return Expanded([_data(listed[0])])
    _refuse_saved(listed)
    own, bookkeeping = _decontaminated(listed)
    found = Expanded()
    for file in listed:
        below = PurePosixPath(file.location.removeprefix(address))
        is_hidden = any(part.startswith(".") for part in below.parts)
        folder = next((folder for folder in own if file.location.startswith(folder)), None)
        is_pool = file.location in own[folder] if folder is not None else _is_data(below.name) and not is_hidden
        if is_pool:
            found.files.append(_data(file))
        elif file.location not in bookkeeping:
            found.skipped.append(file.location)
    if not found.files:
        seen = ", ".join(name.rpartition("/")[2] for name in found.skipped[:_SHOWN]) or "nothing"
        raise InputError(f"{address}: no data that can be read (seen: {seen}); expected {KNOWN}")
    return found


def _data(file: RemoteFile) -> File:
    name = PurePosixPath(file.location).name
    return File(file.location, *suffix_format(name, file.location), remote=file)


def _is_data(name: str) -> bool:
    return bool(split_suffixes(name)[1]) and name not in BESIDE


def _refuse_saved(listed: Sequence[RemoteFile]) -> None:
    """Raise where `datasets` saved something among the files: it is read by memory mapping."""
    names = {file.location for file in listed}
    for name in sorted(names):
        folder, _, last = name.rpartition("/")
        if last == "state.json" and f"{folder}/dataset_info.json" in names:
            raise InputError(f"{folder}: saved by `datasets`, which is read from a disk only; copy the folder first")


def _decontaminated(listed: Sequence[RemoteFile]) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """Return, of folders that `decontaminate` or `split` wrote, folder -> the pool's files, and what else they wrote.

    Raises:
        InputError: a manifest is auditkit's and broken, or names a file that is not there.
    """
    names = {file.location for file in listed}
    own: dict[str, frozenset[str]] = {}
    beside: set[str] = set()
    for name in sorted(names):
        folder, slash, last = name.rpartition("/")
        written = manifest_files(read_text(name), name) if last == MANIFEST else None
        if written is None:
            continue
        own[folder + slash] = frozenset(f"{folder}/{output}" for output in written[0])
        beside |= {f"{folder}/{output}" for output in written[1]}
        gone = sorted(own[folder + slash] - names)
        if gone:
            raise InputError(f"{gone[0]}: named by {MANIFEST} and not there; write the folder again")
    return own, frozenset(beside)
