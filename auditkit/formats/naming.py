"""File names: which format and compression a suffix means, and what a file is called without it."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

from auditkit.errors import InputError

#: Suffix -> format.
SUFFIXES: dict[str, str] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".txt": "text",
}
#: Suffix -> compression, after one of SUFFIXES.
COMPRESSIONS: dict[str, str] = {".gz": "gz", ".zst": "zst"}

KNOWN = f"{', '.join(SUFFIXES)}, each plain or with {' or '.join(COMPRESSIONS)}"

#: What `decontaminate` writes beside the pool's own files, and how its manifest is told from others.
MANIFEST, REMOVED_FILE, BENCHMARK_FOLDER = "manifest.json", "removed.parquet", "benchmarks"
MANIFEST_KIND = "auditkit decontaminated pool"
#: The same for `split`, whose folder holds the pool's files by side.
SPLIT_FILE, SPLIT_KIND = "split.parquet", "auditkit split pool"


def split_suffixes(name: str) -> tuple[str, str, str]:
    """Return (name without its known suffixes, format, compression); the format is "" where none is known.

    Case does not matter: "Train.JSONL.gz" is ("Train", "jsonl", "gz").
    """
    stem, compression = name, ""
    for suffix, kind in COMPRESSIONS.items():
        if stem.lower().endswith(suffix):
            stem, compression = stem[: -len(suffix)], kind
            break
    for suffix, kind in SUFFIXES.items():
        if stem.lower().endswith(suffix) and len(stem) > len(suffix):
            return stem[: -len(suffix)], kind, compression
    return name, "", ""


def bare_name(relative: str) -> str:
    """Return a relative path without its known suffixes: "en/train.jsonl.gz" is "en/train"."""
    path = PurePosixPath(relative)
    return str(path.with_name(split_suffixes(path.name)[0])) if path.name else relative


def is_saved_dataset(folder: Path) -> bool:
    """Return whether `datasets` saved one Dataset in this folder."""
    return (folder / "state.json").is_file() and (folder / "dataset_info.json").is_file()


def is_saved_dataset_dict(folder: Path) -> bool:
    """Return whether `datasets` saved a DatasetDict (one folder a split) in this folder."""
    return (folder / "dataset_dict.json").is_file()


def decontaminated_files(folder: Path) -> tuple[str, ...] | None:
    """Return the pool's files (below `folder`) in a folder that `decontaminate` or `split` wrote, None for any other.

    Such a folder also holds manifest.json and removed.parquet, clean benchmarks or split.parquet: no part of the pool.

    Raises:
        InputError: the manifest is auditkit's and broken.
    """
    written = _written(folder)
    return None if written is None else written[0]


def bookkeeping_files(folder: Path) -> frozenset[str]:
    """Return what `decontaminate` or `split` wrote beside the pool's files: its manifest and tables, clean benchmarks.

    Raises:
        InputError: the manifest is auditkit's and broken.
    """
    written = _written(folder)
    return frozenset() if written is None else written[1]


def _written(folder: Path) -> tuple[tuple[str, ...], frozenset[str]] | None:
    try:
        text = (folder / MANIFEST).read_text("utf-8")
    except (OSError, ValueError):
        return None
    return manifest_files(text, str(folder / MANIFEST))


def manifest_files(text: str, location: str) -> tuple[tuple[str, ...], frozenset[str]] | None:
    """Return the pool's files and those written beside them, below the folder of a manifest; None for another file.

    Raises:
        InputError: the manifest is auditkit's and broken.
    """
    try:
        manifest = json.loads(text)
    except ValueError:
        return None
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    if kind == SPLIT_KIND:
        return _outputs(manifest, "sources", location), frozenset({MANIFEST, SPLIT_FILE})
    if kind == MANIFEST_KIND:
        benchmarks = _outputs(manifest, "benchmarks", location)
        return _outputs(manifest, "sources", location), frozenset({MANIFEST, REMOVED_FILE, *benchmarks})
    return None


def _outputs(manifest: dict[str, Any], what: str, location: str) -> tuple[str, ...]:
    try:
        return tuple(str(entry["output"]) for entry in manifest[what])
    except (KeyError, TypeError) as exc:
        raise InputError(f"{location}: broken ({exc!r} is missing); write the folder again") from None


def detect_format(path: Path | str) -> tuple[str, str]:
    """Return (format, compression) of a file by its suffixes, or ("arrow", "") for a folder saved by `datasets`.

    Raises:
        InputError: the suffix is unknown, or the folder was not saved by `datasets`.
    """
    location, path = str(path), Path(path)
    if path.is_dir():
        if is_saved_dataset(path) or is_saved_dataset_dict(path):
            return "arrow", ""
        raise InputError(
            f"{path}: a folder that was not saved by `datasets`; name the files in it, or the folder above"
        )
    return suffix_format(path.name, location)


def suffix_format(name: str, location: str) -> tuple[str, str]:
    """Return (format, compression) of a file by the suffixes of its name.

    Raises:
        InputError: the suffix is unknown.
    """
    _, kind, compression = split_suffixes(name)
    if not kind:
        suffix = PurePosixPath(name).suffix
        seen = f"the suffix '{suffix}' is unknown" if suffix else "the file has no suffix"
        raise InputError(f"{location}: {seen}; expected one of {KNOWN}, or a folder saved by `datasets`")
    return kind, compression
