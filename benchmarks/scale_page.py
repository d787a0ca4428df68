"""docs/scale.md from the results of scaling.py: what an audit costs, carried to 1 TB and 100 TB.

    python benchmarks/scale_page.py > docs/scale.md

Everything is computed from benchmarks/results/scaling.json and the assumptions below; a test renders it again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Assumptions:
    """What is not measured.

    Attributes:
        dollars_per_core_hour: of a rented virtual core with 4 GB.
        cores_per_node: of a cluster.
        busy: share of the cores' time that is spent on shards: the rest is start-up, uneven ends, lost nodes.
        gigabytes_per_second: of one node's network.
    """

    dollars_per_core_hour: float = 0.05
    cores_per_node: int = 32
    busy: float = 0.85
    gigabytes_per_second: float = 1.0


@dataclass(frozen=True)
class Costs:
    """What was measured, per gigabyte of prompts.

    Attributes:
        lexical: seconds of one core for exact, contained and near.
        paraphrase: seconds of one core for paraphrase beyond these; None where it was not measured.
        gathering: seconds of the one process that reads all parts and writes the report.
        index: of scaling.py, by number of items.
    """

    lexical: float
    paraphrase: float | None
    gathering: float
    index: list[Mapping[str, Any]]


def costs_of(results: Mapping[str, Any]) -> Costs:
    """Return the costs that follow from the results.

    A core second is a second of wall time times the cores of the machine, used or not. Start-up is left out: lexical
    cost and gathering are what a larger pool adds to a smaller one.
    """
    small, large, cores = results["sizes"][0], results["sizes"][-1], results["machine"]["n_cores"]
    gigabytes = (large["megabytes"] - small["megabytes"]) / 1000
    scan = [one["seconds"] - one["stages_of_last_run"]["report"] for one in (small, large)]
    report = [one["stages_of_last_run"]["report"] for one in (small, large)]
    paraphrase = results["paraphrase"]
    beyond = paraphrase and paraphrase["seconds_beyond_lexical"] * cores / (paraphrase["megabytes"] / 1000)
    return Costs(
        (scan[1] - scan[0]) * cores / gigabytes, beyond, max(0.0, report[1] - report[0]) / gigabytes, results["index"]
    )


@dataclass(frozen=True)
class Carried:
    """An audit of a pool on a cluster, by the model.

    Attributes:
        hours: of the scan.
        dollars: of the scan's cores, and of the gathering's node.
        gathering_hours: after it, on one node.
        broadcast_seconds: until every node has the index, sent by one node to each of the others.
    """

    hours: float
    dollars: float
    gathering_hours: float
    broadcast_seconds: float


def carried(
    gigabytes: float, nodes: int, core_seconds: float, costs: Costs, index: Mapping[str, Any], assumed: Assumptions
) -> Carried:
    """Return what an audit of that size takes on that many nodes, at a cost in core seconds a gigabyte."""
    core_hours = gigabytes * core_seconds / assumed.busy / 3600
    gathering = gigabytes * costs.gathering / 3600
    return Carried(
        core_hours / (nodes * assumed.cores_per_node),
        (core_hours + gathering * assumed.cores_per_node) * assumed.dollars_per_core_hour,
        gathering,
        index["megabytes_sent"] / 1000 * (nodes - 1) / assumed.gigabytes_per_second + index["seconds_to_unpack"],
    )


# ---------------------------------------------------------------- the page

CASES = ((1000, 1), (1000, 10), (100_000, 10), (100_000, 100))


def page(results: Mapping[str, Any], assumed: Assumptions | None = None) -> str:
    """Return docs/scale.md."""
    assumed, costs = assumed or Assumptions(), costs_of(results)
    parts = [_INTRODUCTION, _measured(results), _costs(costs, assumed), _assumptions(assumed), _carried(costs, assumed)]
    return "\n".join(parts) + _OMITTED


_INTRODUCTION = """\
# What an audit costs, and what it would cost at 1 TB and 100 TB

<!-- Made by: python benchmarks/scale_page.py > docs/scale.md; a test compares. -->

A pool is joined with small benchmarks: the index is made once and sent to whoever scans, shards are scanned each by
itself, and what they give is gathered. So cost is counted a gigabyte of prompts (1,000,000,000 bytes of UTF-8).
Sizes beyond the first table are **computed, not run**.
"""


def _measured(results: Mapping[str, Any]) -> str:
    machine, rows = results["machine"], []
    for form, one in results["formats"].items():
        bound = one["bounds"]
        rows.append(
            f"| {form} | {one['megabytes']:,g} | {one['n_items']:,} | {one['seconds']:,.1f} | "
            f"{one['megabytes_per_second']:,.1f} | {one['peak_megabytes']:,} | {bound['reading']:,.0f} | "
            f"{bound['reading_and_normalising']:,.0f} |"
        )
    others = [one for one in results["sizes"] if one["megabytes"] != results["formats"]["parquet"]["megabytes"]]
    for one in [*others, results["many_items"]]:
        rows.append(
            f"| parquet | {one['megabytes']:,g} | {one['n_items']:,} | {one['seconds']:,.1f} | "
            f"{one['megabytes_per_second']:,.1f} | {one['peak_megabytes']:,} | | |"
        )
    start = results["start_up"]
    cold = (
        f", {start['cold_seconds']:.1f} s where the kernels have to be compiled first"
        if "cold_seconds" in start
        else ""
    )
    table = "\n".join(rows)
    return f"""\
## Measured

{machine["processor"]}, {machine["n_cores"]} cores, load {machine["load_before"]} before the run; whole processes; tiers
exact, contained and near. `reading` and `reading and normalising` are what the same engine does without the search.

| format | pool, MB | items | s | MB/s | peak memory, MB | reading, MB/s | reading and normalising, MB/s |
|---|--:|--:|--:|--:|--:|--:|--:|
{table}

Start-up, ten rows: {start["warm_seconds"]:.1f} s{cold}.
"""


def _costs(costs: Costs, assumed: Assumptions) -> str:
    rows = [_cost_row("exact, contained, near", costs.lexical, assumed)]
    if costs.paraphrase is not None:
        rows.append(_cost_row("paraphrase, beyond these", costs.paraphrase, assumed))
    index = "\n".join(
        f"| {one['n_items']:,} | {one['seconds_to_make']:.1f} | {one['megabytes_sent']:,.1f} | "
        f"{one['bytes_per_item']:,} | {one['seconds_to_pack']:.2f} | {one['seconds_to_unpack']:.2f} |"
        for one in costs.index
    )
    table = "\n".join(rows)
    return f"""\
## Cost of a gigabyte, and of an index

A core second is a second of wall time times the machine's cores, busy or not; start-up is left out.

| tiers | core seconds a GB | dollars a GB |
|---|--:|--:|
{table}

Parts are gathered and the report written by one process: {costs.gathering:.2f} s a GB (one row in a hundred a copy).

| items | s to make | sent, MB | bytes an item | s to pack | s to unpack |
|--:|--:|--:|--:|--:|--:|
{index}

Every worker process unpacks the index for itself: its memory is about what is sent.
"""


def _cost_row(name: str, core_seconds: float, assumed: Assumptions) -> str:
    dollars = core_seconds / assumed.busy / 3600 * assumed.dollars_per_core_hour
    return f"| {name} | {core_seconds:,.1f} | {dollars:.5f} |"


def _assumptions(assumed: Assumptions) -> str:
    return f"""\
## Assumed

- A core costs {assumed.dollars_per_core_hour:g} dollars an hour; dollars are in proportion to it. Storage, traffic and
  idle nodes are not counted.
- A node has {assumed.cores_per_node} cores, each as fast as one of the machine above with all of them at work.
- {assumed.busy:.0%} of the cores' time goes to shards; start-up, uneven ends and shards of lost nodes take the rest.
- A node's network carries {assumed.gigabytes_per_second:g} GB a second; the store gives every node what it can scan.
- Texts, items and share of copies are like those of the measured pool, and time is in proportion to the pool.
- The index is that of {N_ITEMS:,} items, sent by one node to each of the others in turn (Ray is not slower than that).
"""


N_ITEMS = 5000


def _carried(costs: Costs, assumed: Assumptions) -> str:
    index, rows = costs.index[0], []
    tiers = [("exact, contained, near", costs.lexical)]
    if costs.paraphrase is not None:
        tiers.append(("all", costs.lexical + costs.paraphrase))
    for gigabytes, nodes in CASES:
        for name, core_seconds in tiers:
            one = carried(gigabytes, nodes, core_seconds, costs, index, assumed)
            times = f"{_hours(one.hours)} | {_hours(one.gathering_hours)} | {one.broadcast_seconds:.1f} s"
            cores = f"{nodes * assumed.cores_per_node:,} cores"
            rows.append(f"| {gigabytes / 1000:g} TB | {nodes:,} ({cores}) | {name} | {times} | {one.dollars:,.2f} |")
    table = "\n".join(rows)
    return f"""\
## Computed

hours = GB x core seconds a GB / (cores x share busy) / 3600; dollars = core hours x price, with the gathering node's.

| pool | nodes | tiers | scan | gathering | index to all nodes | dollars |
|---|--:|---|--:|--:|--:|--:|
{table}
"""


def _hours(hours: float) -> str:
    return f"{hours:,.1f} h" if hours >= 1 else f"{hours * 60:,.1f} min"


_OMITTED = """
## What this leaves out

- Gathering is one process, and grows with the matches: at 100 TB cut the pool into several audits, or `--shard I/N` and
  `auditkit merge` by part of the pool, and add their reports.
- Real clusters were not rented: Ray was tried with two nodes on one machine, for equal bytes and for the loss of a
  node, not for speed.
- A pool of long documents, of many copies or of another script costs another number of seconds; measure yours with
  `scripts/bench` and `benchmarks/scaling.py`.
"""


def main() -> None:
    """Print the page."""
    sys.stdout.write(page(json.loads((RESULTS / "scaling.json").read_text("utf-8"))))


if __name__ == "__main__":
    main()
