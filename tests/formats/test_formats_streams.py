"""Decoders: all members, no more than what is there, and the same bytes from a thread of their own."""

from __future__ import annotations

import os
import threading
import zlib
from pathlib import Path

import pytest
import zstandard
from formats_support import pack
from hypothesis import given, settings
from hypothesis import strategies as st

from auditkit.formats import streams


@pytest.fixture(params=[0, 1 << 60], ids=["ahead", "in line"])
def threshold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(streams, "AHEAD_FROM_BYTES", request.param)
    return int(request.param)


def decoded(path: Path, data: bytes) -> bytes:
    path.write_bytes(data)
    with streams.open_input(path, path.suffix[1:]) as stream:
        found = stream.read()
        assert streams.position(stream) == len(data)
        return found


@pytest.mark.usefixtures("threshold")
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_members_follow_each_other(tmp_path: Path, suffix: str) -> None:
    parts = [b"", b"a", os.urandom(300_000), b"x" * 5_000_000, b"\0\0"]
    assert decoded(tmp_path / f"a{suffix}", b"".join(pack(part, suffix) for part in parts)) == b"".join(parts)


@pytest.mark.usefixtures("threshold")
def test_gzip_members_may_be_padded_with_nuls_and_zstd_frames_may_not(tmp_path: Path) -> None:
    data = pack(b"a", ".gz") + b"\0" * 100_000 + pack(b"b", ".gz") + b"\0" * 3
    assert decoded(tmp_path / "a.gz", data) == b"ab"
    with pytest.raises(zlib.error):
        decoded(tmp_path / "a.gz", b"\0" + data)
    with pytest.raises(zstandard.ZstdError):
        decoded(tmp_path / "a.zst", pack(b"a", ".zst") + b"\0")


@pytest.mark.usefixtures("threshold")
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_what_ends_early_or_is_damaged_is_an_error_after_what_is_good(tmp_path: Path, suffix: str) -> None:
    whole = pack(os.urandom(4_000_000), suffix)
    for data, error in ((whole[:-1], EOFError), (whole + b"\1\1\1\1\1\1", (zlib.error, zstandard.ZstdError))):
        (tmp_path / "a").write_bytes(data)
        with streams.open_input(tmp_path / "a", suffix[1:]) as stream:
            assert len(stream.read(1_000_000)) == 1_000_000
            with pytest.raises(error):
                stream.read()


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=2000), st.sampled_from([".gz", ".zst"]), st.lists(st.integers(1, 900), max_size=5))
def test_reads_of_any_size_give_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str, sizes: list[int]
) -> None:
    path = tmp_path_factory.mktemp("streams") / "a"
    path.write_bytes(pack(data, suffix))
    with streams.open_input(path, suffix[1:]) as stream:
        assert b"".join([stream.read(size) for size in sizes] + [stream.read()]) == data


def test_a_decoder_stays_a_bounded_way_ahead_and_ends_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "AHEAD_FROM_BYTES", 0)
    path = tmp_path / "a.gz"
    path.write_bytes(pack(b"x" * 60_000_000, ".gz"))
    stream = streams.open_input(path, "gz")
    assert stream.read(10) == b"x" * 10
    raw = stream.raw
    assert isinstance(raw, streams._ReadAhead)
    assert len(raw._pieces) == streams.N_AHEAD
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("auditkit-ahead")]
    assert len(names) == 1
    stream.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("auditkit-ahead")]
    assert raw._source.n_consumed <= path.stat().st_size
