"""The arguments that `inspect`, `labels` and `split` share -> settings."""

from __future__ import annotations

import argparse

from auditkit.cli.audit import names_of
from auditkit.read import parse_labels
from auditkit.records import ReadSettings
from auditkit.stories.near import FamilySettings


def settings_of(arguments: argparse.Namespace) -> FamilySettings:
    """Return what is read of the pool, and what is near."""
    read = ReadSettings(
        fields=names_of(arguments.fields),
        roles=names_of(arguments.roles),
        labels=parse_labels(arguments.label),
        bad_rows=arguments.bad_rows,
    )
    return FamilySettings(read, arguments.rules, arguments.join_numbers)
