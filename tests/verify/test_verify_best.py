"""The best paraphrases of each item text: cut by shard and as a whole, counted exactly."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditkit import tables
from auditkit.verify import paraphrases
from auditkit.verify.paraphrases import BEYOND, keep_best

pairs_of = st.lists(
    st.tuples(st.sampled_from(["paraphrase", "near"]), st.integers(0, 3), st.sampled_from([0.8, 0.85, 0.9, 1.0])),
    max_size=40,
)


def frame(pairs: list[tuple[str, int, float]]) -> pl.DataFrame:
    schema = {"tier": pl.String, "text": pl.Int64, "cosine": pl.Float64}
    known = pl.DataFrame(pairs, schema=schema, orient="row").with_row_index("row")
    absent = {"margin": pl.Float64, "row_mean": pl.Float64, "threshold": pl.Float64, "row_sequence": pl.UInt64}
    named = [pl.lit("p").alias("pool"), pl.lit("e").alias("encoder"), pl.lit("paraphrase.minilm").alias("rule")]
    return known.with_columns(*named, *(pl.lit(None, kind).alias(name) for name, kind in absent.items()))


def oracle(pairs: list[tuple[str, int, float]], most: int) -> tuple[list[int], dict[int, int]]:
    kept, beyond = [i for i, pair in enumerate(pairs) if pair[0] != "paraphrase"], {}
    for text in {pair[1] for pair in pairs}:
        mine = [i for i, pair in enumerate(pairs) if pair[0] == "paraphrase" and pair[1] == text]
        ranked = sorted(mine, key=lambda i: (-pairs[i][2], i))
        kept += ranked[:most]
        if len(ranked) > most:
            beyond[text] = len(ranked) - most
    return sorted(kept), beyond


@given(pairs_of, st.integers(1, 5), st.integers(1, 7))
def test_cutting_by_shard_and_then_as_a_whole_is_cutting_once(
    pairs: list[tuple[str, int, float]], most: int, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paraphrases, "MAX_PAIRS", most)
        whole = keep_best(frame(pairs), [])
        shards = [keep_best(frame(pairs)[i : i + size], []) for i in range(0, len(pairs), size)]
        again = keep_best(
            pl.concat([frame([]), *(shard.pairs for shard in shards)]), [shard.beyond for shard in shards]
        )
    kept, beyond = oracle(pairs, most)
    for found in (whole, again):
        assert found.pairs["row"].to_list() == kept
        assert dict(found.beyond.rows()) == beyond
        tables.check(found.beyond, BEYOND, "test")


def test_the_default_is_a_hundred() -> None:
    found = keep_best(frame([("paraphrase", 7, 0.9)] * 103), [pl.DataFrame({"text": [7], "n_beyond": [5]})])
    assert found.pairs["row"].to_list() == list(range(100))
    assert found.beyond.rows() == [(7, 8)]
