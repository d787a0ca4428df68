"""Counting and writing tokens of ASCII and of folded text, by hand; tests/text compares them with the rule."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import pytest

from auditkit.kernels import tokens as kernels
from auditkit.kernels.tokens import TokenArrays
from auditkit.kernels.utf8 import code_point
from auditkit.text.folding import bounds_of
from auditkit.text.unicode import classes


def buffers(values: list[str]) -> tuple[np.ndarray, np.ndarray]:
    data = np.frombuffer("".join(values).encode(), np.uint8)
    return data, bounds_of(np.array([len(value.encode()) for value in values], np.int64))


def room(n_tokens: list[int], n_bytes: list[int]) -> TokenArrays:
    offsets, text_offsets = bounds_of(np.array(n_tokens)), bounds_of(np.array(n_bytes))
    total = offsets[-1]
    return TokenArrays(
        np.full(text_offsets[-1], 255, np.uint8),
        text_offsets,
        np.zeros(total, np.uint64),
        np.zeros(total, np.uint32),
        np.zeros(total, np.uint32),
        offsets,
    )


def texts_of(arrays: TokenArrays) -> list[str]:
    return [arrays.text[a:b].tobytes().decode() for a, b in itertools.pairwise(arrays.text_offsets)]


@pytest.mark.parametrize(
    "char", ["\0", "\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\uffff", "\U00010000", "\U0010ffff"]
)
def test_code_points_of_every_length(char: str) -> None:
    point, width = code_point(np.frombuffer(f"a{char}".encode(), np.uint8), np.uintp(1))
    assert (point, width) == (ord(char), len(char.encode()))


def test_ascii_rows_are_counted_and_told_from_others() -> None:
    values = ["How do I?", "", "a++ b", "  ", "née", "x=1"]
    n_tokens, n_bytes, is_ascii = kernels.count_ascii(*buffers(values), classes())
    assert is_ascii.tolist() == [True, True, True, True, False, True]
    assert n_tokens[is_ascii].tolist() == [3, 0, 4, 0, 3]
    assert n_bytes[is_ascii].tolist() == [len("how do i"), 0, len("a + + b"), 0, len("x = 1")]


def test_ascii_rows_are_written_where_they_belong() -> None:
    values = ["How DO I?", "née", "C++\tx_1"]
    arrays = room([3, 1, 5], [8, 3, 9])
    kernels.fill_ascii(*buffers(values), np.array([0, 2]), classes(), arrays)
    assert arrays.text.tobytes() == b"how do i\xff\xff\xffc + + x 1"
    assert arrays.starts.tolist() == [0, 4, 7, 0, 0, 2, 4, 6, 8]
    assert arrays.ends.tolist() == [3, 6, 8, 0, 1, 3, 5, 7, 9]
    words = ["how", "do", "i", None, "c", "+", "+", "x", "1"]
    assert arrays.hashes.tolist() == [oracles.token_hash(word) if word else 0 for word in words]


def test_folded_rows_are_counted_and_written_where_they_belong() -> None:
    values = ["猫 と犬 and 鳥", "\u0301né\u0301e!", ""]
    data, offsets = buffers(values)
    n_tokens, n_bytes = kernels.count_tokens(data, offsets, classes())
    assert n_tokens.tolist() == [5, 1, 0]
    arrays = room([1, 0, 5], [6, 0, 17])
    assert n_bytes.tolist() == [len("猫と犬 and 鳥".encode()), len("né\u0301e".encode()), 0]
    kernels.fill_tokens(data, offsets, np.array([2, 0, 1]), classes(), arrays)
    assert texts_of(arrays) == ["né\u0301e", "", "猫と犬 and 鳥"]
    assert arrays.starts.tolist() == [0, 0, 3, 6, 10, 14]
    assert arrays.ends.tolist() == [6, 3, 6, 9, 13, 17]
