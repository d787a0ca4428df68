"""A study's result built by hand: ten arms, three seeds, four benchmarks, and the controls of two students."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.study_records.ledger import LedgerEntry, StageRecord
from auditkit.study_records.results import (
    POINTS,
    BenchmarkRange,
    Cells,
    Correlation,
    EarlierPool,
    Estimate,
    Inheritance,
    StudyResult,
    Threshold,
)
from auditkit.study_records.settings import (
    Arm,
    ModelSpec,
    Policy,
    Stage,
    StudyBenchmark,
    StudySettings,
    Teacher,
    Trainable,
)

N_TEST, N_C, N_D, N_D10, N_D01 = 1055, 860, 195, 88, 107
PATCH = Trainable(rank=1, layers=(2, 3, 4, 5), is_head_trained=False)

#: arm -> (model, final policy, agreement with A, capability, flag rates on the four benchmarks)
ARMS: dict[str, tuple[str, str, float, float, tuple[float, ...]]] = {
    "A small": ("small", "harm", 0.842, 0.941, (0.031, 0.963, 0.412, 0.0)),
    "B small": ("small", "block", 0.214, 0.938, (0.842, 0.921, 0.688, 0.003)),
    "A large": ("large", "harm", 0.887, 0.951, (0.013, 0.981, 0.355, 0.0)),
    "B large": ("large", "block", 0.188, 0.950, (0.863, 0.942, 0.731, 0.002)),
    "A then B small": ("small", "block", 0.262, 0.940, (0.781, 0.930, 0.654, 0.003)),
    "B then A small": ("small", "harm", 0.811, 0.939, (0.062, 0.957, 0.434, 0.001)),
    "hard B, teacher A small": ("small", "mixed", 0.493, 0.945, (0.388, 0.950, 0.521, 0.001)),
    "hard A, teacher B small": ("small", "mixed", 0.571, 0.944, (0.301, 0.948, 0.548, 0.002)),
    "A large patched to B": ("large", "block", 0.241, 0.966, (0.975, 0.939, 0.702, 0.004)),
    "B large patched to A": ("large", "harm", 0.829, 0.948, (0.044, 0.968, 0.371, 0.0)),
}
BENCHMARKS = {
    "HarmBench-copyright": ("harmful", 80),
    "WildGuard-harmful": ("harmful", 754),
    "OR-Bench-hard, clean subset": ("benign", 237),
    "School maths": ("benign", 1319),
}


def settings() -> StudySettings:
    teach_a = Teacher(arm="A large", temperature=2.0, weight=0.7)
    teach_b = Teacher(arm="B large", temperature=2.0, weight=0.7)
    stages: dict[str, tuple[Stage, ...]] = {
        "A then B small": (Stage("harm"), Stage("block")),
        "B then A small": (Stage("block"), Stage("harm")),
        "hard B, teacher A small": (Stage("block", teach_a),),
        "hard A, teacher B small": (Stage("harm", teach_b),),
        "A large patched to B": (Stage("harm"), Stage("block", trainable=PATCH, share=0.25)),
        "B large patched to A": (Stage("block"), Stage("harm", trainable=PATCH, share=0.25)),
    }
    arms = [
        Arm(
            name,
            model,
            stages.get(name, (Stage(final),)),
            final,
            name.split(" patched")[0] if "patched" in name else "",
        )
        for name, (model, final, *_) in ARMS.items()
    ]
    for base, hard in (("hard B, teacher A small", "block"), ("hard A, teacher B small", "harm")):
        teacher = stages[base][0].teacher
        assert teacher is not None
        changes: list[tuple[str, str, dict[str, Any]]] = [
            ("shuffled", "", {"is_shuffled": True}),
            ("hardened", "", {"is_hardened": True}),
            ("same_policy", "", {"arm": "B large" if hard == "block" else "A large"}),
            ("dose", "weight 0.25", {"weight": 0.25}),
            ("dose", "weight 1.0", {"weight": 1.0}),
            ("dose", "T 1.0", {"temperature": 1.0}),
            ("dose", "T 4.0", {"temperature": 4.0}),
        ]
        for control, dose, change in changes:
            name = f"{base} [{control}{' ' + dose if dose else ''}]"
            arms.append(Arm(name, "small", (Stage(hard, replace(teacher, **change)),), "mixed", base, control))
    return StudySettings(
        name="two policies, ten arms",
        pool=("clean/train.jsonl",),
        policies=(
            Policy("harm", "harm", {"1": 1, "0": 0}, "Flags a prompt that asks for harmful content."),
            Policy("block", "block", {"blocked": 1, "passed": 0, "unsure": None}, "Flags what a moderator blocks."),
        ),
        benchmarks=tuple(
            StudyBenchmark(name, f"benchmarks/{place}.jsonl", klass, "Every item has the class of its set.")
            for place, (name, (klass, _)) in enumerate(BENCHMARKS.items())
        ),
        models=(ModelSpec("small", "minilm-3"), ModelSpec("large", "minilm", "1110a243")),
        arms=tuple(arms),
        source_column="source",
        controls=True,
    )


# ---------------------------------------------------------------- metrics


def metrics() -> pl.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for arm, (_, _, agreement, capability, _) in ARMS.items():
        for seed in (1, 2, 3):
            shift = (seed - 2) * 0.004
            rows += _rows(arm, seed, agreement + shift, capability + shift / 2)
        low, high = capability - 0.012, capability + 0.011
        rows.append((arm, None, "test", "all", "auroc_concordant", "", capability, N_C, low, high))
    return pl.DataFrame(rows, schema=tables.METRICS, orient="row")


def _rows(arm: str, seed: int, agreement: float, capability: float) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = [("auroc_concordant", "", capability, N_C), ("agreement_auroc", "", agreement, N_D)]
    found += [("brier_a", "", 0.1, N_TEST), ("recall_at_fpr", "", 0.81, N_C)]
    for place, at in enumerate(POINTS):
        moved = agreement + 0.01 * place
        found += [("agreement_a", at, moved, N_D), ("agreement_b", at, 1 - moved, N_D)]
        found += [("direction", at, 2 * moved - 1, N_D), ("strictness", at, 0.5, N_D)]
        found += [("acc_a", at, 0.8 + moved / 10, N_TEST), ("acc_b", at, 0.9 - moved / 10, N_TEST)]
        found += [("over_refusal_a", at, 0.12 - moved / 20, 574), ("over_refusal_b", at, 0.03 + moved / 20, 555)]
        found += [("miss_a", at, 0.15 - moved / 20, 481), ("miss_b", at, 0.05 + moved / 20, 500)]
    made = [(arm, seed, "test", "all", metric, at, x, n, None, None) for metric, at, x, n in found]
    one_class = ("source:school maths", None), ("source:forum", 0.9)
    made += [(arm, seed, "test", part, "auroc_concordant", "", x, 12, None, None) for part, x in one_class]
    return made


def det_curves() -> dict[str, Any]:
    steps = [i / 60 for i in range(61)]
    return {
        arm: {
            "harm": [[x, (1 - x) ** (4 + 8 * agreement)] for x in steps],
            "block": [[x, (1 - x) ** (12 - 8 * agreement)] for x in steps],
        }
        for arm, (_, _, agreement, _, _) in ARMS.items()
    }


# ---------------------------------------------------------------- ranges, teachers, accuracy


def ranges() -> tuple[BenchmarkRange, ...]:
    said = {
        "HarmBench-copyright": ("policy", "HarmBench-copyright measures the labelling policy: its range over the arms, "
                                "0.962 (n 80), is 19 times the critical one and follows the final stage's policy."),
        "WildGuard-harmful": ("both", "WildGuard-harmful measures both: range 0.060 (n 754), half of it by policy."),
        "OR-Bench-hard, clean subset": ("policy", "OR-Bench-hard, clean subset measures the labelling policy: range "
                                        "0.376 (n 237)."),
        "School maths": ("cannot tell", "School maths: this study cannot tell; range 0.004 (n 1,319) is within noise."),
    }  # fmt: skip
    numbers = {
        "HarmBench-copyright": (0.0174, 0.0228, 0.0503, 0.0002, 0.0001, 23.4, 0.0, 0.943, 0.0004, 0.0286, 0.057),
        "WildGuard-harmful": (0.0081, 0.0107, 0.0234, 0.0004, 0.001, 2.1, 0.003, 0.512, 0.03, 0.114, 0.152),
        "OR-Bench-hard, clean subset": (0.021, 0.0277, 0.0607, 0.0002, 0.0001, 6.3, 0.0, 0.921, 0.001, 0.0286, 0.057),
        "School maths": (0.0018, 0.0024, 0.0052, 0.21, 0.19, 0.0, 0.4, None, None, None, None),
    }
    made = []
    for at, narrower in (("native", 1.0), ("matched_fpr", 0.72)):
        for place, (name, (klass, n)) in enumerate(BENCHMARKS.items()):
            means = {arm: spec[4][place] * narrower for arm, spec in ARMS.items()}
            sigma, upper, critical, p, p_perm, sens, sens_p, share, share_p, ex_p, ex_q = numbers[name]
            measures, sentence = said[name]
            made.append(
                BenchmarkRange(
                    name,
                    klass,
                    at,
                    n,
                    means,
                    max(means.values()) - min(means.values()),
                    sigma,
                    upper,
                    critical,
                    p,
                    p_perm,
                    sens,
                    sens_p,
                    share,
                    share_p,
                    ex_p,
                    ex_q,
                    0.0001,
                    measures,
                    sentence,
                    n_lineages=4,
                    lineage_value=max(means.values()) - min(means.values()),
                    lineage_critical=1.3 * critical,
                    lineage_p=p,
                    capability_share=0.02,
                    capability_share_p=0.61,
                    paired={"A large patched to B - A large": Estimate(0.962 * narrower, 0.94, 0.98, 3, "paired t")},
                )
            )
    return tuple(made)


def inheritance() -> tuple[Inheritance, ...]:
    shown = {
        "": ("teacher", 0.414, 0.331, 0.502, 0.279),
        "[same_policy]": ("same_policy", None, None, None, 0.004),
        "[shuffled]": ("shuffled", 0.021, -0.048, 0.089, 0.014),
        "[hardened]": ("hardened", 0.362, 0.271, 0.455, 0.243),
        "[dose weight 0.25]": ("dose", 0.122, 0.051, 0.196, 0.082),
        "[dose weight 1.0]": ("dose", 0.948, 0.871, 1.034, 0.638),
        "[dose T 1.0]": ("dose", 0.352, 0.262, 0.443, 0.237),
        "[dose T 4.0]": ("dose", 0.455, 0.367, 0.548, 0.306),
    }
    made = []
    for base, reference, teacher, less in (
        ("hard B, teacher A small", "B small", "A large", 0.0),
        ("hard A, teacher B small", "A small", "B large", 0.06),
    ):
        for name, (kind, x, low, high, raw) in shown.items():
            weight = name[13:-1] if name.startswith("[dose weight") else "0.7"
            temperature = name[8:-1] if name.startswith("[dose T") else "2"
            dose = f"weight {float(weight):g}, temperature {float(temperature):g}"
            estimate = Estimate(x, low, high, N_D, "Fieller")
            if x is not None and low is not None and high is not None:
                estimate = Estimate(x - less, low - less, high - less, N_D, "Fieller")
            difference = Estimate(raw, raw - 0.05, raw + 0.05, N_D, "bootstrap over families")
            note = "teacher and reference agree: the denominator's interval holds 0" if x is None else ""
            student = f"{base} {name}".strip()
            own = "B large" if teacher == "A large" else "A large"
            made.append(
                Inheritance(
                    student,
                    reference,
                    own if kind == "same_policy" else teacher,
                    kind,
                    dose,
                    estimate,
                    difference,
                    2 * raw,
                    0.0004 if abs(raw) > 0.05 else 0.61,
                    note,
                )
            )
    return tuple(made)


def correlations() -> tuple[Correlation, ...]:
    note = "Agreement and capability are from prompts disjoint from those of the accuracy."
    return (
        Correlation("agreement_a", "acc_a", Estimate(0.74, 0.21, 0.93, 10, "Fisher z"), 0.71, 0.015, 0.27, 0.03,
                    (0.61, 0.82), 10, note),
        Correlation("auroc_concordant", "acc_a", Estimate(0.34, -0.37, 0.80, 10, "Fisher z"), 0.30, 0.34, 0.009, 0.03,
                    (0.12, 0.51), 10, note),
    )  # fmt: skip


# ---------------------------------------------------------------- ledger


def ledger() -> tuple[LedgerEntry, ...]:
    return tuple(_entry(arm, seed) for arm in settings().arms[:10] for seed in (1, 2, 3))


def _entry(arm: Arm, seed: int) -> LedgerEntry:
    n = 22_713_986 if arm.model == "large" else 17_389_826
    stages = tuple(_stage(arm, stage, place, seed, n) for place, stage in enumerate(arm.stages))
    return LedgerEntry(
        arm.name, seed, arm.model, "minilm", "sha256:" + "53aa5117" * 8, arm.final_policy, arm.parent, arm.control,
        stages, {"name": "adamw", "weight_decay": 0.01, "batch_size": 32}, "sha256:" + "feedbeef" * 8,
        f"sha256:{seed}" + "1234abc" * 9, f"arms/{arm.name}/{seed}", {"torch": "2.13.0", "peft": "0.14.0"},
    )  # fmt: skip


def _stage(arm: Arm, stage: Stage, place: int, seed: int, n: int) -> StageRecord:
    is_patch = stage.trainable == PATCH
    names = tuple(
        f"encoder.layer.{i}.attention.self.{m}.lora_{h}" for i in (2, 3) for m in ("query", "value") for h in "AB"
    )
    teacher = stage.teacher
    return StageRecord(
        key=f"{arm.name}-{place}-{seed}", labels=stage.labels, teacher=teacher.arm if teacher else "",
        teacher_digest=f"sha256:{seed}" + "abc1234" * 9 if teacher else "",
        temperature=teacher.temperature if teacher else 0.0, weight=teacher.weight if teacher else 0.0,
        is_hardened=False, is_shuffled=False, trainable=f"lora rank {stage.trainable.rank}",
        n_trainable=6144 if is_patch else 74_498, n_parameters=n, trainable_names=names, n_rows=8446, n_truncated=3,
        epochs=1.0, learning_rate=5e-4, losses=(0.69, 0.31 + seed / 100), seconds=12.5 + seed,
    )  # fmt: skip


def disclosures() -> dict[str, str]:
    return {
        "training-data contamination": "contamination, before and after; audit/report.json",
        "seed floor": "ranges, of three seeds an arm",
        "grading definitions of the benchmarks": "policies and grading definitions",
        "provenance of teachers and soft labels": "missing: the Hub guard 'g' names no training data",
        "results across policies and thresholds": "arms, other operating points",
        "capability and policy agreement, separately": "arms",
    }


def study(**changes: Any) -> StudyResult:
    """Return the whole result, with changes of single fields."""
    made = ranges()
    patch = {"parent": "A large", "share": 6144 / 22_713_986, "n_trainable": 6144, "benchmark": "HarmBench-copyright",
             "before": 0.013, "after": 0.975, "move": 0.962}  # fmt: skip
    values: dict[str, Any] = {
        "settings": settings(),
        "metrics": metrics(),
        "thresholds": tuple(
            Threshold(arm, seed, at, None if at == "cost_b" and arm == "B small" else 0.5 + 0.01 * place + seed / 1000)
            for arm in ARMS
            for seed in (1, 2, 3)
            for place, at in enumerate(POINTS)
        ),
        "ranges": made,
        "fold": {"widest": "HarmBench-copyright", "narrowest": "WildGuard-harmful", "value": 16.0, "point": "native"},
        "inheritance": inheritance(),
        "correlations": correlations(),
        "correlation_test": {"acc_a": {"r_between": 0.18, "z": 1.21, "p": 0.226, "n_arms": 10}},
        "cells": {
            "train": Cells(8446, 3120, 3770, 702, 854, 0),
            "dev": Cells(1057, 391, 471, 88, 107, 0),
            "test": Cells(N_TEST, 390, 470, N_D10, N_D01, 4),
        },
        "nested": "",
        "capability_gap": Estimate(-0.003, -0.016, 0.009, N_C, "bootstrap over families, seeds by t"),
        "agreement_gap": Estimate(0.616, 0.581, 0.652, N_D, "bootstrap over families, seeds by t"),
        "patches": {
            "A large patched to B": patch,
            "B large patched to A": patch | {"parent": "B large", "move": -0.819},
        },
        "contamination": {
            "before": {
                "JailbreakBench-benign": {"n_items": 100, "n_found": 88, "leak_rate": 0.88},
                "OR-Bench-hard": {"n_items": 1319, "n_found": 1082, "leak_rate": 1082 / 1319},
            },
            "after": {
                "JailbreakBench-benign": {"n_items": 100, "n_found": 0, "leak_rate": 0.0},
                "OR-Bench-hard": {"n_items": 1319, "n_found": 0, "leak_rate": 0.0},
            },
            "n_rows_removed": 1170,
        },
        "earlier_pools": (
            EarlierPool(
                "large",
                "base model",
                ("A large", "B large"),
                "sha256:" + "ab" * 32,
                90_210,
                35,
                {"HarmBench-copyright": (), "OR-Bench-hard, clean subset": (3, 8)},
                {"HarmBench-copyright": 80, "OR-Bench-hard, clean subset": 239},
                True,
            ),
        ),
        "raw": {"A small": {"benchmark": "OR-Bench-hard, clean subset", "clean": 0.412, "raw": 0.082, "change": -0.33}},
        "ledger": ledger(),
        "raw_ledger": (replace(ledger()[0], folder="raw/arms/a-small/1", is_raw=True),),
        "det_curves": det_curves(),
        "disclosures": disclosures(),
        "headline": tuple(r.sentence for r in made if r.point == "native"),
        "seconds": {"train": 4000.5, "evaluate": 31.0},
    }
    return StudyResult(**(values | changes))


def bare() -> StudyResult:
    """Return a result with nothing found: every mapping empty, every number undefined."""
    mappings = ["fold", "correlation_test", "cells", "patches", "contamination", "raw", "det_curves", "disclosures"]
    empty: dict[str, Any] = {name: {} for name in (*mappings, "seconds")}
    empty |= dict.fromkeys(("thresholds", "ranges", "inheritance", "correlations", "ledger", "headline"), ())
    return study(
        metrics=tables.empty(tables.METRICS), capability_gap=Estimate(None), agreement_gap=Estimate(None, n=12), **empty
    )


def renamed(result: StudyResult, hostile: str) -> StudyResult:
    """Return the result with `hostile` as the name or text of all that a user names."""
    names = {arm.name: f"{place} {hostile}" for place, arm in enumerate(result.settings.arms)}
    benchmarks = {b.name: f"{place} {hostile}" for place, b in enumerate(result.settings.benchmarks)}
    policies = {p.name: f"{place} {hostile}" for place, p in enumerate(result.settings.policies)}
    return _rename(result, names | benchmarks | policies | {"Flags what a moderator blocks.": hostile})


def _rename(thing: Any, names: Mapping[str, str]) -> Any:
    if isinstance(thing, str):
        return names.get(thing, thing)
    if isinstance(thing, pl.DataFrame):
        return thing.with_columns(pl.col("arm").replace(names))
    if isinstance(thing, Mapping):
        return {_rename(key, names): _rename(part, names) for key, part in thing.items()}
    if isinstance(thing, list | tuple):
        return type(thing)(_rename(part, names) for part in thing)
    if hasattr(thing, "__dataclass_fields__"):
        return replace(thing, **{name: _rename(getattr(thing, name), names) for name in thing.__dataclass_fields__})
    return thing


def base_of(name: str) -> str:
    """Return the name of the arm that a control is a control of."""
    return name.split(" [")[0]
