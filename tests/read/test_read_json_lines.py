"""Texts, ids, labels and counts of JSON lines are the same whether kernels or a parser took the lines apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from read_support import source_of
from strategies import json_lines

from auditkit.errors import AuditkitError
from auditkit.formats import lines
from auditkit.read import parse_labels, read_texts
from auditkit.records import ReadSettings

HARM = parse_labels(["harm=label"])
SETTINGS = [
    {}, {"fields": ("text",)}, {"fields": ("note", "messages")}, {"labels": HARM, "fields": ("text",)},
    {"labels": parse_labels(["harm=note:x=1"])}, {"id_column": "text", "fields": ("prompt",)}, {"roles": ("user",)},
]  # fmt: skip


def everything(path: Path, many_bytes: int, **narrowed: Any) -> Any:
    """Return what all batches of a file say, or the error that it ends in."""
    with mock.patch.object(lines, "MANY_BYTES", many_bytes):
        try:
            found = list(read_texts(source_of(str(path)), ReadSettings(**narrowed)))
        except AuditkitError as error:
            return type(error), str(error)
    return [
        (b.n_rows, b.texts.rows(), b.labels.rows(), b.bad_rows, dict(b.not_examined), b.n_source_bytes) for b in found
    ]


@settings(max_examples=150, deadline=None)
@given(json_lines(), st.sampled_from(SETTINGS), st.sampled_from([1, 300, 1 << 20]), st.sampled_from(["error", "skip"]))
def test_kernels_and_parser_give_the_same_texts(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, narrowed: dict[str, Any], size: int, bad_rows: str
) -> None:
    path = tmp_path_factory.mktemp("pool") / "a.jsonl"
    path.write_bytes(data)
    narrowed = {**narrowed, "shard_bytes": size, "bad_rows": bad_rows}
    assert everything(path, 0, **narrowed) == everything(path, 1 << 60, **narrowed)
