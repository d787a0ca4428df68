"""The registry is complete, consistent and honest about what was checked; its table in docs is current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from auditkit.errors import BenchmarkError
from auditkit.read import registry
from auditkit.read.registry import FACTS, Registered, find, known_names, lookup, registered
from auditkit.read.registry_docs import render_benchmarks

ENTRIES = list(registered().values())
NAMES = [entry.name for entry in ENTRIES]


def test_every_benchmark_that_was_asked_for_is_there() -> None:
    assert set(NAMES) >= {
        "jailbreakbench-harmful", "jailbreakbench-benign", "or-bench-80k", "or-bench-hard-1k", "or-bench-toxic",
        "harmbench", "harmbench-standard", "harmbench-contextual", "harmbench-copyright", "wildguardtest-prompt",
        "wildguardtest-response", "wildguard-benign", "xstest", "strongreject", "advbench", "do-not-answer",
        "simplesafetytests", "sorry-bench", "toxicchat", "beavertails", "aegis-1", "aegis-2", "openai-moderation",
        "gsm8k", "mmlu", "humaneval", "truthfulqa", "tdc2023-dev", "hatecheck", "hatemojibuild-test", "multijail",
    }  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_an_entry_is_complete(entry: Registered) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", entry.name)
    assert re.fullmatch(r"([0-9a-f]{40})?", entry.revision)
    assert re.fullmatch(r"([0-9a-f]{64})?", entry.sha256)
    assert entry.title
    assert entry.unit
    assert entry.policy.endswith(".")
    assert entry.policy_source
    assert any(column.kind == "question" and not column.is_optional for column in entry.columns)
    assert entry.n_items is None or entry.n_items > 0
    if entry.source == "hub":
        assert "/" in entry.repo
        assert entry.split
        assert entry.location.startswith(f"hf:{entry.repo}:")
    else:
        assert entry.url.startswith("https://")
        assert entry.revision in entry.url
        assert "{" not in entry.url


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_an_unknown_revision_is_never_called_checked(entry: Registered) -> None:
    assert not ({*entry.verified} & {*entry.reported})
    assert all(how.strip() for how in (*entry.verified.values(), *entry.reported.values()))
    assert entry.revision or "revision" in entry.unverified
    assert entry.licence or "licence" in entry.unverified
    assert set(entry.unverified) <= set(FACTS)


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_labels_agree_with_the_class(entry: Registered) -> None:
    if entry.label.constant is not None:
        assert entry.label.constant == {"harmful": 1, "benign": 0}[entry.klass]
    assert all(value in (0, 1) for value in entry.label.values.values())
    assert all(value == value.casefold() for value in entry.label.values)
    assert all(value == value.casefold() for values in entry.where.values() for value in values)


def test_benchmarks_without_a_harm_policy_have_no_labels() -> None:
    for name in ("gsm8k", "mmlu", "humaneval", "truthfulqa"):
        assert find(name).label == registry.LabelSource()


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("or-bench-hard-1k", "or-bench-hard-1k"),
        ("OR_Bench_Hard-1K", "or-bench-hard-1k"),
        (" orbench.hard ", "or-bench-hard-1k"),
        ("JBB-benign", "jailbreakbench-benign"),
        ("wildguardtest_benign", "wildguard-benign"),
        ("GSM8K", "gsm8k"),
    ],
)
def test_find_forgives_case_and_separators(spelling: str, name: str) -> None:
    assert find(spelling).name == name


def test_find_names_the_nearest() -> None:
    with pytest.raises(BenchmarkError, match=r"'xtest' is not registered; did you mean 'xstest'\?.*a path") as caught:
        find("xtest")
    assert "\n" not in str(caught.value)


def test_both_halves_of_a_benchmark_need_to_be_named_apart() -> None:
    assert lookup("jailbreakbench") is None
    assert lookup("orbench") is None


def test_every_spelling_leads_to_one_benchmark() -> None:
    assert {find(spelling).name for spelling in known_names()} == set(NAMES)


def test_a_doubled_spelling_is_refused() -> None:
    doubled = {"a": find("xstest"), "b": find("xstest")}
    with pytest.raises(ValueError, match="is both"):
        registry._spellings(doubled)


def test_gated_pages_are_where_terms_are_accepted() -> None:
    assert find("wildguard-benign").is_gated
    assert find("wildguard-benign").page == "https://huggingface.co/datasets/allenai/wildguardmix"
    assert find("harmbench").page == "https://github.com/centerforaisafety/HarmBench"


def test_the_table_in_docs_is_current(root: Path) -> None:
    written = (root / "docs" / "benchmarks.md").read_text("utf-8")
    assert written == render_benchmarks(), "run: python -m auditkit.read.registry_docs > docs/benchmarks.md"
