from __future__ import annotations

import pytest

from auditkit.report import phrases


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1082 / 1319, "82.0 %"),
        (0.0, "0.0 %"),
        (1.0, "100.0 %"),
        (1 / 80359, "< 0.1 %"),
        (80358 / 80359, "> 99.9 %"),
        (0.0005, "0.1 %"),
        (None, "undefined"),
    ],
)
def test_percent(share: float | None, text: str) -> None:
    assert phrases.percent(share) == text


def test_lists_say_what_they_leave_out() -> None:
    assert phrases.listed(["a", "b", "c"], "report.json", limit=2) == "a; b; and 1 more in report.json"
    assert phrases.listed(["a", "b"], "report.json", limit=2) == "a; b"
    assert phrases.joined(["a", "b", "c"]) == "a, b and c"
    assert phrases.joined(["a"]) == "a"
    assert phrases.joined([]) == ""


def test_nested_values_are_flattened_by_name() -> None:
    nested = {"near": {"min": 0.84, "on": True}, "rule": [{"a": None}, {"a": ["x", 1]}], "none": {}}
    assert list(phrases.flat(nested)) == [
        ("near.min", "0.84"),
        ("near.on", "true"),
        ("rule[0].a", "null"),
        ("rule[1].a", "[x, 1]"),
        ("none", "{}"),
    ]


def test_digests_are_short() -> None:
    assert phrases.digest("sha256:1234abcdef99") == "sha256 1234abcd"
    assert phrases.digest("") == "no digest"
    assert phrases.digest("v1") == "v1"
