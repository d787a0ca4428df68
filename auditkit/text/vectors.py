"""Embeddings kept on disk by the digests of model and text: no text is embedded twice, in one audit or in the next.

FOLDER/MODEL/NAME.npy holds the vectors of some texts: a structured array with the fields `key` (BLAKE2b of the text,
16 bytes) and `vector` (float32 [d]), sorted by key. A file appears by rename and is never changed, so any number of
processes may read and write one folder. Small files are merged, and beyond the bound in bytes the oldest go.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from auditkit.text.encode import Encoder

#: Of the vectors of one model, so many bytes are kept: on disk, and in memory where no folder can be written.
DISK_BYTES, MEMORY_BYTES = 1 << 30, 128 << 20
#: More files than this are merged into one; files of MERGED_BYTES stay as they are.
MAX_FILES, MERGED_BYTES = 64, 32 << 20
#: Part of the folder's name: raise it when an encoder here gives other vectors for the same weights.
VERSION = 1
KEY = np.dtype("S16")
PART = ".part"


def cache_folder(kind: str, encoder: Encoder) -> Path:
    """Return where things of that kind made by an encoder are kept: below AUDITKIT_CACHE or the user's cache folder."""
    base = os.environ.get("AUDITKIT_CACHE") or platformdirs.user_cache_dir("auditkit")
    return Path(base) / kind / hashlib.sha256(f"{VERSION} {encoder.fingerprint}".encode()).hexdigest()[:16]


def text_keys(texts: Iterable[str]) -> NDArray[np.bytes_]:
    """Return the keys of texts: bytes of shape [n]."""
    digests = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
    return np.array(digests, KEY)


@dataclass(frozen=True)
class Segment:
    """The vectors of some texts; a map of a file, or an array in memory.

    Attributes:
        keys: sorted, in memory. Shape [n].
        vectors: float32 of shape [n, d].
    """

    keys: NDArray[np.bytes_]
    vectors: NDArray[np.float32]

    @staticmethod
    def of(records: NDArray[Any]) -> Segment:
        """Return the segment of an array as it is stored."""
        # A strided view would be copied by every search.
        return Segment(np.ascontiguousarray(records["key"]), records["vector"])

    @property
    def n_bytes(self) -> int:
        """Size as stored."""
        return int(self.keys.nbytes + self.vectors.nbytes)


@dataclass
class VectorStore:
    """The kept vectors of one model. Not safe in threads by itself: Embedder holds a lock.

    Attributes:
        folder: where they are kept; what cannot be written there is kept in memory.
        n_bytes: bound of what is kept on disk.
    """

    folder: Path
    n_bytes: int = DISK_BYTES
    _files: dict[str, Segment] = field(default_factory=dict)
    _memory: list[Segment] = field(default_factory=list)

    def find(self, keys: NDArray[np.bytes_]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Return which keys are known, Boolean of shape [n], and their vectors, float32 of shape [n known, d]."""
        self._refresh()
        is_known, found = np.zeros(len(keys), np.bool_), dict[int, NDArray[np.float32]]()
        for segment in (*self._files.values(), *self._memory):
            wanted = np.flatnonzero(~is_known)
            at = np.minimum(np.searchsorted(segment.keys, keys[wanted]), len(segment.keys) - 1)
            here = segment.keys[at] == keys[wanted]
            is_known[wanted[here]] = True
            found.update(zip(wanted[here].tolist(), np.asarray(segment.vectors[at[here]]), strict=True))
        vectors = [found[i] for i in np.flatnonzero(is_known).tolist()]
        return is_known, np.stack(vectors) if vectors else np.empty((0, 0), np.float32)

    def add(self, keys: NDArray[np.bytes_], vectors: NDArray[np.float32]) -> None:
        """Keep the vectors of distinct keys."""
        if not len(keys):
            return
        records = _records(keys, vectors)
        try:
            self._write(records)
            self._tidy()
        except OSError:
            self._memory.append(Segment.of(records))
            while len(self._memory) > 1 and sum(segment.n_bytes for segment in self._memory) > MEMORY_BYTES:
                self._memory.pop(0)

    def _write(self, records: NDArray[Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        part = self.folder / f"{name}{PART}"
        try:
            with part.open("wb") as handle:
                np.save(handle, records, allow_pickle=False)
            part.replace(self.folder / f"{name}.npy")
        finally:
            part.unlink(missing_ok=True)

    def _refresh(self) -> None:
        """Take up the files that other processes wrote, and leave those that were merged or removed."""
        names = {path.name for path in self.folder.glob("*.npy")}
        for gone in self._files.keys() - names:
            del self._files[gone]
        for name in sorted(names - self._files.keys()):
            # Removed since, or broken, or no file of ours.
            with contextlib.suppress(OSError, EOFError, ValueError, LookupError):
                segment = Segment.of(np.load(self.folder / name, mmap_mode="r", allow_pickle=False))
                if len(segment.keys):
                    self._files[name] = segment

    def _tidy(self) -> None:
        """Merge small files where there are many, and remove the oldest beyond the bound."""
        self._refresh()
        if len(self._files) > MAX_FILES:
            small = {name: segment for name, segment in self._files.items() if segment.n_bytes < MERGED_BYTES}
            keys = np.concatenate([segment.keys for segment in small.values()])
            self._write(_records(keys, np.concatenate([segment.vectors for segment in small.values()])))
            self._remove(small)
        ages = sorted((path.stat().st_mtime_ns, path.name, path.stat().st_size) for path in self.folder.glob("*.npy"))
        excess = sum(size for _, _, size in ages) - self.n_bytes
        for _, name, size in ages[:-1]:
            if excess <= 0:
                break
            self._remove([name])
            excess -= size

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._files.pop(name, None)
            with contextlib.suppress(OSError):  # another process removed it, or has it open on Windows
                (self.folder / name).unlink()


def _records(keys: NDArray[np.bytes_], vectors: NDArray[np.float32]) -> NDArray[Any]:
    """Return distinct keys and their vectors as they are stored, sorted by key."""
    distinct, first = np.unique(keys, return_index=True)
    records = np.empty(len(distinct), [("key", KEY), ("vector", "<f4", vectors.shape[1:])])
    records["key"], records["vector"] = distinct, vectors[first]
    return records


@dataclass(frozen=True)
class Embedder:
    """An encoder that asks the store first. Safe in threads: each text is embedded by one of them.

    It pickles as its encoder and the store's folder.
    """

    encoder: Encoder
    store: VectorStore
    _lock: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    @staticmethod
    def of(encoder: Encoder) -> Embedder:
        """Return an embedder that keeps vectors in the user's cache folder."""
        return Embedder(encoder, VectorStore(cache_folder("vectors", encoder)))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32 of shape [n, d]; equal texts are embedded once."""
        keys = text_keys(texts)
        with self._lock:
            is_known, known = self.store.find(keys)
            missing = np.flatnonzero(~is_known)
            if not len(missing):
                return known
            distinct, first, inverse = np.unique(keys[missing], return_index=True, return_inverse=True)
            new = self.encoder.encode([texts[i] for i in missing[first].tolist()])
            self.store.add(distinct, new)
        vectors = np.empty((len(texts), new.shape[1]), np.float32)
        vectors[is_known], vectors[missing] = known.reshape(-1, new.shape[1]), new[inverse]
        return vectors

    def __reduce__(self) -> tuple[Any, ...]:
        return Embedder, (self.encoder, VectorStore(self.store.folder, self.store.n_bytes))
