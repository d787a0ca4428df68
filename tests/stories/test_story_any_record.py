"""Records of any shape: an audit and its split either work or end in one clear error, never in a crash."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from audit_support import jsonl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import auditkit
from auditkit.errors import AuditkitError
from auditkit.records import AuditReport

BASIL = "How do I keep basil alive on a north facing window?"
ITEMS = {"bench": [BASIL, "Which of these planets has the longest day of all?"]}

texts = st.one_of(
    st.sampled_from([BASIL, f"Well: {BASIL} Yes.", "", "user", "clean", "[1]", '[{"role": "user", "content": "x"}]']),
    st.text(max_size=12),
)
keys = st.one_of(
    st.sampled_from(
        ["text", "prompt", "messages", "role", "content", "from", "value", "type", "id", "a.b", "a[0]", ""]
    ),
    st.text(max_size=5),
)
leaves = st.one_of(texts, texts, st.none(), st.booleans(), st.integers(-9, 1 << 70), st.floats(allow_nan=False))
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)
records = st.dictionaries(keys, values, max_size=4)
pools = st.lists(st.one_of(records, records.map(lambda record: {**record, "text": BASIL})), min_size=1, max_size=4)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(pool=pools, action=st.sampled_from(["remove", "mask"]))
def test_any_record_is_audited_or_refused(
    pool: list[Any], action: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    path = jsonl(folder / "in/pool.jsonl", pool)
    if not all(pool):
        path.write_text("".join(json.dumps(record) + "\n" for record in pool))
    report = _audit(path)
    if report is None:
        return
    assert report.n_rows == len(pool)
    split = auditkit.decontaminate(report, folder / "clean", benchmarks=ITEMS, action=action)
    assert split.n_kept + split.n_removed == len(pool)
    gone = set(split.removed["row"])
    before, after = _lines(path), _lines(folder / "clean/pool.jsonl")
    if action == "remove":
        assert after == [line for row, line in enumerate(before) if row not in gone]
    # Without the rows that are gone another column may be the one that is text; with a text in each it is not.
    is_clear = after and all(isinstance(json.loads(line).get("text"), str) for line in after)
    again = _audit(folder / "clean") if is_clear else None
    assert again is None or again.n_rows_contaminated == 0


def _audit(path: Path) -> AuditReport | None:
    """Return the report, None where the input is refused in one line."""
    with contextlib.suppress(AuditkitError):
        return auditkit.audit(path, ITEMS)
    with pytest.raises(AuditkitError, match=r"^[^\n]+$"):
        auditkit.audit(path, ITEMS)
    return None


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]
