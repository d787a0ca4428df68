"""`auditkit rules`: the default verdict rules, as a file to change."""

from __future__ import annotations

import argparse
import sys

from auditkit.cli.main import DONE
from auditkit.verify.rules import default_text


def run(arguments: argparse.Namespace) -> int:
    """Print the bundled rules."""
    sys.stdout.write(default_text())
    return DONE
