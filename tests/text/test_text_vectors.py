"""The store of embeddings: what was embedded once is not embedded again, by any process or thread."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from auditkit.text import vectors
from auditkit.text.vectors import Embedder, VectorStore, cache_folder, text_keys

WIDTH = 3


@dataclass
class FakeEncoder:
    """A vector of a text is made of its length and first letter; the calls are kept."""

    name: str = "fake"
    source: str = "made up"
    digest: str = "sha256:0"
    fingerprint: str = "0"
    max_tokens: int = 4
    calls: list[list[str]] = field(default_factory=list)

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        return np.array([vector(text) for text in texts], np.float32)

    def count_truncated(self, texts: list[str]) -> int:
        return sum(len(text) > self.max_tokens for text in texts)


def vector(text: str) -> list[float]:
    return [float(len(text)), float(ord(text[0])) if text else 0.0, float(sum(map(ord, text)) % 1000)]


def expected(texts: list[str]) -> NDArray[np.float32]:
    return np.array([vector(text) for text in texts], np.float32).reshape(-1, WIDTH)


texts_of = st.lists(st.sampled_from(["a", "bb", "", "\ud800", "\0", "ende\0", "🙂", "longer text"]), max_size=12)


@given(st.lists(texts_of, max_size=5))
def test_vectors_are_the_encoder_s_and_no_text_is_embedded_twice(
    tmp_path_factory: pytest.TempPathFactory, calls: list[list[str]]
) -> None:
    encoder = FakeEncoder()
    folder = tmp_path_factory.mktemp("store")
    for texts in calls:
        # A fresh store is what the next audit has.
        found = Embedder(encoder, VectorStore(folder)).encode(texts)
        assert found.dtype == np.float32
        assert found.reshape(-1, WIDTH).tolist() == expected(texts).tolist()
    embedded = [text for call in encoder.calls for text in call]
    assert sorted(embedded) == sorted({text for texts in calls for text in texts})


def test_what_another_process_wrote_is_found_in_the_middle_of_a_run(tmp_path: Path) -> None:
    mine, theirs = FakeEncoder(), FakeEncoder()
    first, second = Embedder(mine, VectorStore(tmp_path)), Embedder(theirs, VectorStore(tmp_path))
    first.encode(["a"])
    second.encode(["b"])
    first.encode(["a", "b", "c"])
    assert mine.calls == [["a"], ["c"]]


def test_threads_embed_each_text_once(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    shared = Embedder(encoder, VectorStore(tmp_path))
    texts = [f"text {i}" for i in range(50)]
    threads = [threading.Thread(target=shared.encode, args=(texts[i:] + texts[:i],)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(text for call in encoder.calls for text in call) == sorted(texts)


def test_many_small_files_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MAX_FILES", 3)
    encoder = FakeEncoder()
    shared = Embedder(encoder, VectorStore(tmp_path))
    texts = [f"text {i}" for i in range(10)]
    for text in texts:
        shared.encode([text])
        assert len(list(tmp_path.iterdir())) <= 3
    assert Embedder(encoder, VectorStore(tmp_path)).encode(texts).tolist() == expected(texts).tolist()
    assert len(encoder.calls) == 10


def test_beyond_the_bound_the_oldest_go(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    one_file = 128 + 16 + 4 * WIDTH
    shared = Embedder(encoder, VectorStore(tmp_path, n_bytes=2 * one_file))
    for text in ("a", "b", "c"):
        shared.encode([text])
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2 * one_file
    shared.encode(["c", "a"])
    assert encoder.calls[3:] == [["a"]]


def test_one_file_over_the_bound_stays_for_this_run(tmp_path: Path) -> None:
    shared = Embedder(FakeEncoder(), VectorStore(tmp_path, n_bytes=1))
    shared.encode(["a"])
    assert shared.encode(["a"]).tolist() == expected(["a"]).tolist()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_a_broken_file_is_as_if_it_were_not_there(tmp_path: Path, content: bytes) -> None:
    encoder = FakeEncoder()
    Embedder(encoder, VectorStore(tmp_path)).encode(["a"])
    for path in tmp_path.iterdir():
        path.write_bytes(content)
    assert Embedder(encoder, VectorStore(tmp_path)).encode(["a"]).tolist() == expected(["a"]).tolist()
    assert encoder.calls == [["a"], ["a"]]


def test_without_a_writable_folder_vectors_stay_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MEMORY_BYTES", 2 * (16 + 4 * WIDTH))
    (tmp_path / "file").write_text("in the way")
    encoder = FakeEncoder()
    shared = Embedder(encoder, VectorStore(tmp_path / "file" / "folder"))
    for text in ("a", "b", "c"):
        shared.encode([text])
    assert shared.encode(["b", "c"]).tolist() == expected(["b", "c"]).tolist()
    assert encoder.calls == [["a"], ["b"], ["c"]]
    shared.encode(["a"])
    assert encoder.calls[3:] == [["a"]]


def test_the_folder_is_named_by_what_vectors_depend_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITKIT_CACHE", str(tmp_path))
    one, other = FakeEncoder(), FakeEncoder(fingerprint="1")
    for encoder in (one, other):
        Embedder.of(encoder).encode(["a"])
    folders = [cache_folder("vectors", encoder) for encoder in (one, other)]
    assert sorted((tmp_path / "vectors").iterdir()) == sorted(folders)
    assert folders[0] != folders[1]
    Embedder.of(one).encode(["a"])
    assert one.calls == [["a"]]


def test_it_pickles_as_its_encoder_and_folder(tmp_path: Path) -> None:
    first = Embedder(FakeEncoder(), VectorStore(tmp_path))
    first.encode(["a"])
    again = pickle.loads(pickle.dumps(first))
    assert again.encode(["a"]).tolist() == expected(["a"]).tolist()
    assert again.encoder.calls == [["a"]]  # what the first had done; nothing new


def test_keys_of_different_texts_differ() -> None:
    keys = text_keys(["", "\0", "a", "a\0", "ä", "\ud800"])
    assert len(set(keys.tolist())) == 6
