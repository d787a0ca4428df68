"""Arrays that are costly to make, kept on disk under a name of everything that decides them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import InputError
from auditkit.formats.streams import writing

Facts = Mapping[str, str]


def kept(path: Path, name: str, n_rows: int, make: Callable[[], tuple[NDArray[Any], Facts]]) -> tuple[Any, Facts]:
    """Return an array of `n_rows` and the facts beside it: from `path`, or made now and written there.

    Raises:
        InputError: what is kept there cannot be read. OutputError: it cannot be written.
    """
    if path.is_file():
        return _read(path, name, n_rows)
    values, facts = make()
    _write(path, name, values, facts)
    return values, facts


def _write(path: Path, name: str, values: NDArray[Any], facts: Facts) -> None:
    from safetensors.numpy import save

    spare = path.with_name(f".{path.name}.auditkit-part")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            spare.write_bytes(save({name: np.ascontiguousarray(values)}, metadata=dict(facts)))
            spare.replace(path)
        finally:
            spare.unlink(missing_ok=True)


def _read(path: Path, name: str, n_rows: int) -> tuple[NDArray[Any], Facts]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as handle:
            values, facts = handle.get_tensor(name), handle.metadata()
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: the cached {name} cannot be read ({error}); remove the file") from None
    if len(values) != n_rows or not facts:
        raise InputError(f"{path}: holds {len(values)} {name} for {n_rows} texts; remove the file")
    return values, facts
