"""Near-duplicate families inside one pool: rows that hang together by near pairs."""

from auditkit.families.components import Components
from auditkit.families.kinds import KINDS, family_kinds
from auditkit.families.rows import FAMILIES, family_frame

__all__ = ["FAMILIES", "KINDS", "Components", "family_frame", "family_kinds"]
