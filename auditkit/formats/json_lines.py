"""Blocks of JSON lines: their values are found without being parsed, by kernels that do not hold the GIL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from auditkit.formats.batch import RECORD_OVERHEAD, Gatherer, Rows
from auditkit.formats.cells import Cells, LazyRecords, RawLines, Record
from auditkit.formats.lines import BrokenRecordError, parse_json_line
from auditkit.kernels.json_lines import BLANK, LINE_END, LINE_START, LINE_STATUS, ODD, RECORD, scan_lines

_BROKEN = -1


def gather_block(block: bytes, n_lines: int, gather: Gatherer) -> tuple[int, int]:
    """Gather records from the start of a block of whole lines, until a batch is full or the block ends.

    Args:
        block: the lines.
        n_lines: lines of the source before them.
        gather: where they go; it is empty.

    Returns:
        The numbers of bytes and of lines that were gathered.
    """
    lines, cells, names = scan_lines(np.frombuffer(block, np.uint8), gather.batch_bytes, RECORD_OVERHEAD)
    status = lines[:, LINE_STATUS]
    odd = _parse_odd(block, lines, n_lines, gather)
    is_good = (status == RECORD) | (status == ODD)
    rows = lines[is_good]
    row_of = np.cumsum(is_good) - 1
    odd_rows = {int(row_of[line]): record for line, record in odd.items()}
    keys = {block[start:end].decode(): number for number, (start, end) in enumerate(names.tolist())}
    raw, numbers = RawLines(block, rows), _numbers(status, gather.first)
    gathered = Rows(numbers, LazyRecords(raw, odd_rows), raw, Cells(block, rows, cells, keys, odd_rows))
    gather.good_rows(gathered, int(np.count_nonzero(status != BLANK)))
    return int(lines[-1, LINE_END]), len(lines)


def _parse_odd(block: bytes, lines: NDArray[np.int64], n_lines: int, gather: Gatherer) -> dict[int, Record]:
    """Return line -> record of the odd lines; those that are broken become _BROKEN in `lines`.

    Raises:
        BadRecordError: a broken line, where such are an error.
    """
    status = lines[:, LINE_STATUS]
    number = gather.first + np.cumsum(status != BLANK) - 1
    found: dict[int, Record] = {}
    for line in np.flatnonzero(status == ODD).tolist():
        raw = block[lines[line, LINE_START] : lines[line, LINE_END]]
        try:
            record = parse_json_line(raw)
        except BrokenRecordError as exc:
            gather.set_aside(n_lines + line + 1, int(number[line]), str(exc), raw)
            status[line] = _BROKEN
        else:
            assert record is not None  # blank lines are not odd
            found[line] = record
    return found


def _numbers(status: NDArray[np.int64], first: int) -> Sequence[int]:
    """Return the record number of each good line."""
    held = status[status != BLANK]
    if (held != _BROKEN).all():
        return range(first, first + len(held))
    numbers: list[int] = (np.flatnonzero(held != _BROKEN) + first).tolist()
    return numbers
