"""open_pool: whatever a person points at, as named sources with digests, in a fixed order."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from auditkit.errors import InputError
from auditkit.formats import bare_name, digest_data, digest_file
from auditkit.formats.naming import split_suffixes
from auditkit.formats.remote import is_remote
from auditkit.read import hub, paths, stores
from auditkit.read.chats import wanted_roles
from auditkit.read.labels import check_rules
from auditkit.read.pool_fields import check_fields
from auditkit.records import Pool, ReadSettings, Source

MEMORY = "memory"
_KINDS = (
    "a path, folder, glob pattern, s3:// or other address, hf:org/name, polars, pandas or pyarrow frame, "
    "datasets.Dataset, list of texts or dicts, or a dict of name -> one of these"
)


@dataclass(frozen=True)
class _Input:
    """One source before it has its name.

    Attributes:
        key: the name that the user gave, "" where they gave none.
        names: names to try, shortest first.
        file: where it lies on disk; None in memory.
    """

    location: str
    format: str
    key: str = ""
    names: tuple[str, ...] = ()
    file: paths.File | None = None
    data: Any = None


def open_pool(inputs: Any, settings: ReadSettings | None = None) -> Pool:
    """Return the sources of a pool: named, digested, not yet read.

    Args:
        inputs: a path, a folder, a glob pattern, the same in a store ("s3://bucket/folder", see formats/remote.py),
            "hf:org/name:config:split@revision", a frame (polars, pandas, pyarrow), a `datasets` Dataset or DatasetDict,
            a list of texts, a list of dicts; or several: a tuple, a list of such things, or a dict of name -> thing.
            Strings in a tuple are paths. A list of strings is a list of paths where each exists, is a Hub name or an
            address, or has the suffix of data; else it is a list of texts. A list in a dict is always data.
        settings: checked here, so that a wrong one stops before the pool is read.

    Raises:
        FieldError: of several sources none has a field that is asked for.
        InputError: something is missing, empty, of unknown kind, not readable, or named twice.
        UsageError: an unknown role, or a policy that is declared twice.
    """
    if settings is not None:
        wanted_roles(settings.roles)
        check_rules(settings.labels)
    skipped: list[str] = []
    found = list(_inputs(inputs, "", skipped))
    if not found:
        raise InputError(f"no input given; expected {_KINDS}")
    _refuse_twice(found)
    relatives = _relatives(found)
    names = _unique([_names(item, relative) for item, relative in zip(found, relatives, strict=True)])
    sources = tuple(_source(*known) for known in zip(found, names, relatives, strict=True))
    if settings is not None and settings.fields and len(sources) > 1:
        check_fields(sources, settings)
    return Pool(sources, tuple(dict.fromkeys(skipped)))


# ---------------------------------------------------------------- what was named


def _inputs(value: Any, key: str, skipped: list[str]) -> Iterator[_Input]:
    if isinstance(value, (str, os.PathLike)):
        yield from _named(os.fspath(value), key, skipped)
    elif hub.is_datasets(value):
        yield from _splits(hub.splits_of(value), MEMORY, key)
    elif isinstance(value, Mapping):
        yield from _by_name(value, skipped)
    elif isinstance(value, list) and _is_data(value, key):
        yield _Input(MEMORY, "list", key, ("pool",), data=value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _inputs(item, key, skipped)
    elif type(value).__module__.split(".")[0] in ("polars", "pandas", "pyarrow"):
        data = value.collect() if isinstance(value, pl.LazyFrame) else value
        yield _Input(MEMORY, "frame", key, ("pool",), data=data)
    else:
        raise InputError(f"a pool cannot be a {type(value).__qualname__}; expected {_KINDS}")


def _by_name(value: Mapping[Any, Any], skipped: list[str]) -> Iterator[_Input]:
    for name, item in value.items():
        if not isinstance(name, str) or not name:
            raise InputError(f"a pool cannot be called {name!r}; expected a dict of name -> data")
        yield from _inputs(item, name, skipped)


def _is_data(value: list[Any], key: str) -> bool:
    """Return whether a list is records (texts and dicts) rather than several inputs.

    Raises:
        InputError: it starts like a list of paths and goes on like a list of texts.
    """
    if not value:
        return bool(key)
    if any(isinstance(item, dict) for item in value):
        return all(isinstance(item, (str, dict)) or item is None for item in value)
    if not all(isinstance(item, str) or item is None for item in value):
        return False
    if key or not (isinstance(value[0], str) and _is_path(value[0])):
        return True
    odd = next((item for item in value if item is None or not _is_path(item)), value[0])
    if odd is not value[0]:
        shown = "null" if odd is None else ascii(odd[:60])
        raise InputError(
            f"a list that starts with a path ({value[0]}) and goes on with {shown}, which is none; give texts as a "
            "dict of name -> list, and paths as a tuple"
        )
    return False


def _is_path(text: str) -> bool:
    if "\n" in text or len(text) > 4096 or not text:
        return False
    return hub.is_hub_name(text) or is_remote(text) or bool(split_suffixes(Path(text).name)[1]) or paths.exists(text)


def _named(text: str, key: str, skipped: list[str]) -> Iterator[_Input]:
    if hub.is_hub_name(text):
        yield from _splits(hub.load_hub(text), text, key)
        return
    expanded = stores.expand(text) if is_remote(text) else paths.expand(text)
    skipped.extend(expanded.skipped)
    for file in expanded.files:
        yield _Input(file.location, file.format, key, file=file)


def _splits(splits: Mapping[str, Any], location: str, key: str) -> Iterator[_Input]:
    """Yield a source for every split; of a Hub name its location, split named, is the last name to try."""
    whole = "" if location == MEMORY else hub.parse_hub_name(location).name
    for split, data in splits.items():
        names = (split, f"{whole.split('/')[-1]}/{split}", f"{whole}/{split}", f"{location}/{split}")
        yield _Input(location, "frame", key, names if whole else (split,), data=data)


# ---------------------------------------------------------------- names and digests


def _refuse_twice(found: list[_Input]) -> None:
    """Raise where two inputs are one file, through links too."""
    seen: dict[tuple[Any, ...], str] = {}
    for item in found:
        if item.file is None:
            continue
        identity = _identity(item.location, item.file)
        if identity in seen:
            other = seen[identity]
            what = "is given twice" if other == item.location else f"is the same file as {other}"
            raise InputError(f"{item.location}: {what}; name each file once")
        seen[identity] = item.location


def _identity(location: str, file: paths.File) -> tuple[Any, ...]:
    if file.remote is not None:
        return (location,)
    try:
        status = Path(location).stat()
    except OSError as exc:
        raise InputError(f"{location}: cannot be read ({exc.strerror}); check the path") from None
    return (status.st_dev, status.st_ino, file.split)


def _relatives(found: list[_Input]) -> list[str]:
    """Return the path of each file below the common folder of all, "" for what is not a file."""
    parents = [str(item.file.path.parent) for item in found if item.file is not None]
    base = os.path.commonpath(parents) if parents else ""
    return ["" if item.file is None else item.file.path.relative_to(base).as_posix() for item in found]


def _names(item: _Input, relative: str) -> tuple[str, ...]:
    names = item.names
    if item.file is not None:
        names = (relative if item.format == "arrow" else bare_name(relative), relative)
    return (item.key, *(f"{item.key}/{name}" for name in names)) if item.key else names


def _unique(candidates: list[tuple[str, ...]]) -> list[str]:
    """Return for each source its shortest name that no other has; numbers where names run out."""
    levels = [0] * len(candidates)
    while True:
        names = [names[level] for names, level in zip(candidates, levels, strict=True)]
        doubled = {name for name, n in Counter(names).items() if n > 1}
        longer = [i for i, name in enumerate(names) if name in doubled and levels[i] + 1 < len(candidates[i])]
        if not longer:
            return _numbered(names, doubled)
        for i in longer:
            levels[i] += 1


def _numbered(names: list[str], doubled: set[str]) -> list[str]:
    taken = set(names)
    numbered = []
    for name in names:
        number, unique = 1, name
        while name in doubled and (unique in taken or unique == name):
            unique, number = f"{name}-{number}", number + 1
        taken.add(unique)
        numbered.append(unique)
    return numbered


def _source(item: _Input, name: str, relative: str) -> Source:
    source = Source(name, item.location, item.format, "", relative, "", 0, item.data)
    if item.file is None:
        digest, n_bytes = digest_data(item.data, item.location)
        return replace(source, digest=digest, n_bytes=n_bytes)
    if item.file.remote is not None:
        digest, n_bytes = item.file.remote.digest, item.file.remote.n_bytes
        return replace(source, compression=item.file.compression, digest=digest, n_bytes=n_bytes)
    digest, n_bytes = digest_file(Path(item.location, item.file.split) if item.file.split else Path(item.location))
    return replace(source, compression=item.file.compression, digest=digest, n_bytes=n_bytes)
