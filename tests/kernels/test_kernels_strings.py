"""kernels/strings.py against FNV-1a and fmix64 in plain Python; text/strings.py against Arrow itself."""

from __future__ import annotations

import itertools

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from auditkit.kernels.strings import hash_strings
from auditkit.text.strings import string_buffers

MASK = (1 << 64) - 1


def slow_hash(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33


texts = st.lists(st.text(max_size=20), max_size=8)


@given(texts, st.integers(0, 3))
def test_hashes_are_those_of_plain_python(values: list[str], start: int) -> None:
    series = pl.Series(values, dtype=pl.String).slice(start)
    data, offsets = string_buffers(series)
    assert [bytes(data[a:b]).decode() for a, b in itertools.pairwise(offsets)] == series.to_list()
    assert hash_strings(data, offsets).tolist() == [slow_hash(text) for text in series]
