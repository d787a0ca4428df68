"""Digests that name a part of a run: of frames' values, and of the code that made them. sha256 throughout."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import numpy as np
import polars as pl

from auditkit.text.strings import string_buffers

#: Files of the package that results depend on.
_CODE = ("*.py", "*.toml")


def frame_digest(*frames: pl.DataFrame) -> str:
    """Return the sha256 of names, types and values of frames of integers and strings, as hexadecimal digits.

    Equal values in other chunks of memory give the same digest.
    """
    digest = hashlib.sha256()
    for frame in frames:
        for column in frame:
            values, is_null = column.drop_nulls(), column.is_null().to_numpy()
            digest.update(f"{column.name}\0{column.dtype}\0{len(column)}\0{len(values)}\0".encode())
            if len(values) < len(column):
                digest.update(np.packbits(is_null).data)
            if column.dtype == pl.String:
                text, offsets = string_buffers(values)
                digest.update(np.diff(offsets).data)
                digest.update(text[offsets[0] : offsets[-1]].data)
            else:
                digest.update(np.ascontiguousarray(values.to_numpy()).data)
    return digest.hexdigest()


@functools.cache
def code_digest() -> str:
    """Return the sha256 of the package's own files, as hexadecimal digits: another auditkit has another one."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _CODE for path in package.rglob(pattern)):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
