"""The invented pool and benchmarks of `auditkit demo`: text of our own, with planted copies and their truth."""

from auditkit.demo.copies import LEXICAL_KINDS
from auditkit.demo.truth import expected_found, expected_rows, read_truth
from auditkit.demo.write import LABELS, DemoPaths, write_demo, write_demo_study

__all__ = [
    "LABELS",
    "LEXICAL_KINDS",
    "DemoPaths",
    "expected_found",
    "expected_rows",
    "read_truth",
    "write_demo",
    "write_demo_study",
]
