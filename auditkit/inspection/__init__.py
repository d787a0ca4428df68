"""What the rows of a pool are like: lengths, damage, scripts, languages; counts of them; conflicting labels."""

from auditkit.inspection.conflicts import Opposed, opposed
from auditkit.inspection.counts import Counts
from auditkit.inspection.facts import FLAGS, Limits, row_facts

__all__ = ["FLAGS", "Counts", "Limits", "Opposed", "opposed", "row_facts"]
