"""Files in object stores and behind addresses, through fsspec: listed, known by ETag or version, read by ranges.

    s3://bucket/key    gs://bucket/key    hf://datasets/org/name@revision/path    https://host/path

Credentials are those that each store's own library finds in the environment. fsspec and what it needs for a store are
imported when an address is used.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from auditkit.errors import InputError, MissingExtraError
from auditkit.formats.retry import patiently

SCHEMES: tuple[str, ...] = ("s3", "gs", "hf", "https", "http")
EXTRA = "remote"
#: Schemes of stores that are written to.
WRITABLE: tuple[str, ...] = ("s3", "gs")
#: Bytes fetched at a time where a file is read from start to end.
BLOCK_BYTES = 8 << 20
_OPTIONS: dict[str, dict[str, Any]] = {
    # auditkit waits and asks again by itself, since these libraries do not heed Retry-After.
    "s3": {"config_kwargs": {"retries": {"total_max_attempts": 1}}, "use_listings_cache": False},
    "gs": {"use_listings_cache": False},
}


@dataclass(frozen=True)
class RemoteFile:
    """A file in a store.

    Attributes:
        location: its address.
        digest: "etag:...:SIZE", "version:..." (generation or blob), or "modified:...:SIZE" where there is nothing else.
        n_bytes: its size.
    """

    location: str
    digest: str
    n_bytes: int


def is_remote(location: str | Path) -> bool:
    """Return whether a location is an address in a store."""
    scheme, mark, _ = str(location).partition("://")
    return bool(mark) and scheme.casefold() in SCHEMES


def find(location: str) -> list[RemoteFile]:
    """Return the file at an address, the files below a folder, or those that a glob pattern meets, sorted.

    Raises:
        InputError: nothing is there, or the store does not answer.
        MissingExtraError: the store's library is not installed.
    """
    store, path = _store(location)
    if _is_web(location):
        return [stat(location)]
    if any(sign in path for sign in "*?["):
        found = patiently(location, lambda: store.glob(path, detail=True))
        for name in [name for name, about in found.items() if about["type"] == "directory"]:
            found |= patiently(location, lambda name=name: store.find(name, detail=True))  # type: ignore[misc]
    else:
        about = patiently(location, lambda: store.info(path))
        if about["type"] != "directory":
            return [_file(location, about)]
        found = patiently(location, lambda: store.find(path, detail=True))
    # Some stores keep an empty object for a folder.
    files = [about for about in found.values() if about["type"] == "file" and not about["name"].endswith("/")]
    return sorted((_file(_address(store, about), about) for about in files), key=lambda file: file.location)


def stat(location: str) -> RemoteFile:
    """Return a file as it lies in the store now.

    Raises:
        InputError: it is not there or a folder, or the store does not answer.
    """
    store, path = _store(location)
    refresh = {"refresh": True} if location.startswith(("s3:", "hf:")) else {}
    about = patiently(location, lambda: store.info(path, **refresh))
    if about["type"] == "directory":
        raise InputError(f"{location}: a folder where a file was expected")
    return _file(location, about)


def check_unchanged(location: str, digest: str) -> None:
    """Raise where a file is no longer the one that was digested.

    Raises:
        InputError: it has another ETag, version or size, or is gone.
    """
    now = stat(location).digest
    if now != digest:
        raise InputError(f"{location}: changed while it was read (was {digest}, is {now}); run the command again")


def read_text(location: str) -> str:
    """Return a small file as text.

    Raises:
        InputError: it cannot be read, or is no UTF-8.
    """
    store, path = _store(location)
    try:
        return bytes(patiently(location, lambda: store.cat_file(path))).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{location}: not UTF-8 text") from None


def names_below(folder: str) -> list[str]:
    """Return the names of the files below a folder in a store, none where there is no such folder.

    Raises:
        InputError: the store does not answer.
    """
    store, path = _store(folder)
    found = patiently(folder, lambda: store.find(path))
    return sorted(name.removeprefix(path).lstrip("/") for name in found)


def fetch(address: str, to: Path) -> None:
    """Copy a file from a store.

    Raises:
        InputError: it cannot be read.
    """
    store, path = _store(address)
    to.write_bytes(patiently(address, lambda: store.cat_file(path)))


def put(file: Path, address: str) -> None:
    """Copy a file into a store, where it appears whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    store, path = _store(address)
    patiently(address, lambda: store.put_file(str(file), path), "written")


def remove(address: str) -> None:
    """Remove a file from a store.

    Raises:
        InputError: it cannot be removed.
    """
    store, path = _store(address)
    patiently(address, lambda: store.rm_file(path), "written")


class RemoteReader(io.RawIOBase):
    """A seekable stream over a file in a store, fetched range by range.

    Small reads fetch `block_bytes` from where they start; larger ones fetch just what is asked for.

    Raises:
        InputError: the store does not answer, or answers with another number of bytes.
    """

    def __init__(self, location: str, block_bytes: int = BLOCK_BYTES) -> None:
        self._store, self._path = _store(location)
        self._location, self._block_bytes = location, block_bytes
        self._size = stat(location).n_bytes
        self._at = self._start = 0
        self._block = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position in the file."""
        return self._at

    @property
    def n_consumed(self) -> int:
        """Return the position in the file."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position and return it."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return the number of bytes."""
        wanted = max(0, min(len(buffer), self._size - self._at))
        if not wanted:
            return 0
        if not self._start <= self._at < self._start + len(self._block):
            end = min(self._at + max(wanted, self._block_bytes), self._size)
            self._start, self._block = self._at, patiently(self._location, lambda: self._fetch(self._at, end))
        held = self._block[self._at - self._start :][:wanted]
        buffer[: len(held)] = held
        self._at += len(held)
        return len(held)

    def _fetch(self, start: int, end: int) -> bytes:
        data: bytes = self._store.cat_file(self._path, start=start, end=end)
        if len(data) == self._size > end - start:
            raise InputError(f"{self._location}: the server sends no parts of files; download it first")
        if len(data) != end - start:
            raise ConnectionError(f"{len(data)} bytes, expected {end - start}")
        return data


# ---------------------------------------------------------------- stores


def _store(location: str) -> tuple[Any, str]:
    """Return the fsspec file system of an address, and the path in it."""
    if _is_web(location):
        _refuse_secrets(location)
    scheme = location.partition("://")[0].casefold()
    try:
        store = _file_system(scheme)
    except ImportError:
        raise MissingExtraError(f"{scheme}://", EXTRA) from None
    return store, store._strip_protocol(location)


@lru_cache
def _file_system(scheme: str) -> Any:
    import fsspec

    store = fsspec.filesystem(scheme, **_OPTIONS.get(scheme, {}))
    if scheme == "s3":
        store.retries = 1
    return store


def _is_web(location: str) -> bool:
    return location.casefold().startswith(("http://", "https://"))


def _refuse_secrets(location: str) -> None:
    """Raise where an address may hold a password or a signature, which would stand in the report."""
    parts = urlsplit(location)
    if parts.username or parts.password or parts.query:
        plain = f"{parts.scheme}://{parts.hostname}{parts.path}"
        raise InputError(f"{plain}: an address with a password or a query would stand in the report; download it first")


def _address(store: Any, about: Mapping[str, Any]) -> str:
    return str(store.unstrip_protocol(about["name"]))


def _file(location: str, about: Mapping[str, Any]) -> RemoteFile:
    """Return a file by what a store says about it."""
    if about.get("size") is None:
        raise InputError(f"{location}: the server does not say how large it is; download it first")
    size = int(about["size"])
    large = about.get("lfs") or {}
    version = about.get("generation") or large.get("sha256") or about.get("blob_id")
    etag = str(about.get("ETag") or about.get("etag") or "").strip('"')
    if version:
        return RemoteFile(location, f"version:{version}", size)
    if etag:
        return RemoteFile(location, f"etag:{etag}:{size}", size)
    modified = about.get("LastModified") or about.get("Last-Modified") or about.get("updated")
    if modified is None:
        raise InputError(f"{location}: has neither ETag nor date, so a change would not be seen; download it first")
    return RemoteFile(location, f"modified:{modified}:{size}", size)
