"""run/engine.py: order, bounded memory, errors, and every result of what was read before one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit.run.engine import WAITING, cores, run_local


@dataclass
class Numbers:
    """Pieces are tuples of numbers, shards numbers; scanning doubles them. What waits to be scanned is counted."""

    fails_at: int = -1
    slow: int = -1
    held: int = 0
    most_held: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, piece: tuple[int, ...]) -> Iterator[int]:
        for number in piece:
            if number < 0:
                raise ValueError(f"unreadable {number}")
            with self.lock:
                self.held += 1
                self.most_held = max(self.most_held, self.held)
            yield number

    def scan(self, shard: int) -> int:
        if shard == self.slow:
            time.sleep(0.05)
        with self.lock:
            self.held -= 1
        if shard == self.fails_at:
            raise KeyError(shard)
        return 2 * shard


pieces = st.lists(st.lists(st.integers(0, 50), max_size=6).map(tuple), max_size=5)


@given(pieces, st.integers(1, 5), st.integers(-1, 50))
def test_results_come_in_order(pieces: list[tuple[int, ...]], workers: int, slow: int) -> None:
    expected = [(piece, 2 * number) for piece in pieces for number in piece]
    assert list(run_local(Numbers(slow=slow), pieces, workers)) == expected


@pytest.mark.parametrize("workers", [1, 3])
def test_few_shards_are_in_memory(workers: int) -> None:
    job = Numbers(slow=0)
    list(run_local(job, [tuple(range(100))], workers))
    assert job.most_held <= workers + WAITING + 1


@pytest.mark.parametrize("workers", [1, 4])
def test_what_was_read_before_an_error_is_not_lost(workers: int) -> None:
    results = run_local(Numbers(slow=2), [(0, 1, 2, -3, 4)], workers)
    assert [next(results)[1] for _ in range(3)] == [0, 2, 4]
    with pytest.raises(ValueError, match="unreadable -3"):
        next(results)


@pytest.mark.parametrize("workers", [1, 4])
def test_the_first_error_in_order_is_raised(workers: int) -> None:
    results = run_local(Numbers(fails_at=7), [tuple(range(20))], workers)
    assert [next(results)[1] for _ in range(7)] == [2 * i for i in range(7)]
    with pytest.raises(KeyError, match="7"):
        list(results)


def test_a_run_that_is_left_ends_its_threads() -> None:
    results = run_local(Numbers(), [tuple(range(20))], 2)
    next(results)
    results.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("auditkit-scan")]


def test_there_is_a_core() -> None:
    assert cores() >= 1
