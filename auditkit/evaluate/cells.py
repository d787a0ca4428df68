"""The four cells of a labelled set: where two policies agree (C1, C0) and where they differ (D10, D01)."""

from __future__ import annotations

import polars as pl

from auditkit.study_records.results import Cells

#: Fewer prompts than this on a discordant side, and direction is not identifiable (docs/definitions.md).
SMALL_SIDE = 30
DISCORDANT = ("d10", "d01")


def with_cells(targets: pl.DataFrame) -> pl.DataFrame:
    """Return `targets` with a column `cell`: c1, c0, d10 (only A flags), d01 (only B flags), null where unlabelled."""
    a, b = pl.col("label_a"), pl.col("label_b")
    cell = (
        pl.when((a == 1) & (b == 1)).then(pl.lit("c1"))
        .when((a == 0) & (b == 0)).then(pl.lit("c0"))
        .when((a == 1) & (b == 0)).then(pl.lit("d10"))
        .when((a == 0) & (b == 1)).then(pl.lit("d01"))
    )  # fmt: skip
    return targets.with_columns(cell.alias("cell"))


def count_cells(targets: pl.DataFrame) -> Cells:
    """Return how many prompts of a frame of tables.TARGETS lie in each cell; those that lack a label count apart."""
    cells = with_cells(targets)["cell"]
    counts = dict(cells.value_counts().iter_rows())
    known = {name: int(counts.get(name, 0)) for name in ("c1", "c0", "d10", "d01")}
    return Cells(n=targets.height, **known, n_unknown=int(cells.null_count()))


def cells_by_set(targets: pl.DataFrame) -> dict[str, Cells]:
    """Return the cells of every set that has labels of both policies, in order of first appearance."""
    counted = {str(key): count_cells(part) for (key,), part in targets.group_by("set", maintain_order=True)}
    return {name: cells for name, cells in counted.items() if cells.n > cells.n_unknown}


def large_sides(cells: Cells) -> tuple[str, ...]:
    """Return the discordant sides with at least SMALL_SIDE prompts."""
    return tuple(side for side in DISCORDANT if getattr(cells, side) >= SMALL_SIDE)


def is_nested(cells: Cells) -> bool:
    """Return whether a discordant side is too small for a direction: one policy (nearly) contains the other."""
    return len(large_sides(cells)) < len(DISCORDANT)


def nested_note(cells: Cells, policy_a: str = "A", policy_b: str = "B") -> str:
    """Return the sentence that says what cannot be identified and what is reported instead; "" where all can."""
    if not is_nested(cells):
        return ""
    sides = {"d10": f"{policy_a} flags and {policy_b} does not", "d01": f"{policy_b} flags and {policy_a} does not"}
    small = [side for side in DISCORDANT if side not in large_sides(cells)]
    counts = " and ".join(f"{getattr(cells, side)} prompts that {sides[side]} ({side.upper()})" for side in small)
    start = f"direction is not identifiable: only {counts}, expected at least {SMALL_SIDE} on each side"
    for side in large_sides(cells):
        dx = side.upper()
        return (
            f"{start}; for {dx} alone ({getattr(cells, side)} prompts): AUROC({dx} vs C0), AUROC(C1 vs {dx}) and its "
            f"flag rate at matched false-positive rate on C0"
        )
    return f"{start}; neither side is large enough, so nothing is said about the discordant prompts"
