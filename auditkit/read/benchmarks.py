"""open_benchmarks: what a user names -> Benchmark. Paths, registered names, Hub datasets, frames, lists.

A spec, as written on the command line:

    NAME                       a registered benchmark: from the folder of pulled copies, else from the Hub
    PATH                       a file of any format of formats/, or a folder saved by `datasets`; called by its stem
    NAME=PATH                  the same under another name; a registered name has the file checked against the registry
    hf:org/name:config:split@revision    a dataset of the Hub (NAME=hf:... names it)
    PATH::COLUMN,COLUMN        reads exactly these columns (also NAME=PATH::COLUMN)

A path that holds "=" or is spelt like a registered name is clear with a folder before it: ./x=y.jsonl, ./gsm8k.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from auditkit.errors import BenchmarkError, UsageError, nearest
from auditkit.formats import bare_name, digest_data, is_saved_dataset, is_saved_dataset_dict
from auditkit.formats.remote import is_remote
from auditkit.read.assemble import assemble
from auditkit.read.cache import cached_source, default_folder, file_source
from auditkit.read.hub import HubName, is_hub_name, parse_hub_name
from auditkit.read.paths import exists
from auditkit.read.registry import Registered, known_names, lookup
from auditkit.read.remote import OFFLINE_HINT, hub_location, load_split, revision_of
from auditkit.records import Benchmark, Source


@dataclass(frozen=True)
class Spec:
    """One benchmark as it was named.

    Attributes:
        name: "" where the data's own name is used.
        target: what to read: a path or "hf:..." (str), data in memory, or None for a registered name alone.
        columns: columns named after "::".
    """

    name: str
    target: Any = None
    columns: tuple[str, ...] = ()


def open_benchmarks(specs: Any, *, cache_dir: Path | str | None = None) -> tuple[Benchmark, ...]:
    """Return the benchmarks that `specs` name, in their order.

    Args:
        specs: one spec or a sequence of them: a string (see above), a Path, a Benchmark, a polars or pandas frame, a
            datasets.Dataset, a list of strings or of dicts (inside a sequence, or as a (name, data) pair), or a dict
            name -> any of these.
        cache_dir: folder of pulled copies; default_folder() where None.

    Raises:
        BenchmarkError: unknown, empty, not cached, gated, not as registered, or two of one name.
        UsageError: no spec, or one of another type.
        InputError: a file cannot be read, or its text column is not clear.
    """
    folder = Path(cache_dir) if cache_dir is not None else default_folder()
    opened: list[Benchmark] = []
    for number, spec in enumerate(_specs(specs), 1):
        benchmark = spec if isinstance(spec, Benchmark) else _open(spec, folder, number)
        _refuse_double(benchmark, opened)
        opened.append(benchmark)
    if not opened:
        raise UsageError("no benchmark is named; expected a registered name, a path, or NAME=PATH")
    return tuple(opened)


def _refuse_double(benchmark: Benchmark, opened: Sequence[Benchmark]) -> None:
    for other in opened:
        if other.name.casefold() == benchmark.name.casefold():
            raise BenchmarkError(
                f"two benchmarks are called {benchmark.name!r}: {other.source.location} and "
                f"{benchmark.source.location}; name one of them (other=PATH)"
            )


# ---------------------------------------------------------------- what was named


def _specs(specs: Any) -> Iterator[Spec | Benchmark]:
    """Yield each spec of whatever shape open_benchmarks was given."""
    if isinstance(specs, Mapping):
        for name, data in specs.items():
            yield _named(str(name), data)
    elif _is_pair(specs):
        yield _named(*specs)
    elif _is_one(specs):
        yield _single(specs)
    else:
        for spec in specs:
            if isinstance(spec, Mapping):
                yield from _specs(spec)
            else:
                yield _named(*spec) if _is_pair(spec) else _single(spec)


def _is_pair(value: Any) -> bool:
    """Return whether a value is (name, data); two strings are two specs."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and not isinstance(value[1], (str, Path, Benchmark))
    )


def _is_one(value: Any) -> bool:
    """Return whether a value is one spec: no sequence, or a list of records."""
    if isinstance(value, (str, Path, Benchmark)) or not isinstance(value, (list, tuple)):
        return True
    return bool(value) and all(isinstance(element, Mapping) for element in value)


def _single(value: Any) -> Spec | Benchmark:
    if isinstance(value, Benchmark):
        return value
    if isinstance(value, Path):
        return Spec("", str(value))
    return parse_spec(value) if isinstance(value, str) else Spec("", value)


def _named(name: str, data: Any) -> Spec | Benchmark:
    if isinstance(data, Benchmark):
        items = data.items.with_columns(pl.lit(_checked_name(name), pl.String).alias("benchmark"))
        return replace(data, name=name, items=items)
    if isinstance(data, Path):
        return Spec(name, str(data))
    return replace(parse_spec(data), name=name) if isinstance(data, str) else Spec(name, data)


def parse_spec(text: str) -> Spec:
    """Return the parts of a spec of the command line.

    Raises:
        BenchmarkError: neither registered nor a file, or an empty part.
    """
    name, target = _split_name(text)
    target, columns = _split_columns(target)
    if not name and not is_hub_name(target) and _is_bare(target) and lookup(target) is not None:
        return Spec(target, None, columns)
    if is_hub_name(target):
        return Spec(name, target, columns)
    if not _exists(target):
        raise _not_there(text, name, target)
    return Spec(name, _expanded(target), columns)


def _split_name(text: str) -> tuple[str, str]:
    """Return (name, rest) of NAME=REST; a name holds no slash, so that data/x=1/file.jsonl is a path."""
    name, equals, rest = text.partition("=")
    if not equals or any(sign in name for sign in "/\\") or name.startswith(("~", "hf:", ".")):
        return "", text
    if name and rest and _exists(_split_columns(text)[0]) and not _exists(_split_columns(rest)[0]):
        return "", text
    if not name or not rest:
        raise BenchmarkError(f"benchmark {text!r}: an empty {'path' if name else 'name'}; expected NAME=PATH")
    return name, rest


def _split_columns(target: str) -> tuple[str, tuple[str, ...]]:
    """Return (target, columns) of TARGET::COLUMN,COLUMN; a Hub spec may hold "::" itself and has no such end."""
    if is_hub_name(target) or "::" not in target:
        return target, ()
    target, _, listed = target.rpartition("::")
    columns = tuple(column.strip() for column in listed.split(","))
    if not target or not all(columns):
        raise BenchmarkError(f"benchmark {target}::{listed}: an empty part; expected PATH::COLUMN,COLUMN")
    return target, columns


def _expanded(target: str) -> str:
    return os.path.expanduser(target)  # noqa: PTH111 (Path.expanduser raises for an unknown user)


def _exists(target: str) -> bool:
    return is_remote(target) or exists(_expanded(target))


def _is_bare(target: str) -> bool:
    return not any(sign in target for sign in "/\\~")


def _not_there(text: str, name: str, target: str) -> BenchmarkError:
    text, target = _short(text), _short(target)
    if name or not _is_bare(target) or Path(target).suffix:
        return BenchmarkError(f"benchmark {text!r}: there is no file or folder {target!r}; check the path")
    return BenchmarkError(
        f"benchmark {text!r}: neither a registered name nor a file{nearest(target.casefold(), known_names())}; "
        "`auditkit benchmarks` lists the registered names; a path, or NAME=PATH, works too (in Python, {name: texts})"
    )


def _short(text: str) -> str:
    """Return at most 80 characters: what was meant as a name may be a whole text."""
    return text if len(text) <= 80 else f"{text[:77]}..."


# ---------------------------------------------------------------- opening


def _open(spec: Spec, folder: Path, number: int) -> Benchmark:
    entry = lookup(spec.name) if spec.name else None
    if spec.target is None:
        if entry is None:
            raise BenchmarkError(f"benchmark {spec.name!r}: is not registered, and no data is given")
        return _open_registered(entry, folder, spec.columns)
    name = _checked_name(entry.name if entry else spec.name)
    if not isinstance(spec.target, str):
        return assemble(_memory_source(name or _unnamed(number), spec.target), entry, spec.columns)
    if is_hub_name(spec.target):
        return _open_hub(parse_hub_name(spec.target), name, entry)
    if is_remote(spec.target):
        return assemble(file_source(name or _checked_name(_stem(Path(spec.target))), spec.target), entry, spec.columns)
    path = Path(spec.target)
    return assemble(file_source(name or _checked_name(_stem(path)), _one_split(path)), entry, spec.columns)


def _open_registered(entry: Registered, folder: Path, columns: tuple[str, ...]) -> Benchmark:
    """Return a registered benchmark from its locked copy, else from the Hub.

    Raises:
        BenchmarkError: neither is there; says how to get it.
    """
    found = cached_source(entry, folder)
    if found is not None:
        source, locked = found
        return replace(assemble(source, entry, columns), revision=locked.revision)
    if entry.source == "url":
        raise BenchmarkError(
            f"benchmark {entry.name}: not in {folder}, and {entry.url} is only fetched on request: run "
            f"`auditkit benchmarks pull`, or name a local copy with {entry.name}=PATH; offline, {OFFLINE_HINT}"
        )
    return _open_hub(HubName(entry.repo, entry.config, entry.split, entry.revision), entry.name, entry, columns)


def _open_hub(spec: HubName, name: str, entry: Registered | None, columns: tuple[str, ...] = ()) -> Benchmark:
    dataset = load_split(spec)
    digest, n_bytes = digest_data(dataset, hub_location(spec))
    name = name or spec.name.rpartition("/")[2]
    source = Source(name, hub_location(spec), "frame", "", "", digest, n_bytes, dataset)
    return replace(assemble(source, entry, columns), revision=spec.revision or revision_of(dataset))


def _memory_source(name: str, data: Any) -> Source:
    """Return data in memory as a source.

    Raises:
        InputError: no frame, dataset or list.
    """
    if isinstance(data, tuple):
        data = list(data)
    digest, n_bytes = digest_data(data, name)
    return Source(name, "memory", "list" if isinstance(data, list) else "frame", "", "", digest, n_bytes, data)


def _one_split(path: Path) -> Path:
    """Return the folder of the only split where `path` is a DatasetDict saved by `datasets`, else `path`.

    Raises:
        BenchmarkError: it has several splits.
    """
    if not is_saved_dataset_dict(path):
        return path
    splits = sorted(folder for folder in path.iterdir() if is_saved_dataset(folder))
    if len(splits) != 1:
        names = ", ".join(folder.name for folder in splits) or "none"
        raise BenchmarkError(f"{path}: a saved DatasetDict with the splits {names}; name one: {path}/SPLIT")
    return splits[0]


def _unnamed(number: int) -> str:
    return "benchmark" if number == 1 else f"benchmark-{number}"


def _stem(path: Path) -> str:
    return bare_name(path.resolve().name if path.name in ("", ".", "..") else path.name)


def _checked_name(name: str) -> str:
    """Return a name that can also be a file's name.

    Raises:
        BenchmarkError: it cannot.
    """
    if name and (name in (".", "..") or not name.isprintable() or any(sign in name for sign in '/\\:*?"<>|')):
        raise BenchmarkError(f"benchmark {name!r}: cannot be a file's name; name it with letters, digits, - and _")
    return name
