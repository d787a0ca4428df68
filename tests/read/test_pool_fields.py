"""`--fields` in a pool of several sources: a field must be somewhere, not everywhere."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from read_support import addresses, counts

from auditkit.errors import FieldError
from auditkit.read import open_pool, read_texts
from auditkit.records import ReadSettings

PROMPTS: list[dict[str, Any]] = [{"prompt": "p", "note": "n"}, {"prompt": "q"}]
CHATS: list[dict[str, Any]] = [{"chat": [{"role": "user", "content": "c"}], "answer": "a"}] * 3


def read_pool(data: dict[str, Any], *fields: str) -> dict[str, tuple[list[str], dict[str, int]]]:
    settings = ReadSettings(fields=fields, shard_bytes=100)
    found = {}
    for source in open_pool(data, settings).sources:
        batches = list(read_texts(source, settings, may_lack_fields=True))
        texts = pl.concat([batch.texts for batch in batches])
        found[source.name] = [text for *_, text in addresses(texts)], counts(batches)
    return found


@pytest.mark.parametrize("as_frame", [True, False])
def test_a_source_without_the_fields_is_counted_as_left_out(as_frame: bool) -> None:
    other = pl.DataFrame(CHATS) if as_frame else CHATS
    found = read_pool({"a": PROMPTS, "b": other}, "prompt")
    assert found["a"] == (["p", "q"], {"excluded field note": 1})
    assert found["b"] == ([], {
        "excluded field chat": 3,
        "excluded field answer": 3,
        "row without text": 3,
        "row of source b, which has none of the fields": 3,
    })  # fmt: skip


def test_each_source_gives_the_fields_it_has() -> None:
    found = read_pool({"a": PROMPTS, "b": CHATS}, "PROMPT", "chat.content")
    assert (found["a"][0], found["b"][0]) == (["p", "q"], ["c", "c", "c"])
    assert not any("none of the fields" in reason for _, counted in found.values() for reason in counted)


def test_a_field_that_no_source_has_is_an_error_before_reading() -> None:
    with pytest.raises(FieldError) as error:
        read_pool({"a": PROMPTS, "b": pl.DataFrame(CHATS)}, "prompt", "anser")
    assert str(error.value) == (
        "none of the 2 sources has a field 'anser'; did you mean 'answer'? (columns: prompt, note, chat, answer)"
    )


def test_a_field_may_come_late_in_one_source() -> None:
    uneven = [{"text": "a"}, {"text": "b", "x": 1}] * 60
    found = read_pool({"a": [*uneven, {"text": "c", "late": "l"}], "b": uneven}, "late")
    assert (found["a"][0], found["b"][0]) == (["l"], [])
    assert found["b"][1]["row of source b, which has none of the fields"] == 120
    assert "row of source a, which has none of the fields" not in found["a"][1]


def test_one_source_must_have_all_fields() -> None:
    settings = ReadSettings(fields=("promt",))
    (source,) = open_pool({"a": PROMPTS}, settings).sources
    with pytest.raises(
        FieldError, match=r"memory: no field 'promt'; did you mean 'prompt'\? \(columns: prompt, note\)"
    ):
        list(read_texts(source, settings))


def test_a_pool_without_records_has_no_fields_to_miss() -> None:
    assert read_pool({"a": [], "b": pl.DataFrame()}, "prompt") == {"a": ([], {}), "b": ([], {})}
