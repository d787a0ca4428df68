"""Near-duplicate families inside one pool: rows that hang together by near pairs."""

from auditkit.families.components import Components
from auditkit.families.rows import FAMILIES, family_frame

__all__ = ["FAMILIES", "Components", "family_frame"]
