"""`auditkit power`: an audit's folder -> the share of planted copies that the audit would have found."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from auditkit.cli.main import DONE
from auditkit.errors import UsageError
from auditkit.estimates import Power
from auditkit.plant.copies import RATES
from auditkit.read.pairs import read_pairs
from auditkit.records import AuditReport
from auditkit.report import safe, trust
from auditkit.report.as_json import POWER, load
from auditkit.report.terminal import line, render_power
from auditkit.stories.power import PowerSettings, power


def run(arguments: argparse.Namespace) -> int:
    """Measure the power, write it beside the audit, and print it."""
    settings = PowerSettings(
        tuple(map(_rate, arguments.rate)) if arguments.rate else RATES,
        arguments.plants,
        arguments.sample,
        arguments.wanted,
        arguments.seed,
    )
    pairs = read_pairs(arguments.pairs) if arguments.pairs else ()
    report = load(Path(arguments.audit))
    render(replace(report, power=power(report, settings, pairs=pairs)))
    return DONE


def render(report: AuditReport) -> None:
    """Print the sentence, a line for each kind of copy, and what the shares rest on."""
    console, measured = safe.console(), report.power
    assert isinstance(measured, Power)
    render_power(report, console)
    for what, n, condemned, reported, tiers, weakest in trust.power_grid(measured).rows:
        shares = f"condemned {condemned}, reported {reported} of {n}"
        line(console, "", f"{what}: {shares}; by tier: {tiers}{f'; least at {weakest}' if weakest else ''}")
    for note in trust.power_notes(measured):
        line(console, "Note", note)
    line(console, "Written", f"{report.folder}/{POWER}, and into the report beside it")


def _rate(text: str) -> float:
    """Return a number of words, or a share of them: "2" is 2.0, "10%" is 0.1."""
    number, _, rest = text.strip().partition("%")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if rest or value <= 0:
        raise UsageError(f"--rate is '{text}', expected a whole number of words, or a share of them such as 10%")
    return value / 100 if text.strip().endswith("%") else value
