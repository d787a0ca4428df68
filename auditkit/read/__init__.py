"""Path, folder, Hub name or frame in; pools as texts with addresses, benchmarks as items out."""

from auditkit.read.assemble import item_records
from auditkit.read.benchmarks import open_benchmarks
from auditkit.read.labels import parse_label, parse_labels
from auditkit.read.pool import open_pool
from auditkit.read.texts import read_texts

__all__ = ["item_records", "open_benchmarks", "open_pool", "parse_label", "parse_labels", "read_texts"]
