"""JSON Lines -> where every value of every record stands, over the bytes of whole lines.

A line is taken only where it is certain what it holds: one object of distinct keys without escapes, in valid UTF-8.
Every other line (broken, a bare string, NaN, a doubled key, very long numbers, deep nesting) is marked ODD, for a
parser that takes them one by one. So these kernels never decide that something is wrong, and a value that they take is
the one that a JSON parser finds at that place.

General readers of JSON Lines cannot stand in: they give null for a key that a record does not have, and turn texts that
look like times, and numbers that look like texts, into something else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.kernels.compile import kernel, leaf

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

#: Columns of the arrays of lines, cells and places.
LINE_START, LINE_END, LINE_STATUS, FIRST_CELL, LAST_CELL = 0, 1, 2, 3, 4
CELL_NAME, CELL_KIND, CELL_START, CELL_END = 0, 1, 2, 3
KIND, START, END = 0, 1, 2

#: What a line holds.
BLANK, RECORD, ODD = 0, 1, 2
#: What a value is. INTEGER has 18 digits at most and is spelt as Python spells it; the bounds of TEXT (no escapes) and
#: ESCAPED leave out the quotes.
MISSING, NULL, BOOLEAN, INTEGER, NUMBER, TEXT, ESCAPED, NESTED = 0, 1, 2, 3, 4, 5, 6, 7
N_KINDS = 8

#: Distinct keys that are told apart in one block; a line with another one is ODD.
MAX_NAMES = 64
_MAX_DEPTH = 60
_MAX_DIGITS = 40
_MAX_EXPONENT_DIGITS = 2

_QUOTE, _BACKSLASH, _COLON, _COMMA, _MINUS, _PLUS, _POINT, _ZERO = 34, 92, 58, 44, 45, 43, 46, 48
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST, _NEWLINE, _U = 123, 125, 91, 93, 10, 117
_TRUE = np.frombuffer(b"true", np.uint8)
_FALSE = np.frombuffer(b"false", np.uint8)
_NULL = np.frombuffer(b"null", np.uint8)
#: The character of a one-letter escape, 0 where there is none.
_ESCAPES = np.zeros(256, np.uint8)
for _letter, _meaning in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    _ESCAPES[_letter] = _meaning
#: Whether a byte may stand in a string as it is and alone.
_IS_PLAIN = np.array([byte not in b'"\\' and 0x20 <= byte < 0x80 for byte in range(256)])


# ---------------------------------------------------------------- grammar; a position of -1 means: not certain


@leaf
def _skip_space(block: Bytes, at: int, end: int) -> int:
    """Return the position of what follows spaces, tabs and carriage returns."""
    while at < end and (block[at] == 32 or block[at] == 9 or block[at] == 13):
        at += 1
    return at


@leaf
def _utf8_width(block: Bytes, at: int, end: int) -> int:
    """Return the length of a valid sequence of two to four bytes (Unicode 3.9, table 3-7), else 0."""
    first = block[at]
    width = 2 if 0xC2 <= first <= 0xDF else 3 if 0xE0 <= first <= 0xEF else 4 if 0xF0 <= first <= 0xF4 else 0
    if width == 0 or at + width > end:
        return 0
    low, high = 0x80, 0xBF
    if first == 0xE0:
        low = 0xA0
    elif first == 0xED:
        high = 0x9F
    elif first == 0xF0:
        low = 0x90
    elif first == 0xF4:
        high = 0x8F
    if not low <= block[at + 1] <= high:
        return 0
    for i in range(at + 2, at + width):
        if block[i] & 0xC0 != 0x80:
            return 0
    return width


@leaf
def _code_unit(block: Bytes, at: int, end: int) -> int:
    r"""Return the UTF-16 code unit of the escape \uXXXX at `at`, -1 where there is none."""
    if at + 6 > end or block[at] != _BACKSLASH or block[at + 1] != _U:
        return -1
    unit = 0
    for i in range(at + 2, at + 6):
        byte = int(block[i])
        if 48 <= byte <= 57:
            digit = byte - 48
        elif 97 <= byte | 32 <= 102:
            digit = (byte | 32) - 87
        else:
            return -1
        unit = unit * 16 + digit
    return unit


@leaf
def _escape(block: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the length of the escape at `at` and its code point; length 0 for none, or half a surrogate pair."""
    if at + 1 < end and _ESCAPES[block[at + 1]] != 0:
        return 2, int(_ESCAPES[block[at + 1]])
    unit = _code_unit(block, at, end)
    if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
        return 0, 0
    if unit < 0xD800 or unit > 0xDFFF:
        return 6, unit
    low = _code_unit(block, at + 6, end)
    if not 0xDC00 <= low <= 0xDFFF:
        return 0, 0
    return 12, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)


@leaf
def _string(block: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the position of the closing quote of a string whose text starts at `at`, and TEXT or ESCAPED."""
    kind = TEXT
    while at < end:
        if _IS_PLAIN[block[at]]:
            at += 1
            continue
        if block[at] == _QUOTE:
            return at, kind
        if block[at] == _BACKSLASH:
            width, _ = _escape(block, at, end)
            kind = ESCAPED
        else:
            width = _utf8_width(block, at, end)
        if width == 0:
            return -1, kind
        at += width
    return -1, kind


@leaf
def _digits(block: Bytes, at: int, end: int) -> int:
    """Return the position behind the digits at `at`."""
    while at < end and 48 <= block[at] <= 57:
        at += 1
    return at


@leaf
def _number(block: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the position behind a number, and INTEGER or NUMBER."""
    start = at
    if block[at] == _MINUS:
        at += 1
    first = at
    at = _digits(block, at, end)
    n_digits = at - first
    if n_digits == 0 or (n_digits > 1 and block[first] == _ZERO):
        return -1, NUMBER
    is_minus_zero = first > start and block[first] == _ZERO
    kind = INTEGER if n_digits <= 18 and not is_minus_zero else NUMBER
    if at < end and block[at] == _POINT:
        kind, first = NUMBER, at + 1
        at = _digits(block, first, end)
        if at == first:
            return -1, kind
    if at < end and block[at] | 32 == 101:
        kind, first = NUMBER, at + 1
        if first < end and (block[first] == _MINUS or block[first] == _PLUS):
            first += 1
        at = _digits(block, first, end)
        if at == first or at - first > _MAX_EXPONENT_DIGITS:
            return -1, kind
    return (at if at - start <= _MAX_DIGITS else -1), kind


@leaf
def _word(block: Bytes, at: int, end: int, word: Bytes) -> int:
    """Return the position behind `word`."""
    if at + len(word) > end:
        return -1
    for i in range(len(word)):
        if block[at + i] != word[i]:
            return -1
    return at + len(word)


@leaf
def _scalar(block: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the position behind a string, number, boolean or null, and its kind."""
    byte = block[at]
    if byte == _QUOTE:
        at, kind = _string(block, at + 1, end)
        return (at + 1 if at >= 0 else -1), kind
    if byte == 116:
        return _word(block, at, end, _TRUE), BOOLEAN
    if byte == 102:
        return _word(block, at, end, _FALSE), BOOLEAN
    if byte == 110:
        return _word(block, at, end, _NULL), NULL
    return _number(block, at, end)


@leaf
def _behind_colon(block: Bytes, at: int, end: int) -> int:
    """Return the position behind a colon."""
    at = _skip_space(block, at, end)
    return at + 1 if at < end and block[at] == _COLON else -1


@leaf
def _behind_key(block: Bytes, at: int, end: int) -> int:
    """Return the position behind a key and its colon."""
    at = _skip_space(block, at, end)
    if at >= end or block[at] != _QUOTE:
        return -1
    at, _ = _string(block, at + 1, end)
    return _behind_colon(block, at + 1, end) if at >= 0 else -1


@leaf
def _value(block: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the position behind any value, and its kind. What is open is a stack of bits, 1 for an object."""
    depth, objects, kind = 0, 0, NESTED
    while True:
        at = _skip_space(block, at, end)
        if at >= end:
            return -1, kind
        byte = block[at]
        if byte == _OPEN or byte == _OPEN_LIST:
            depth, objects = depth + 1, objects << 1 | (1 if byte == _OPEN else 0)
            if depth > _MAX_DEPTH:
                return -1, kind
            inside = _skip_space(block, at + 1, end)
            if inside >= end:
                return -1, kind
            if block[inside] != byte + 2:  # the closing bracket stands two places behind the opening one
                at = _behind_key(block, inside, end) if byte == _OPEN else inside
                if at < 0:
                    return -1, kind
                continue
            depth, objects, at = depth - 1, objects >> 1, inside + 1
        else:
            at, scalar = _scalar(block, at, end)
            if at < 0:
                return -1, kind
            kind = scalar if depth == 0 else kind
        # The value ends here, and perhaps what holds it.
        while depth > 0:
            at = _skip_space(block, at, end)
            if at >= end:
                return -1, kind
            is_object = objects & 1 == 1
            if block[at] == _COMMA:
                at = _behind_key(block, at + 1, end) if is_object else at + 1
                if at < 0:
                    return -1, kind
                break
            if block[at] != (_CLOSE if is_object else _CLOSE_LIST):
                return -1, kind
            depth, objects, at = depth - 1, objects >> 1, at + 1
        if depth == 0:
            return at, kind


# ---------------------------------------------------------------- lines


@leaf
def _is_same(block: Bytes, left: int, right: int, size: int) -> bool:
    """Return whether two stretches of a block are equal."""
    for i in range(size):  # noqa: SIM110 (kernels have no generators)
        if block[left + i] != block[right + i]:
            return False
    return True


@leaf
def _name_of(block: Bytes, start: int, end: int, names: Places, n_names: int, guess: int) -> int:
    """Return the number of a key among the known ones, `n_names` where it is new. Keys mostly come in one order."""
    size = end - start
    if guess < n_names and names[guess, 1] - names[guess, 0] == size and _is_same(block, names[guess, 0], start, size):
        return guess
    for name in range(n_names):
        if names[name, 1] - names[name, 0] == size and _is_same(block, names[name, 0], start, size):
            return name
    return n_names


@leaf
def _cells_of(
    block: Bytes, at: int, end: int, cells: Places, first: int, names: Places, n_names: int, seen: Places, line: int
) -> tuple[int, int, int]:
    """Write the cells of the object that opens at `at`, from cell `first` on.

    Args:
        seen: the line in which each name came last.

    Returns:
        The position behind the object (-1: not certain), the number of cells written, and of names then known.
    """
    n_cells = 0
    at = _skip_space(block, at + 1, end)
    if at < end and block[at] == _CLOSE:
        return at + 1, n_cells, n_names
    while at < end and block[at] == _QUOTE:
        key = at + 1
        key_end, kind = _string(block, key, end)
        at = _behind_colon(block, key_end + 1, end) if key_end >= 0 and kind == TEXT else -1
        if at < 0:
            return -1, n_cells, n_names
        name = _name_of(block, key, key_end, names, n_names, n_cells)
        if name == MAX_NAMES or (name < n_names and seen[name] == line):
            return -1, n_cells, n_names
        if name == n_names:
            names[name, 0], names[name, 1] = key, key_end
            n_names += 1
        seen[name] = line
        start = _skip_space(block, at, end)
        at, kind = _value(block, start, end)
        if at < 0:
            return -1, n_cells, n_names
        quote = 1 if kind == TEXT or kind == ESCAPED else 0
        cell = first + n_cells
        cells[cell, CELL_NAME], cells[cell, CELL_KIND] = name, kind
        cells[cell, CELL_START], cells[cell, CELL_END] = start + quote, at - quote
        n_cells += 1
        at = _skip_space(block, at, end)
        if at < end and block[at] == _CLOSE:
            return at + 1, n_cells, n_names
        if at >= end or block[at] != _COMMA:
            return -1, n_cells, n_names
        at = _skip_space(block, at + 1, end)
    return -1, n_cells, n_names


@leaf
def _is_blank(block: Bytes, at: int) -> bool:
    """Return whether nothing but white space follows in a line."""
    while at < len(block) and (block[at] == 32 or 9 <= block[at] <= 13) and block[at] != _NEWLINE:
        at += 1
    return at == len(block) or block[at] == _NEWLINE


@leaf
def _line_end(block: Bytes, at: int) -> int:
    """Return the position of the next newline, or the end of the block."""
    while at < len(block) and block[at] != _NEWLINE:
        at += 1
    return at


@leaf
def _count_lines(block: Bytes) -> int:
    """Return the number of lines of a block, the last one with or without its newline."""
    n_lines, at = 0, 0
    while at < len(block):
        at, n_lines = _line_end(block, at) + 1, n_lines + 1
    return n_lines


@kernel
def scan_lines(block: Bytes, max_size: int, overhead: int) -> tuple[Places, Places, Places]:
    """Return where lines, their values and the distinct keys stand, until `max_size` is reached or the block ends.

    Args:
        block: whole lines, uint8 [n_bytes].
        max_size: stop when the lines that are not blank reach this size,
        overhead: each counted with this many bytes more.

    Returns:
        lines: int64 [n_lines, 5]: LINE_START, LINE_END (its newline included), LINE_STATUS (BLANK, RECORD or ODD) and,
            for a RECORD, the cells FIRST_CELL to LAST_CELL (half open).
        cells: int64 [n_cells, 4]: CELL_NAME, CELL_KIND, CELL_START, CELL_END.
        names: int64 [n_names, 2]: bounds of each distinct key, at its first appearance; a key of an ODD line may be
            among them.
    """
    lines = np.empty((_count_lines(block), 5), np.int64)
    # Five bytes are the least that a value takes with its key: "":1,
    cells = np.empty((min(len(block) // 5, len(lines) * MAX_NAMES) + 1, 4), np.int64)
    names, seen = np.empty((MAX_NAMES, 2), np.int64), np.full(MAX_NAMES, -1, np.int64)
    n_lines, n_cells, n_names, size, at = 0, 0, 0, 0, 0
    while at < len(block) and size < max_size:
        start, end = at, len(block)
        at = _skip_space(block, at, end)
        status, added = ODD, 0
        if _is_blank(block, at):
            status = BLANK
        elif block[at] == _OPEN:
            behind, added, n_names = _cells_of(block, at, end, cells, n_cells, names, n_names, seen, n_lines)
            at = _skip_space(block, behind, end) if behind >= 0 else at
            status = RECORD if behind >= 0 and (at == end or block[at] == _NEWLINE) else ODD
        at = min(_line_end(block, at) + 1, end)
        lines[n_lines, LINE_START], lines[n_lines, LINE_END], lines[n_lines, LINE_STATUS] = start, at, status
        lines[n_lines, FIRST_CELL] = n_cells
        n_cells += added if status == RECORD else 0
        lines[n_lines, LAST_CELL] = n_cells
        n_lines += 1
        size += 0 if status == BLANK else at - start + overhead
    return lines[:n_lines], cells[:n_cells], names[:n_names]


# ---------------------------------------------------------------- columns


@kernel
def places_of(rows: Places, cells: Places, name: int) -> Places:
    """Return where the values of one key stand: int64 [n_rows, 3] of KIND, START, END, all 0 where a row has none.

    Args:
        rows: some lines of `scan_lines`.
        cells: its cells.
        name: number of the key.
    """
    places = np.zeros((len(rows), 3), np.int64)
    for row in range(len(rows)):
        for cell in range(rows[row, FIRST_CELL], rows[row, LAST_CELL]):
            if cells[cell, CELL_NAME] == name:
                for part in range(3):
                    places[row, part] = cells[cell, part + 1]
                break
    return places


@leaf
def _put_code_point(data: Bytes, out: int, point: int) -> int:
    """Write one code point in UTF-8, and return the position behind it."""
    if point < 0x80:
        data[out] = point
        return out + 1
    if point < 0x800:
        data[out] = 0xC0 | point >> 6
    elif point < 0x10000:
        data[out] = 0xE0 | point >> 12
    else:
        data[out] = 0xF0 | point >> 18
        out += 1
        data[out] = 0x80 | (point >> 12 & 0x3F)
    if point >= 0x800:
        out += 1
        data[out] = 0x80 | (point >> 6 & 0x3F)
    data[out + 1] = 0x80 | (point & 0x3F)
    return out + 2


@leaf
def _unescape(block: Bytes, at: int, end: int, data: Bytes, out: int) -> int:
    """Write a text without its escapes, and return the position behind it."""
    while at < end:
        if block[at] == _BACKSLASH:
            width, point = _escape(block, at, end)
            out = _put_code_point(data, out, point)
            at += width
        else:
            data[out] = block[at]
            at, out = at + 1, out + 1
    return out


@kernel
def text_of(block: Bytes, places: Places) -> tuple[Bytes, Any]:
    """Return the bytes of the strings and integers at some places, and their offsets: uint8 [n], int64 [n_rows + 1].

    Values of other kinds take no bytes.
    """
    n_bytes = 0
    for row in range(len(places)):
        if places[row, KIND] == TEXT or places[row, KIND] == ESCAPED or places[row, KIND] == INTEGER:
            n_bytes += places[row, END] - places[row, START]
    # No escape is shorter than what it stands for.
    data, offsets = np.empty(n_bytes, np.uint8), np.zeros(len(places) + 1, np.int64)
    out = 0
    for row in range(len(places)):
        kind, start, end = places[row, KIND], places[row, START], places[row, END]
        if kind == ESCAPED:
            out = _unescape(block, start, end, data, out)
        elif kind == TEXT or kind == INTEGER:
            for i in range(end - start):
                data[out + i] = block[start + i]
            out += end - start
        offsets[row + 1] = out
    return data[:out], offsets
