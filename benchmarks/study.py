"""The ten-arm, three-seed policy study on a real pool with two labels, by both trainers.

    python benchmarks/study.py DUAL --out WORK [--trainer head] [--trainer finetune] [--sample 5000]

DUAL is a folder with pool.jsonl (text, harm, block, source), benchmarks/*.jsonl and grading.json, as the project's
check of the study makes it. The result goes to benchmarks/results/study.json, one section a trainer; a section that is
there already and is not run again stays.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
from machine import machine

from auditkit.stories.arms import with_controls
from auditkit.stories.study import study
from auditkit.stories.study_file import example, parse_study
from auditkit.study_records.results import StudyResult
from auditkit.study_records.settings import StudyBenchmark, StudySettings

CLASSES = {
    "jbb_harmful": "harmful",
    "jbb_benign": "benign",
    "orbench_hard": "benign",
    "harmbench_standard": "harmful",
    "harmbench_misinformation": "harmful",
    "harmbench_copyright": "benign",
    "strongreject": "harmful",
    "everyday_benign": "benign",
    "school_maths": "benign",
}
COPYRIGHT = "harmbench_copyright"
RESULTS = Path(__file__).parent / "results" / "study.json"


def settings_of(dual: Path, trainer: str, sample: int) -> StudySettings:
    """Return the bundled ten arms on this pool, with shuffled soft labels as the control of inheritance."""
    import tomllib

    grading = json.loads((dual / "grading.json").read_text("utf-8"))
    bundled = parse_study(tomllib.loads(example()), "example", dual)
    benchmarks = tuple(
        StudyBenchmark(name, str(dual / "benchmarks" / f"{name}.jsonl"), klass, grading["expected"], grading["unit"])
        for name, klass in CLASSES.items()
    )
    policies = tuple(replace(policy, text=grading[policy.name]) for policy in bundled.policies)
    settings = replace(
        bundled,
        pool=(str(dual / "pool.jsonl"),),
        policies=policies,
        benchmarks=benchmarks,
        trainer=trainer,
        sample=sample,
    )
    controls = [arm for arm in with_controls(settings).arms if arm.control == "shuffled"]
    return replace(settings, arms=(*settings.arms, *controls))


def section(result: StudyResult, minutes: float) -> dict[str, object]:
    """Return the figures of one trainer."""
    ranges = {point: [one for one in result.ranges if one.point == point] for point in ("native", "matched_fpr")}
    kept = [one for one in result.inheritance if one.kind in ("teacher", "shuffled")]
    inheritance = {
        kind: {
            one.student: {
                "value": one.inheritance.value,
                "low": one.inheritance.low,
                "high": one.inheritance.high,
                "difference": one.difference.value,
                "note": one.note,
            }
            for one in kept
            if one.kind == kind
        }
        for kind in ("teacher", "shuffled")
    }
    return {
        "ranges": {one.benchmark: one.value for one in ranges["native"]},
        "ranges_matched_fpr": {one.benchmark: one.value for one in ranges["matched_fpr"]},
        "critical": {one.benchmark: one.critical for one in ranges["native"]},
        "floors": {one.benchmark: one.sigma_seed for one in ranges["native"]},
        "measures": {one.benchmark: one.measures for one in ranges["native"]},
        "arm_means": {one.benchmark: dict(one.arm_means) for one in ranges["native"]},
        "fold": dict(result.fold),
        "capability_gap": result.capability_gap.value,
        "agreement_gap": result.agreement_gap.value,
        "patch_share": {name: patch["patch_share"] for name, patch in result.patches.items()},
        "patch_move": {name: patch["move"].get(COPYRIGHT) for name, patch in result.patches.items()},
        "inheritance": inheritance["teacher"],
        "inheritance_shuffled": inheritance["shuffled"],
        "extremes_p": {one.benchmark: one.extremes_p for one in ranges["native"]},
        "accuracy_correlations": [
            {"accuracy": one.accuracy, "predictor": one.predictor, "r": one.pearson.value, "low": one.pearson.low,
             "high": one.pearson.high, "p": one.p_permutation, "note": one.note}
            for one in result.correlations
        ],
        "capability": _means(result, "auroc_concordant"),
        "agreement_a": _means(result, "agreement_a"),
        "cells": {name: vars(cells) for name, cells in result.cells.items()},
        "minutes": round(minutes, 2),
        "seconds": {name: round(seconds, 1) for name, seconds in result.seconds.items()},
    }  # fmt: skip


def _means(result: StudyResult, metric: str) -> dict[str, float]:
    rows = result.metrics.filter(
        (pl.col("metric") == metric) & (pl.col("set") == "test") & (pl.col("part") == "all")
        & pl.col("seed").is_not_null() & pl.col("point").is_in(["", "native"])
    )  # fmt: skip
    return {
        arm: round(value, 4) for arm, value in rows.group_by("arm").agg(pl.col("value").mean()).sort("arm").iter_rows()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dual", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trainer", action="append", choices=("head", "finetune"))
    parser.add_argument("--sample", type=int, default=5000, help="rows for `finetune`; `head` takes all")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    stored = json.loads(args.results.read_text("utf-8")) if args.results.exists() else {}
    for trainer in args.trainer or ("head", "finetune"):
        began = time.perf_counter()
        settings = settings_of(args.dual, trainer, 0 if trainer == "head" else args.sample)
        result = study(settings, args.out / trainer, note=lambda text: print(text, file=sys.stderr))
        stored[trainer] = section(result, (time.perf_counter() - began) / 60)
        stored["machine"] = {**machine(), "python": platform.python_version()}
        args.results.parent.mkdir(exist_ok=True)
        args.results.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
