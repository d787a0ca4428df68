"""What the figures of a benchmark were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine() -> dict[str, object]:
    """Return system, processor, cores, and the load of the minute before: what else the machine was doing."""
    load = round(os.getloadavg()[0], 2)
    return {"system": platform.system(), "processor": _processor(), "n_cores": os.cpu_count(), "load_before": load}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
