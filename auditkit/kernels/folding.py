"""UTF-8 text -> folded UTF-8 text, for rows whose code points fold without a look at their neighbours.

Whether they do is told by the quick check of Unicode normalisation (UAX #15, section 9), made a little finer: no mark
stands behind one of a higher combining class, and nothing that can compose with what stands before it stands behind
something that can compose. text/folding.py makes the table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf
from auditkit.kernels.utf8 import ONE, code_point

#: How a code point joins its neighbours when it is folded. A mark has its combining class, from 1 to 240.
STARTER, ENDS_IN_MARK, NEEDS_CONTEXT, INVISIBLE = 0, 253, 254, 255

#: Whether a code point composes with some other behind it, with some other before it: bits of one number.
FIRST, SECOND = 1, 2

#: Size of a row that has to be folded as a whole.
BY_CONTEXT = -1


class FoldTable(NamedTuple):
    """What each code point folds to, and how it joins its neighbours.

    Attributes:
        joins: uint8 [0x110000].
        composes: uint8 [0x110000].
        starts: where the folded UTF-8 of each code point starts in `text`, uint32 [0x110001]. A code point without
            bytes stands for itself, or for nothing where it is INVISIBLE.
        text: folded UTF-8 of all code points that fold to something else, uint8 [n_bytes].
    """

    joins: NDArray[np.uint8]
    composes: NDArray[np.uint8]
    starts: NDArray[np.uint32]
    text: NDArray[np.uint8]


@kernel
def folded_sizes(
    data: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64], table: FoldTable
) -> NDArray[np.int64]:
    """Return the bytes of each folded row data[begins[i]:ends[i]], or BY_CONTEXT. Shape [n_rows]."""
    sizes = np.empty(len(begins), np.int64)
    for row in range(len(begins)):
        sizes[row] = _folded_size(data, np.uintp(begins[row]), np.uintp(ends[row]), table)
    return sizes


@leaf
def _folded_size(data: NDArray[np.uint8], at: Any, end: Any, table: FoldTable) -> Any:
    size, before, may_compose = np.int64(0), np.uint8(STARTER), False
    while at < end:
        point, width = code_point(data, at)
        at += width
        joins, composes = table.joins[point], table.composes[point]
        if joins == INVISIBLE:
            continue
        is_out_of_order = joins < before and joins != STARTER
        if joins == NEEDS_CONTEXT or is_out_of_order or (may_compose and composes & SECOND):
            return BY_CONTEXT
        if joins == STARTER or joins == ENDS_IN_MARK:
            may_compose = composes & FIRST != 0
        before = joins
        n_bytes = table.starts[point + ONE] - table.starts[point]
        size += np.int64(n_bytes if n_bytes > 0 else width)
    return size


@leaf
def fold_rows(
    data: NDArray[np.uint8],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    table: FoldTable,
    folded: NDArray[np.uint8],
    places: NDArray[np.int64],
) -> None:
    """Write each row data[begins[i]:ends[i]], none of them BY_CONTEXT, folded, to folded[places[i]:]."""
    for row in range(len(begins)):
        at, end, out = np.uintp(begins[row]), np.uintp(ends[row]), np.uintp(places[row])
        while at < end:
            point, width = code_point(data, at)
            first, last = np.uintp(table.starts[point]), np.uintp(table.starts[point + ONE])
            if first < last:
                for i in range(first, last):
                    folded[out] = table.text[i]
                    out += ONE
            elif table.joins[point] != INVISIBLE:
                for i in range(at, at + width):
                    folded[out] = data[i]
                    out += ONE
            at += width
