"""A String series as the two arrays that Arrow keeps it in: what kernels and digests work on."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def string_buffers(texts: pl.Series) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes and offsets of a String series without nulls, as Arrow's large_string has them (one copy).

    Text i is bytes[offsets[i] : offsets[i + 1]]: uint8 [n_bytes], int64 [n + 1].
    """
    array = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), bounds
