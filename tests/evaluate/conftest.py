"""These tests need the extra `train`; without it none is collected."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if all(find_spec(name) for name in ("scipy", "sklearn", "statsmodels")) else ["test_*.py"]
