"""Every published benchmark in shared/data, opened as registered: its count, columns, kinds, labels and slices."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from auditkit.errors import BenchmarkError
from auditkit.read.assemble import item_records
from auditkit.read.benchmarks import open_benchmarks
from auditkit.read.registry import find

pytestmark = pytest.mark.shared

HARMBENCH = "harmbench/harmbench_behaviors_text_all.csv"
#: name -> file, items, kinds of parts, labels of items, number of slices.
FILES: dict[str, tuple[str, int, dict[str, int], dict[int | None, int], int]] = {
    "jailbreakbench-harmful": ("jailbreakbench/harmful-behaviors.csv", 100, {"question": 100}, {1: 100}, 10),
    "jailbreakbench-benign": ("jailbreakbench/benign-behaviors.goals-only.csv", 100, {"question": 100}, {0: 100}, 10),
    "or-bench-hard-1k": ("orbench/orbench_hard1k.json", 1319, {"question": 1319}, {0: 1319}, 0),
    "harmbench": (HARMBENCH, 400, {"question": 400, "context": 100}, {1: 400}, 3),
    "harmbench-standard": (HARMBENCH, 200, {"question": 200}, {1: 200}, 6),
    "harmbench-contextual": (HARMBENCH, 100, {"question": 100, "context": 100}, {1: 100}, 6),
    "harmbench-copyright": (HARMBENCH, 100, {"question": 100}, {1: 100}, 2),
    "xstest": ("xstest/xstest_prompts.csv", 450, {"question": 450}, {0: 250, 1: 200}, 2),
    "strongreject": ("strongreject/strongreject_dataset.csv", 313, {"question": 313}, {1: 313}, 6),
    "advbench": ("advbench/harmful_behaviors.csv", 520, {"question": 520}, {1: 520}, 0),
    "gsm8k": ("gsm8k/test.jsonl", 1319, {"question": 1319, "answer": 1319}, {None: 1319}, 0),
    "humaneval": ("humaneval/HumanEval.jsonl", 164, {"question": 164}, {None: 164}, 0),
    "openai-moderation": (
        "openai_moderation/samples-1680.jsonl.gz", 1680, {"question": 1680}, {1: 522, 0: 337, None: 821}, 0
    ),
    "hatecheck": ("hatecheck/test_suite_cases.csv", 3728, {"question": 3728}, {1: 2563, 0: 1165}, 29),
    "hatemojibuild-test": ("hatemoji/HatemojiBuild_test.csv", 593, {"question": 593}, {1: 308, 0: 285}, 2),
    "hatemojibuild-validation": ("hatemoji/HatemojiBuild_validation.csv", 591, {"question": 591}, {1: 270, 0: 321}, 2),
    "hatemojibuild-train": ("hatemoji/HatemojiBuild_train.csv", 4728, {"question": 4728}, {1: 2387, 0: 2341}, 2),
    "tdc2023-dev": ("tdc2023/tdc2023_dev_behaviors.json", 50, {"question": 50}, {1: 50}, 0),
    "tdc2023-test": ("tdc2023/tdc2023_test_behaviors.json", 50, {"question": 50}, {1: 50}, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_published_file_is_as_registered(name: str, shared_data: Path) -> None:
    relative, n_items, kinds, labels, n_slices = FILES[name]
    (benchmark,) = open_benchmarks(f"{name}={shared_data / relative}")
    items = benchmark.items.unique("item", maintain_order=True)
    assert benchmark.is_registered
    assert benchmark.n_items == n_items == find(name).n_items
    assert Counter(benchmark.items["kind"]) == kinds
    assert Counter(items["label"]) == labels
    assert items["item"].to_list() == list(range(n_items))
    assert items["slice"].drop_nulls().n_unique() == n_slices
    assert sum(1 for _ in item_records(benchmark)) == n_items


@pytest.mark.parametrize("name", [name for name in FILES if find(name).sha256 and "harmbench" not in name])
def test_a_registered_digest_is_the_files(name: str, shared_data: Path) -> None:
    content = (shared_data / FILES[name][0]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == find(name).sha256


def test_harmbench_context_is_part_of_an_items_key(shared_data: Path) -> None:
    (benchmark,) = open_benchmarks(f"harmbench={shared_data / HARMBENCH}")
    parts = benchmark.items.pivot("part", index="item", values="text")
    assert parts["Behavior"].n_unique() == 393
    assert parts.select(pl.struct("Behavior", "ContextString").n_unique()).item() == 400


def test_an_index_column_without_a_name_is_the_id(shared_data: Path) -> None:
    (benchmark,) = open_benchmarks(f"jbb-harmful={shared_data / 'jailbreakbench/harmful-behaviors.csv'}")
    assert benchmark.items["item_id"].to_list() == [str(i) for i in range(100)]


def test_a_filtered_copy_is_a_note_where_the_count_is_not_verified(shared_data: Path) -> None:
    (benchmark,) = open_benchmarks(f"multijail={shared_data / 'pairs/multijail_0_159.jsonl'}")
    assert benchmark.n_items == 140
    assert benchmark.items.height == 700
    assert any("140 items, expected 315" in note for note in benchmark.notes)


def test_one_benchmark_in_the_place_of_another_is_refused(shared_data: Path) -> None:
    with pytest.raises(BenchmarkError, match="no column Goal"):
        open_benchmarks(f"jbb-benign={shared_data / 'xstest/xstest_prompts.csv'}")
    with pytest.raises(BenchmarkError, match=r"7,473 items, expected 1,319"):
        open_benchmarks(f"gsm8k={shared_data / 'gsm8k/train.jsonl'}")


def test_every_published_file_opens_without_being_registered(shared_data: Path) -> None:
    for relative in {entry[0] for entry in FILES.values()}:
        (benchmark,) = open_benchmarks(shared_data / relative)
        assert benchmark.n_items > 0
        assert benchmark.notes[0].startswith("columns read by their names")
