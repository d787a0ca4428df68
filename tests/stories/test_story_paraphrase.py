"""Paraphrase through a whole audit, with an encoder whose vectors are sums of letters' vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import auditkit
from auditkit.records import AuditReport
from auditkit.stories import scan
from auditkit.verify import paraphrases

LETTERS = np.random.default_rng(3).standard_normal((128, 40)).astype(np.float32)


class LetterEncoder:
    """Words of the same letters are paraphrases of each other; it can be distilled."""

    name, source, digest, fingerprint, max_tokens, n_vocabulary = "minilm", "made up", "sha256:0", "letters", 64, 128

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        sums = np.stack([LETTERS[ids].sum(0) for ids in self.token_ids(texts)])
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)

    def count_truncated(self, texts: list[str]) -> int:
        return sum(len(text) > self.max_tokens for text in texts)

    def token_ids(self, texts: list[str]) -> list[list[int]]:
        return [[ord(letter) for letter in text][: self.max_tokens] for text in texts]

    def token_views(self) -> NDArray[np.float32]:
        return np.tile(LETTERS, (1, 4))


@pytest.fixture(autouse=True)
def _encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(scan, "load_encoder", lambda name: LetterEncoder())
    monkeypatch.setattr(scan, "SIEVE_BYTES", 0)


def words(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(map(chr, rng.integers(97, 123, 12))) for _ in range(n)]


def shuffled(words: list[str], seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.permutation(list(word))) for word in words]


ITEMS = words(60, 1)
ROWS = words(400, 2) + shuffled(ITEMS, 3) + ITEMS[:5] + ["a " * 40]


def audit(rows: list[str], shard_bytes: int = 1 << 25, **settings: Any) -> AuditReport:
    read = auditkit.ReadSettings(shard_bytes=shard_bytes)
    wanted = auditkit.AuditSettings(("all",), read=read, **settings)
    return auditkit.audit({"pool": rows}, {"bench": ITEMS}, wanted)


def test_shard_size_changes_neither_matches_nor_what_the_report_says() -> None:
    whole = audit(ROWS)
    close = whole.matches.filter(pl.col("tier") == "paraphrase")
    assert set(zip(range(400, 460), range(60), strict=True)) <= set(close.select("row", "item").rows())
    assert whole.matches.filter(pl.col("tier") == "exact")["row"].to_list() == [460, 461, 462, 463, 464]
    described = whole.detectors["minilm"]
    assert described["sieve"]["is_used"]
    assert described["n_texts"] == len(ROWS)
    assert described["n_sieved_out"] > 20
    assert whole.not_examined["text cut at the maximum length of encoder minilm"] == 1
    parted = audit(ROWS, shard_bytes=300)
    assert parted.matches.equals(whole.matches)
    assert parted.detectors == whole.detectors
    assert parted.not_examined == whole.not_examined


def test_exhaustive_search_finds_no_less() -> None:
    sieved, whole = audit(ROWS), audit(ROWS, exhaustive=True)
    assert whole.changed["exhaustive"] is True
    assert whole.detectors["minilm"]["sieve"] == {"is_used": False, "reason": "exhaustive search asked for"}
    keys = ["row", "item", "tier", "cosine"]
    assert set(sieved.matches.select(keys).rows()) <= set(whole.matches.select(keys).rows())
    assert len(sieved.matches) >= 0.98 * len(whole.matches)


def test_a_small_pool_is_embedded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SIEVE_BYTES", 1 << 20)
    assert audit(ROWS).detectors["minilm"]["sieve"]["is_used"] is False


def test_review_keeps_the_best_rows_of_an_item_and_counts_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paraphrases, "MAX_PAIRS", 3)
    rows = [shuffled(ITEMS[:1], seed)[0] for seed in range(8)]
    rows[4] = rows[4][:-1] + "q"
    for shard_bytes in (1 << 25, 30):
        report = audit(rows, shard_bytes, exhaustive=True)
        assert report.matches["row"].to_list() == [0, 1, 2]
        assert report.not_examined["paraphrase pair beyond the closest 100 of an item text"] == 5


def test_a_second_audit_of_the_pool_embeds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first = audit(ROWS, exhaustive=True)
    monkeypatch.setattr(LetterEncoder, "encode", lambda self, texts: pytest.fail(f"embeds {len(texts)} texts"))
    assert audit(ROWS, exhaustive=True).matches.equals(first.matches)


def test_translations_are_told_from_the_whole_pool_whatever_the_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LetterEncoder, "name", "multilingual")
    changed = [word[:-3] + "qzx" for word in shuffled(ITEMS, 5)]
    rows = words(200, 2) + changed + changed[:7]
    whole = audit(rows, encoders=("multilingual",), exhaustive=True)
    close = whole.matches.filter(pl.col("rule") == "paraphrase.margin")
    assert len(close) > 40
    assert (close["margin"] >= 1.003).all()
    assert (close["verdict"] == "review").all()
    # Rows of equal text count once, and are all found.
    twice = close.filter(pl.col("row") >= 260).select(pl.col("row") - 60, "item", "margin")
    assert set(twice.rows()) <= set(close.select("row", "item", "margin").rows())
    for shard_bytes in (100, 1000):
        assert audit(rows, shard_bytes, encoders=("multilingual",), exhaustive=True).matches.equals(whole.matches)


def test_fdr_raises_paraphrases_unless_rules_are_given() -> None:
    assert auditkit.AuditSettings(fdr=0.05).all_rules().paraphrase.condemns
    assert not auditkit.AuditSettings().all_rules().paraphrase.condemns
    given = auditkit.AuditSettings().all_rules()
    assert auditkit.AuditSettings(fdr=0.05, rules=given).all_rules() == given
