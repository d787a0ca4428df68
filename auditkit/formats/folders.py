"""Folders by name, on a disk or in a store: those that are written to, and those that are read back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from auditkit.errors import InputError, OutputError
from auditkit.formats.remote import WRITABLE, fetch, is_remote, names_below, put, remove


@contextmanager
def written_folder(
    out: Path | str, last: str, *, claim: str = "", without: str = "", apart_from: Iterable[str] = ()
) -> Iterator[Path]:
    """Give the folder to write to: `out` on a disk, and for an address a temporary one.

    What was written there is put into the store when the block ends well: `last`, which vouches for all other files, is
    taken away first and put last. Nothing is put where the block fails. The temporary folder (in TMPDIR) takes the
    space of the whole output.

    Args:
        out: a folder or an address.
        last: the file that makes the folder whole.
        claim: a file that says whom a folder in use belongs to; it is fetched for the block to check. Without it a
            folder in use is an error.
        without: the name of folders that stay behind, wherever below.
        apart_from: addresses of inputs: inside of one, the output would be read as data next time.

    Raises:
        OutputError: the address is in use or inside an input, or cannot be written.
    """
    if not is_remote(out):
        yield Path(out)
        return
    address = str(out).rstrip("/")
    with tempfile.TemporaryDirectory(prefix="auditkit-") as spare, _writing(spare, address):
        folder = Path(spare, "out")
        _refuse_inside(address, apart_from)
        _refuse_or_fetch(address, claim, folder)
        yield folder
        _put_all(folder, address, last, without)


@contextmanager
def read_folder(folder: Path | str) -> Iterator[Path]:
    """Give a folder to read small files from: itself on a disk, and for an address a temporary copy.

    Raises:
        InputError: there is no such folder, or the store does not answer.
    """
    if not is_remote(folder):
        yield Path(folder)
        return
    address = str(folder).rstrip("/")
    names = names_below(address)
    if not names:
        raise InputError(f"{folder}: no such folder; check the address")
    with tempfile.TemporaryDirectory(prefix="auditkit-") as spare:
        for name in names:
            _fetch_below(address, name, Path(spare))
        yield Path(spare)


@contextmanager
def _writing(spare: str, address: str) -> Iterator[None]:
    """Make errors of writing name the address, not the temporary folder."""
    try:
        yield
    except OutputError as exc:
        raise OutputError(str(exc).replace(str(Path(spare, "out")), address)) from exc


def _refuse_inside(address: str, inputs: Iterable[str]) -> None:
    for folder in inputs:
        if is_remote(folder) and f"{address}/".startswith(f"{folder.rstrip('/')}/"):
            raise OutputError(f"{address} lies inside the pool's folder {folder}; choose another folder with --out")


def _refuse_or_fetch(address: str, claim: str, folder: Path) -> None:
    scheme = address.partition("://")[0]
    if scheme.casefold() not in WRITABLE:
        known = " or ".join(f"{name}://" for name in WRITABLE)
        raise OutputError(f"{address}: {scheme}:// cannot be written to; choose a folder, {known}")
    with _as_output():
        names = names_below(address)
        if names and claim not in names:
            raise OutputError(f"{address} is in use (it holds {names[0]}); choose another output folder")
        if names:
            folder.mkdir()
            _fetch_below(address, claim, folder)


def _fetch_below(address: str, name: str, folder: Path) -> None:
    target = folder / name
    if not target.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{address}/{name}: a name that leads out of its folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    fetch(f"{address}/{name}", target)


def _put_all(folder: Path, address: str, last: str, without: str) -> None:
    below = (path for path in folder.rglob("*") if path.is_file())
    files = sorted(path for path in below if without not in path.relative_to(folder).parts[:-1])
    with _as_output():
        if last in names_below(address):
            remove(f"{address}/{last}")
        for path in sorted(files, key=lambda path: path == folder / last):
            put(path, f"{address}/{path.relative_to(folder).as_posix()}")


@contextmanager
def _as_output() -> Iterator[None]:
    """Turn an error of a store into one of the output."""
    try:
        yield
    except InputError as exc:
        raise OutputError(str(exc)) from exc
