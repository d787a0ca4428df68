"""`auditkit merge`: the report of an audit that was run in shards, and the gate."""

from __future__ import annotations

import argparse

from auditkit.cli.audit import judged, wanted_gate
from auditkit.stories.merge import merge


def run(arguments: argparse.Namespace) -> int:
    """Merge, print the report, and return 0, or 1 where the gate trips."""
    wanted = wanted_gate(arguments)
    report = merge(arguments.folders, out=arguments.out, overwrite=arguments.overwrite)
    return judged(report, wanted)
