"""Nested mappings as tables: a row for each part, rates in percent, no key left out."""

from __future__ import annotations

from auditkit.report.study_mapping import flattened, of_mapping


def test_rows_of_rates_are_in_percent_and_stand_apart_from_counts() -> None:
    mapping = {"after": {"n_rows": 1885, "leak_rate": {"x_1": 0.0, "y": 0.25}, "reported_rate": {"x_1": 0.5}}}
    (counts, pairs), (rates, table) = of_mapping(mapping, "benchmark")
    assert (counts, rates) == ("after", "after, by benchmark")
    assert pairs.rows == (("rows", "1,885"),)
    assert table.headers == ("rate", "x_1", "y")
    assert table.rows == (("leak rate", "0.0 %", "25.0 %"), ("reported rate", "50.0 %", "-"))


def test_a_patch_is_one_row() -> None:
    patch = {"parent": "A", "patch_share": 0.0003, "move": {"x": 0.5, "y": -0.25}}
    assert flattened(patch) == {"parent": "A", "patch_share": 0.0003, "move: x": 0.5, "move: y": -0.25}
    ((_, table),) = of_mapping({"A patched": flattened(patch)}, "arm")
    assert table.headers == ("arm", "parent", "move: x", "move: y", "patch share")
    assert table.rows == (("A patched", "A", "0.500", "-0.250", "0.03 %"),)
