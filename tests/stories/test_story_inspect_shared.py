"""Published pools inspected: known duplicates and label conflicts, and how often languages are wrong."""

from __future__ import annotations

import gzip
import json
import unicodedata
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from audit_support import jsonl

from auditkit.read import parse_labels
from auditkit.records import ReadSettings
from auditkit.stories.inspect import inspect_pool
from auditkit.stories.inspect_settings import InspectSettings
from auditkit.stories.near import FamilySettings
from auditkit.text.languages import UNKNOWN, languages_of
from auditkit.text.normalise import canonical
from auditkit.text.scripts import scripts_of

pytestmark = pytest.mark.shared

#: Labels of the OpenAI moderation set.
CATEGORIES = ("S", "H", "V", "HR", "SH", "S3", "H2", "V2")


def inspected(pool: list[str], out: Path, fields: str, *labels: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return rows and conflicts."""
    read = ReadSettings(fields=(fields,), labels=parse_labels(labels))
    inspect_pool(pool, out, settings=InspectSettings(near=FamilySettings(read=read)))
    return pl.read_parquet(out / "rows.parquet"), pl.read_parquet(out / "conflicts.parquet")


def bare(text: str) -> str:
    """Return the letters and digits of a text, case ignored."""
    return "".join(filter(str.isalnum, text.casefold()))


def equal_pairs(texts: list[str]) -> set[tuple[int, int]]:
    """Return the pairs of rows whose texts are equal, the lower one first."""
    rows = defaultdict(list)
    for row, text in enumerate(texts):
        rows[text].append(row)
    return {pair for same in rows.values() for pair in combinations(same, 2)}


def test_duplicates_of_openai_moderation_are_found_and_the_one_with_conflicting_labels(
    shared_data: Path, tmp_path: Path
) -> None:
    path = shared_data / "openai_moderation/samples-1680.jsonl.gz"
    every = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    held = {row for pair in equal_pairs([bare(record["prompt"]) for record in every]) for row in pair}
    # All duplicates, among an eighth of the other rows: of all rows, which take four times as long, the same holds.
    records = [record for row, record in enumerate(every) if row in held or row % 8 == 0]
    prompts = [record["prompt"] for record in records]
    pool = jsonl(tmp_path / "pool.jsonl", records)
    rows, conflicts = inspected([str(pool)], tmp_path / "out", "prompt", *(f"{c}={c}" for c in CATEGORIES))
    family, digest = rows["family"].to_list(), rows["digest"].to_list()
    exact, alike = (equal_pairs([form(text) for text in prompts]) for form in (canonical, bare))
    assert (len(exact), len(alike)) == (20, 27)
    assert all(digest[a] == digest[b] for a, b in exact)
    assert all(family[a] == family[b] for a, b in alike)
    clash = {
        (a, b)
        for a, b in alike
        for c in CATEGORIES
        if {records[a].get(c), records[b].get(c)} == {0, 1}
    }  # fmt: skip
    found = {tuple(sorted(pair)) for pair in conflicts.select("row", "other_row").rows()}
    assert len(clash) == 1
    assert clash <= found


def test_emoji_twins_of_hatemoji_are_no_exact_duplicates(shared_data: Path, tmp_path: Path) -> None:
    names = [str(shared_data / f"hatemoji/HatemojiBuild_{split}.csv") for split in ("train", "validation", "test")]
    rows, conflicts = inspected(names, tmp_path / "out", "text", "hate=label_gold")
    texts = {Path(name).stem: pl.read_csv(name)["text"].to_list() for name in names}
    shown = [texts[pool][row] for pool, row in rows.select("pool", "row").iter_rows()]
    for same in equal_digests(rows):
        assert len({emoji(shown[row]) for row in same}) == 1
    for pair in conflicts.filter(pl.col("tier") == "exact").iter_rows(named=True):
        assert emoji(texts[pair["pool"]][pair["row"]]) == emoji(texts[pair["other"]][pair["other_row"]])
    assert (conflicts["verdict"] == "contaminated").all()
    assert {"near"} <= set(conflicts["tier"])


def equal_digests(rows: pl.DataFrame) -> list[list[int]]:
    """Return the rows of each digest that several have."""
    named = rows.with_row_index("at").drop_nulls("digest").group_by("digest").agg("at")
    return [at for at in named["at"].to_list() if len(at) > 1]


def emoji(text: str) -> tuple[str, ...]:
    return tuple(char for char in text if unicodedata.category(char) in ("So", "Sk"))


@pytest.mark.parametrize("language", ["en", "zh", "it", "vi", "ar"])
def test_languages_of_translated_prompts_are_hardly_ever_wrong(shared_data: Path, language: str) -> None:
    lines = (shared_data / "pairs/multijail_0_159.jsonl").read_text("utf-8").splitlines()
    texts = pl.Series([text for line in lines if (text := json.loads(line).get(language))])
    found = languages_of(texts, scripts_of(texts)["n_letters"])
    assert (found == language).mean() >= 0.95  # type: ignore[operator]
    assert ((found != language) & (found != UNKNOWN)).mean() <= 0.01  # type: ignore[operator]
