"""docs/study.md shows the figures of benchmarks/results/study.json, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
COPYRIGHT, MATHS = "harmbench_copyright", "school_maths"
Section = Mapping[str, Any]


def _signed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{value:+.3f}" for _, value in sorted(values.items()))


def _intervals(students: Mapping[str, Mapping[str, float]]) -> str:
    return ", ".join(f"{s['value']:.2f} [{s['low']:.2f}, {s['high']:.2f}]" for _, s in sorted(students.items()))


ROWS: dict[str, Callable[[Section], str]] = {
    "range over HarmBench-copyright, at 0.5": lambda s: f"{s['ranges'][COPYRIGHT]:.3f}",
    "what seeds alone reach there": lambda s: f"{s['critical'][COPYRIGHT]:.3f}",
    "the same range at a matched false-positive rate": lambda s: f"{s['ranges_matched_fpr'][COPYRIGHT]:.3f}",
    "range over school maths": lambda s: f"{s['ranges'][MATHS]:.3f}",
    "capability (AUROC) of A-final and B-final arms, apart": lambda s: f"{s['capability_gap']:.3f}",
    "agreement with A, apart": lambda s: f"{s['agreement_gap']:.3f}",
    "share of parameters that a patch changes": lambda s: f"{next(iter(s['patch_share'].values())):.4%}",
    "copyright moved by the patch towards B, towards A": lambda s: _signed(s["patch_move"]),
    "inheritance from teacher B, from teacher A": lambda s: _intervals(s["inheritance"]),
    "the same with shuffled soft labels": lambda s: _intervals(s["inheritance_shuffled"]),
    "minutes on two cores, embedding included": lambda s: f"{s['minutes']:.1f}",
}


def test_the_page_shows_the_stored_figures() -> None:
    stored = json.loads((ROOT / "benchmarks/results/study.json").read_text("utf-8"))
    page = (ROOT / "docs/study.md").read_text("utf-8")
    for name, show in ROWS.items():
        assert f"| {name} | {show(stored['head'])} | {show(stored['finetune'])} |" in page
