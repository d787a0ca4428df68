"""auditkit: find benchmark items in a training pool, take them out, and tell labelling policy from capability.

    report = auditkit.audit("pool.jsonl", ["jailbreakbench-benign=jbb.csv", "my_eval.jsonl"], out="audit")
    auditkit.decontaminate(report, out="clean")

Importing auditkit imports nothing heavy: each name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditkit.errors import AuditkitError
    from auditkit.evaluate import evaluate_predictions as evaluate
    from auditkit.read import open_benchmarks, open_pool, parse_label
    from auditkit.records import AuditReport, Benchmark, LabelRule, Pool, ReadSettings
    from auditkit.report.as_json import load as load_report
    from auditkit.report.inspection import Inspection
    from auditkit.report.labels import LabelReport
    from auditkit.split import SplitResult, SplitSettings
    from auditkit.stories.audit import audit
    from auditkit.stories.decontaminate import decontaminate
    from auditkit.stories.families import pool_families
    from auditkit.stories.inspect import inspect_pool
    from auditkit.stories.inspect_settings import InspectSettings
    from auditkit.stories.labels import label_report
    from auditkit.stories.merge import merge
    from auditkit.stories.near import FamilySettings
    from auditkit.stories.power import PowerSettings, power
    from auditkit.stories.settings import AuditSettings, RunSettings
    from auditkit.stories.shards import audit_shard
    from auditkit.stories.split import PoolSplit, split_pool
    from auditkit.stories.study import study
    from auditkit.stories.study_file import load_study
    from auditkit.stories.upstream import Upstream
    from auditkit.verify.rules import Rules, default_rules, load_rules

__all__ = [
    "AuditReport",
    "AuditSettings",
    "AuditkitError",
    "Benchmark",
    "FamilySettings",
    "InspectSettings",
    "Inspection",
    "LabelReport",
    "LabelRule",
    "Pool",
    "PoolSplit",
    "PowerSettings",
    "ReadSettings",
    "Rules",
    "RunSettings",
    "SplitResult",
    "SplitSettings",
    "Upstream",
    "audit",
    "audit_shard",
    "decontaminate",
    "default_rules",
    "evaluate",
    "inspect_pool",
    "label_report",
    "load_report",
    "load_rules",
    "load_study",
    "merge",
    "open_benchmarks",
    "open_pool",
    "parse_label",
    "pool_families",
    "power",
    "split_pool",
    "study",
]

_HOMES = {
    "AuditReport": "auditkit.records",
    "AuditSettings": "auditkit.stories.settings",
    "AuditkitError": "auditkit.errors",
    "Benchmark": "auditkit.records",
    "FamilySettings": "auditkit.stories.near",
    "InspectSettings": "auditkit.stories.inspect_settings",
    "Inspection": "auditkit.report.inspection",
    "LabelReport": "auditkit.report.labels",
    "LabelRule": "auditkit.records",
    "Pool": "auditkit.records",
    "PoolSplit": "auditkit.stories.split",
    "PowerSettings": "auditkit.stories.power",
    "ReadSettings": "auditkit.records",
    "Rules": "auditkit.verify.rules",
    "RunSettings": "auditkit.stories.settings",
    "SplitResult": "auditkit.split",
    "SplitSettings": "auditkit.split",
    "Upstream": "auditkit.stories.upstream",
    "audit": "auditkit.stories.audit",
    "audit_shard": "auditkit.stories.shards",
    "decontaminate": "auditkit.stories.decontaminate",
    "default_rules": "auditkit.verify.rules",
    "evaluate": "auditkit.evaluate:evaluate",
    "inspect_pool": "auditkit.stories.inspect",
    "label_report": "auditkit.stories.labels",
    "load_report": "auditkit.report.as_json:load",
    "load_rules": "auditkit.verify.rules",
    "load_study": "auditkit.stories.study_file",
    "merge": "auditkit.stories.merge",
    "open_benchmarks": "auditkit.read",
    "open_pool": "auditkit.read",
    "parse_label": "auditkit.read",
    "pool_families": "auditkit.stories.families",
    "power": "auditkit.stories.power:power",
    "split_pool": "auditkit.stories.split",
    "study": "auditkit.stories.study",
}


def __getattr__(name: str) -> Any:
    """Return a public name, loading its module on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'auditkit' has no attribute '{name}'")
    module, _, other = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(module), other or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*globals(), *__all__])
