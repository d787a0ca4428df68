"""A decontaminated pool, clean benchmark subsets, and a record of what was removed."""

from auditkit.split.decontaminate import check_unchanged, decontaminate
from auditkit.split.settings import BenchmarkSplit, SourceSplit, SplitResult, SplitSettings

__all__ = ["BenchmarkSplit", "SourceSplit", "SplitResult", "SplitSettings", "check_unchanged", "decontaminate"]
