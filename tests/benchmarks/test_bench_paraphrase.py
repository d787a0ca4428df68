"""The paraphrase benchmark's parts that need no model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


def test_a_pool_is_made_up_of_halves_of_its_own_texts(tmp_path: Path) -> None:
    import paraphrase

    own = ["how do I bake a loaf", "what is a fishing quota", "short", "what is a fishing quota"]
    pool = tmp_path / "pool.jsonl"
    pool.write_text("".join(json.dumps({"text": text}) + "\n" for text in own), "utf-8")
    texts = paraphrase.pool_texts([str(pool)], 10)
    assert texts[:3] == own[:3]
    assert len(texts) == 10
    words = {word for text in own for word in text.split()}
    assert all(set(text.split()) <= words for text in texts)
    assert paraphrase.pool_texts([str(pool)], 10) == texts
    assert paraphrase.pool_texts([str(pool)], 2) == own[:2]


def test_rates_are_a_second_of_wall_and_of_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import paraphrase

    walls, processors = iter([10.0, 14.0]), iter([1.0, 9.0])
    monkeypatch.setattr(paraphrase.time, "perf_counter", lambda: next(walls))
    monkeypatch.setattr(paraphrase.time, "process_time", lambda: next(processors))
    assert paraphrase.Clock().rates(80) == {
        "seconds": 4.0, "processor_seconds": 8.0, "rows_per_second": 20.0, "rows_per_processor_second": 10.0,
    }  # fmt: skip
