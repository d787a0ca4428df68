"""Byte streams in and out: plain, gzip and zstd, read to their very end or refused."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from auditkit.errors import BadRecordError, InputError, OutputError
from auditkit.formats.remote import RemoteReader, is_remote

BUFFER = 1 << 20
#: Encoded bytes handed to a decoder at a time: it returns all they expand to, so this bounds memory. gzip makes at most
#: a thousand times as much of them.
GZIP_STEP, ZSTD_STEP = 1 << 16, 1 << 14
#: Bytes fetched from a store at least where a file is not read from start to end.
RANGE_BYTES = 1 << 16
#: Files of so many bytes that are compressed or in a store are read in a thread of their own, so many pieces of
#: BUFFER ahead.
AHEAD_FROM_BYTES, N_AHEAD = 1 << 21, 8
ZSTD_LEVEL = 3
GZIP_LEVEL = 6

#: Signatures that no UTF-8 text begins with, and those that one could.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_TEXT_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "a Parquet file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"ARROW1", "an Arrow file"),
    (b"%PDF-", "a PDF"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
)
_CONTROL = bytes(set(range(32)) - {9, 10, 11, 12, 13, 27})
_SNIFFED = 1 << 13


class _Decoder(io.RawIOBase):
    """Decoded bytes of one or several gzip members or zstd frames; one that ends early raises EOFError.

    zstandard's own `stream_reader` ends a truncated stream without complaint, and gzip's reader takes so little at a
    time that beside busy threads it waits for the GIL most of the time.

    Attributes:
        n_consumed: encoded bytes that were read from the source.
    """

    def __init__(self, source: IO[bytes], compression: str) -> None:
        self._source = source
        is_gzip = compression == "gz"
        self._step, self._padding = (GZIP_STEP, b"\0") if is_gzip else (ZSTD_STEP, b"")
        self._new_frame: Callable[[], Any] = _gzip_member if is_gzip else _zstd_frame
        self._frame: Any = None
        self._pending = b""
        self._ready = memoryview(b"")
        self.n_consumed = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._advance():
            pass
        n = min(len(self._ready), len(buffer))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _advance(self) -> bool:
        """Decode one step; False at the end of the input."""
        step = self._pending or self._source.read(self._step)
        self.n_consumed += 0 if self._pending else len(step)
        self._pending = b""
        if not step:
            if self._frame is not None:
                raise EOFError("the compressed data ends early")
            return False
        if self._frame is None:
            step = step.lstrip(self._padding) if self.n_consumed > len(step) else step
            if not step:
                return True
            self._frame = self._new_frame()
        self._ready = memoryview(self._frame.decompress(step))
        if self._frame.eof:
            self._pending, self._frame = self._frame.unused_data, None
        return True

    def close(self) -> None:
        self._source.close()
        super().close()


def _gzip_member() -> Any:
    return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)


def _zstd_frame() -> Any:
    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()


class _ReadAhead(io.RawIOBase):
    """The bytes of a stream that is read in a thread of its own, a bounded number of pieces ahead.

    Decoding and fetching do not hold the GIL, so one large file is decoded while its texts are scanned.

    Attributes:
        n_consumed: bytes of the file that were read for what was handed out so far.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self._buffered = io.BufferedReader(source, BUFFER)
        self._worker = ThreadPoolExecutor(1, "auditkit-ahead")
        self._pieces = deque(self._worker.submit(self._next_piece) for _ in range(N_AHEAD))
        self._ready = memoryview(b"")
        self.n_consumed = 0

    def _next_piece(self) -> tuple[bytes, int]:
        return self._buffered.read(BUFFER), self._source.n_consumed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready:
            piece, self.n_consumed = self._pieces.popleft().result()
            self._ready = memoryview(piece)
            self._pieces.append(self._worker.submit(self._next_piece))
        n = min(len(self._ready), len(buffer))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def close(self) -> None:
        self._worker.shutdown(wait=True, cancel_futures=True)
        self._buffered.close()
        super().close()


def open_bytes(place: Path | str) -> io.BufferedReader:
    """Return a seekable stream of the bytes of a file, on disk or (read by ranges) in a store."""
    if is_remote(place):
        return io.BufferedReader(RemoteReader(str(place), RANGE_BYTES), RANGE_BYTES)
    return io.BufferedReader(io.FileIO(place), BUFFER)


def open_input(place: Path | str, compression: str) -> io.BufferedReader:
    """Return a buffered stream of the decoded bytes of a file or address; to be used inside `reading(...)`.

    All members of a gzip file and all frames of a zstd file are read. A stream that ends early raises EOFError.
    """
    raw: io.FileIO | RemoteReader = RemoteReader(str(place)) if is_remote(place) else io.FileIO(place)
    is_large = raw.seek(0, io.SEEK_END) >= AHEAD_FROM_BYTES
    raw.seek(0)
    if not compression:
        is_fetched_ahead = is_large and isinstance(raw, RemoteReader)
        return io.BufferedReader(_ReadAhead(raw) if is_fetched_ahead else raw, BUFFER)
    file = io.BufferedReader(raw, BUFFER)
    if not file.peek(1):
        file.close()
        raise EOFError("the compressed file is empty")
    decoder = _Decoder(file, compression)
    return io.BufferedReader(_ReadAhead(decoder) if is_large else decoder, BUFFER)


def position(stream: io.BufferedReader) -> int:
    """Return how many bytes of the file, as it lies on disk, a stream of `open_input` has consumed.

    Of a compressed file that is what its decoder was fed for them, a step ahead of what was read.
    """
    raw = stream.raw
    return raw.n_consumed if isinstance(raw, _Decoder | _ReadAhead) else stream.tell()


@contextmanager
def reading(location: str, compression: str = "") -> Iterator[None]:
    """Turn what can go wrong while reading `location` into one InputError that names it.

    Raises:
        BadRecordError: (line None) the compressed data is truncated or corrupt.
        InputError: the file is missing, a folder, or cannot be read.
    """
    again, kind = "Copy or download the file again", {"gz": "gzip", "zst": "zstd"}.get(compression, "")
    try:
        yield
    except EOFError:
        raise BadRecordError(location, None, f"the {kind} data ends early (truncated file)", again) from None
    except (zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as exc:
        raise BadRecordError(location, None, f"not valid {kind} data ({exc})", again) from None
    except FileNotFoundError:
        raise InputError(f"{location}: no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{location}: a folder where a file was expected") from None
    except OSError as exc:
        raise InputError(
            f"{location}: cannot be read ({exc.strerror or exc}); check the file and its permissions"
        ) from exc


def refuse_binary(stream: io.BufferedReader, location: str, expected: str) -> None:
    """Raise BadRecordError (line None) where the head of a stream is no text; a lone NUL is left to its record."""
    kind = _binary_kind(stream.peek(_SNIFFED)[:_SNIFFED])
    if kind:
        hint = "Save it as UTF-8" if "UTF-16" in kind else "Give the file the suffix of what it is, or leave it out"
        raise BadRecordError(location, None, f"holds {kind}, expected {expected} in UTF-8", hint)


def _binary_kind(head: bytes) -> str:
    """Return what the head of a file shows it to be, "" for text.

    Binary is a known signature, eight NULs, or bytes that are no UTF-8 with more than 2 % control characters.
    """
    kind = next((name for magic, name in _MAGIC if head.startswith(magic)), "")
    n_nul, is_utf8 = head.count(0), _is_utf8(head)
    if kind or (is_utf8 and not n_nul):
        return kind
    n_control = len(head) - len(head.translate(None, _CONTROL))
    kind = next((name for magic, name in _TEXT_MAGIC if head.startswith(magic)), "")
    if not kind and (n_nul >= 8 or (not is_utf8 and n_control >= 8 and n_control * 50 > len(head))):
        kind = "binary data"
    return kind


def _is_utf8(head: bytes) -> bool:
    """Return whether bytes are UTF-8, but for a character cut at the end."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError while writing `path` (no space left, no permission) into one OutputError that names it."""
    try:
        yield
    except OSError as exc:
        raise OutputError(
            f"{path}: cannot be written ({exc.strerror or exc}); free space or choose another output folder"
        ) from exc


def open_output(file: IO[bytes], compression: str) -> IO[bytes]:
    """Return a stream that compresses into `file`: equal input gives equal bytes. Closing it leaves `file` open."""
    if compression == "gz":
        return cast(IO[bytes], gzip.GzipFile("", "wb", GZIP_LEVEL, fileobj=file, mtime=0))
    if compression == "zst":
        return cast(IO[bytes], zstandard.ZstdCompressor(level=ZSTD_LEVEL).stream_writer(file, closefd=False))
    return file
